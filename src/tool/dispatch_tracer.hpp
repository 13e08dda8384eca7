// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "rocr/leaser.hpp"
#include "tool/kernels.hpp"
#include "tool/recorder.hpp"
#include "tool/tracer.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace wavetap::tool {

/// Dispatch mode of the tool: contexts take turns, counted when dispatches are enqueued, and the
/// leaser traces what is chosen. With `serialize_all` of the context that has its turn everything else
/// becomes a lease, too.
class DispatchTracer final : public Tracer, private rocr::LeaseOwner {
  public:
    /// All references must outlive the process's last queue.
    DispatchTracer(const rocr::HsaFunctions& hsa, Recorder& recorder, const KernelTable& kernels,
                   const ToolConfig& config, std::size_t agents, const Clock& clock);
    ~DispatchTracer() override;
    rocr::DispatchHooks& hooks() override { return leaser_; }
    void set_interceptor(rocr::QueueInterceptor* interceptor) override {
        leaser_.set_interceptor(interceptor);
    }
    void finish(TimePoint deadline) override;

  private:
    class Dispatch;
    struct Agent {
        Mutex mutex;
        CondVar settled;
        bool opening WAVETAP_GUARDED_BY(mutex) = false; ///< a thread is at it
        bool opened WAVETAP_GUARDED_BY(mutex) = false;  ///< asked the hub
        bool usable WAVETAP_GUARDED_BY(mutex) = false;
        std::uint64_t matching WAVETAP_GUARDED_BY(mutex) = 0;
        std::set<std::pair<std::size_t, std::uint64_t>> traced WAVETAP_GUARDED_BY(mutex);
        std::uint64_t crowded WAVETAP_GUARDED_BY(mutex) = 0; ///< declined: no room in the ring
        std::uint64_t beside WAVETAP_GUARDED_BY(mutex) = 0;  ///< not held back: the same
    };

    rocr::RuntimeGate& gate() override { return recorder_.gate(); }
    bool queue_created(std::uint32_t agent) override;
    Result<void> open_leases(std::uint32_t agent);
    std::unique_ptr<rocr::LeasedDispatch> decide(const rocr::DispatchNote& dispatch) override;
    void error(const Error& error) override { recorder_.error(error); }
    void warning(const std::string& text) override { recorder_.warning(text); }

    /// The context that has its turn.
    std::size_t context_of(const Agent& agent, std::uint32_t index) const
        WAVETAP_REQUIRES(agent.mutex);
    bool admit(Agent& agent, std::size_t context, std::uint64_t kernel_object)
        WAVETAP_REQUIRES(agent.mutex);

    Recorder& recorder_;
    const KernelTable& kernels_;
    const std::uint64_t window_;
    const bool rotate_, every_launch_;
    std::vector<std::unique_ptr<Agent>> agents_;
    rocr::Leaser leaser_;
};

} // namespace wavetap::tool
