// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "capture/dispatch_mode.hpp"
#include "capture/process.hpp"
#include "capture/session.hpp"
#include "rocr/agents.hpp"
#include "rocr/code_objects.hpp"
#include "rocr/interceptor.hpp"
#include "rocr/leaser.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wavetap::rocr {

/// A code object came or goes. `object` is null when it goes; both are borrowed for the call.
struct CodeObjectEvent {
    std::uint32_t agent = 0;
    std::uint64_t id = 0; ///< as in the markers
    const LoadedCodeObject* object = nullptr;
};
using CodeObjectHandler = std::function<void(const CodeObjectEvent& event)>;

/// The queues, dispatches and code objects of this process for a session of the C interface: stands in
/// ROCr's function table. One in a process and never destroyed, since ROCr calls in until the end; one
/// session can have it. Thread safe.
class Interception final : public capture::DispatchDriver, private LeaseOwner {
  public:
    /// That of the process, or null.
    static Interception* existing();
    /// Replaces four functions of the table. Before queues are made. Errors: those of
    /// HsaTable::open(), find_gpu_agents(), CodeObjectReader::create(); kWrongState (there is one).
    static Result<Interception*> install(void* table, double deadline_scale);

    const HsaFunctions& functions() const { return table_.functions(); }
    const std::vector<GpuAgent>& agents() const { return agents_; }
    /// `session` has one hub for each of agents(), in that order, and is told of code objects from now
    /// on, those that are loaded first. `handler` may be empty; it is called in the application's
    /// threads without a lock. Errors: kWrongState (a session had it).
    Result<void> bind(capture::Session& session, CodeObjectHandler handler);
    /// Whether bind() would succeed.
    bool free() const;
    /// ROCr goes: stops and delivers what runs. In a forked child nothing. Idempotent.
    void finalize();

    Result<void> open(std::uint32_t agent, capture::AgentHub& hub,
                      const capture::DispatchClient& client) override;
    Result<void> close(std::uint32_t agent) override;
    bool deciding() const override { return Leaser::deciding(); }
    Result<void> may_wait(std::uint32_t agent, capture::AgentHub& hub) const override;
    capture::RingCounts ring_counts(std::uint32_t agent) const override {
        return interceptor_->ring_counts(agent);
    }
    void unbind() override;

    /// The process that made it, not a forked child.
    bool in_own_process() const { return process_.here(); }
    // What stands in the table.
    QueueInterceptor& interceptor() { return *interceptor_; }
    hsa_status_t freeze(hsa_executable_t executable, const char* options);
    hsa_status_t destroy(hsa_executable_t executable);

  private:
    class ClientDispatch;
    struct Loaded {
        std::uint32_t agent = 0;
        std::uint64_t id = 0;
    };
    using Name = std::shared_ptr<const std::string>;
    /// Keeps the session from going while it is used.
    class Use;

    Interception(HsaTable table, std::vector<GpuAgent> agents, CodeObjectReader reader,
                 double deadline_scale);
    RuntimeGate& gate() override { return gate_; }
    bool queue_created(std::uint32_t) override { return true; }
    std::unique_ptr<LeasedDispatch> decide(const DispatchNote& dispatch) override;
    void error(const Error&) override {}         // the ones concerned get a status
    void warning(const std::string&) override {} // the same
    /// The executable is frozen: notes its kernels and objects, and tells the session.
    void loaded(hsa_executable_t executable);
    /// Tells the session of each object that is on one of the agents.
    void tell(Use& use, const std::vector<LoadedCodeObject>& objects,
              const std::vector<Loaded>& loaded);

    HsaTable table_;
    const std::vector<GpuAgent> agents_;
    const CodeObjectReader reader_;
    const SteadyClock clock_;
    const capture::OwnProcess process_;
    RuntimeGate gate_;
    std::atomic<std::uint64_t> dispatches_{0};  ///< a counter
    std::atomic<std::uint64_t> next_object_{1}; ///< a counter
    std::atomic<bool> finalized_{false};        ///< the first caller finalizes
    mutable Mutex mutex_;
    CondVar unused_;
    capture::Session* session_ WAVETAP_GUARDED_BY(mutex_) = nullptr;
    CodeObjectHandler handler_ WAVETAP_GUARDED_BY(mutex_);
    std::uint64_t users_ WAVETAP_GUARDED_BY(mutex_) = 0;
    bool bound_ WAVETAP_GUARDED_BY(mutex_) = false;                           ///< once and for all
    std::vector<capture::DispatchClient> clients_ WAVETAP_GUARDED_BY(mutex_); ///< of each agent
    std::unordered_map<std::uint64_t, Name> kernels_ WAVETAP_GUARDED_BY(mutex_);
    std::unordered_map<std::uint64_t, std::vector<Loaded>> executables_ WAVETAP_GUARDED_BY(mutex_);
    std::unique_ptr<Leaser> leaser_;
    std::unique_ptr<QueueInterceptor> interceptor_;
};

} // namespace wavetap::rocr
