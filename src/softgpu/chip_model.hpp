// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/aql_queue.hpp"
#include "softgpu/chip.hpp"
#include "softgpu/command_processor.hpp"
#include "softgpu/compute_unit.hpp"
#include "softgpu/dispatcher.hpp"
#include "softgpu/sdma.hpp"
#include "softgpu/thread_trace_unit.hpp"
#include "softgpu/truth.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The chip: every part on one clock. step() jumps from event to event; at one clock queues come
// first, then SDMA, ended dispatches, the dispatcher and the compute units in order, so an engine
// that is armed at clock t records what its waves do at t, and one that is disarmed does not.

namespace wavetap::softgpu {

class ChipModel final : public Chip,
                        private ShaderHost,
                        private DispatchHost,
                        private CommandTarget {
  public:
    ChipModel(const ChipSpec& spec, std::uint32_t agent, AddressSpace& space, Host& host,
              TruthWriter* truth, std::unique_ptr<Program> program);
    ~ChipModel() override;

    Result<QueueId> create_aql_queue(const AqlQueueInfo& info) override;
    Result<QueueId> create_sdma_queue(const SdmaQueueInfo& info) override;
    void destroy_queue(QueueId queue) override;
    void suspend_queue(QueueId queue, bool suspended) override;
    void doorbell(QueueId queue, std::uint64_t value) override;
    Progress step(std::uint64_t clocks) override;
    std::uint64_t clock() const override { return clock_; }
    std::uint64_t counter() const override { return count_at(clock_); }
    std::uint64_t instructions() const override { return instructions_; }

  private:
    struct Sdma {
        SdmaQueue queue;
        std::uint64_t next = kNever;
        bool suspended = false;
        bool polling = false;
    };
    struct Ended {
        std::unique_ptr<Dispatch> dispatch;
        std::uint64_t at = 0;
    };
    struct Failure {
        std::uint32_t queue = 0;
        std::optional<QueueFault> fault;
        std::string what;
    };

    // ShaderHost
    void wave_ended(WaveContext& wave, unsigned se, unsigned cu, std::uint64_t now) override;
    void group_ended(WorkGroup& group, std::uint64_t now) override;
    void wave_failed(WaveContext& wave, Trouble trouble, const std::string& what) override;
    std::uint64_t counter_at(std::uint64_t clock) override { return count_at(clock); }
    std::uint64_t memory_delay(std::uint64_t now) override;
    // DispatchHost
    void dispatch_started(const Dispatch& dispatch, std::uint64_t now) override;
    void dispatch_ended(std::unique_ptr<Dispatch> dispatch, std::uint64_t now) override;
    // CommandTarget
    Result<void> write_trace_register(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                                      std::uint32_t value) override;
    std::uint32_t read_trace_register(std::uint32_t xcc, std::uint32_t se,
                                      std::uint32_t reg) override;
    void register_written(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                          std::uint32_t value) override;
    Result<void> write_counter_register(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                                        std::uint32_t value) override;
    void event(std::uint32_t xcc, std::uint32_t event) override;
    std::uint64_t gpu_clock() override { return count_at(clock_); }
    std::uint64_t system_clock() override { return host_.host_counter(); }
    void acquire(std::uint32_t xcc, std::uint64_t va, std::uint64_t bytes,
                 bool instruction_cache) override;
    void interrupt(std::uint32_t context_id) override { host_.interrupt(context_id); }
    void memory_fault(std::uint64_t va, Access access, const std::string& what) override {
        host_.memory_fault(va, access, what);
    }
    bool queue_drained() override { return serving_ == nullptr || serving_->drained(); }

    std::uint64_t count_at(std::uint64_t clock) const;
    ThreadTraceUnit& trace(std::uint32_t xcc, std::uint32_t se);
    bool is_harvested(std::uint32_t se, std::uint32_t cu) const;
    void build_compute_units();
    void refresh_units();
    /// Earliest event; `polls_only` if nothing but polled memory is left.
    std::uint64_t next_event(bool& polls_only) const;
    /// Makes everything that polls due at `now`.
    void poll_now(std::uint64_t now);
    void run_events(std::uint64_t now);
    void run_sdma(Sdma& sdma, std::uint64_t now);
    void run_ended(std::uint64_t now);
    void run_units(std::uint64_t now);
    void stop_failed(std::uint64_t now);
    void write_truth(WaveContext& wave, unsigned se, unsigned cu, std::uint64_t end);

    ChipSpec spec_;
    std::uint32_t agent_;
    Memory memory_;
    Host& host_;
    TruthWriter* truth_;
    std::unique_ptr<Program> program_;
    std::uint64_t program_epoch_ = 1;
    std::uint64_t clock_ = 0;
    std::uint64_t instructions_ = 0;
    std::uint64_t dispatch_ids_ = 0;
    std::uint64_t memory_free16_ = 0; ///< in 1/16 clocks
    RegisterFile registers_;
    std::vector<std::unique_ptr<ThreadTraceUnit>> traces_; ///< by global engine
    std::vector<std::unique_ptr<ComputeUnit>> units_;      ///< null: fused off
    std::vector<std::uint64_t> unit_next_;
    Dispatcher dispatcher_;
    std::map<std::uint32_t, std::unique_ptr<AqlQueue>> aql_;
    std::map<std::uint32_t, Sdma> sdma_;
    std::uint32_t last_queue_ = 0;
    AqlQueue* serving_ = nullptr;
    std::vector<Ended> ended_;
    std::vector<Failure> failures_;
};

} // namespace wavetap::softgpu
