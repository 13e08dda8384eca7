// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "capture/process.hpp"
#include "rocr/hsa_table.hpp"
#include "rocr/interceptor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace wavetap::rocr {

/// Lets a packet interceptor act when kernels have ended, before the queue goes on: two barriers behind
/// them, of which the second one waits until a handler, called for the first one, has returned. A
/// third one completes the application's signal then.
///
/// Three signals for each pair of barriers that is on its way; they are used again. In a forked child
/// every call returns kWrongState. Resource; thread safe.
class CompletionGate {
  public:
    using Handler = void (*)(void* user);
    static constexpr std::size_t kMostPackets = 3;

    CompletionGate(const HsaFunctions& hsa, double deadline_scale)
        : hsa_(hsa), clock_(deadline_scale) {}

    /// Fills `out`, room for kMostPackets, and returns how many it has filled: 2, or 3 if `completion`
    /// is a signal. They belong into one queue, in this order, behind what is waited for. `handler` is
    /// called once, on ROCr's handler thread, with no lock of the gate held; what it throws is
    /// swallowed. Waits for nobody. Errors: kWrongState (closes), kLimit, kUnavailable (the runtime).
    Result<std::size_t> packets(Handler handler, void* user, hsa_signal_t completion, Packet* out);

    /// Lets every queue go on, and no handler is called any more; waits for one that is inside, with a
    /// deadline. Signals of packets that have not run stay, and so does the gate if ROCr may
    /// still call it. Errors: kWouldDeadlock (from a handler; `gate` stays), kTimeout.
    static Result<void> close(std::unique_ptr<CompletionGate>& gate);

  private:
    struct Pass {
        CompletionGate* gate = nullptr;
        hsa_signal_t done{};    ///< 0: the queue has come here
        hsa_signal_t release{}; ///< 0: it may go on
        hsa_signal_t passed{};  ///< 0: it has gone on
        // Guarded by the gate's mutex.
        Handler handler = nullptr;
        void* user = nullptr;
        bool armed = false;   ///< ROCr will call
        Pass* next = nullptr; ///< of the open ones
    };

    static bool on_done(hsa_signal_value_t value, void* pass);
    Result<Pass*> take() WAVETAP_REQUIRES(mutex_);
    Result<Pass*> make() WAVETAP_REQUIRES(mutex_);
    void put_back(Pass& pass) WAVETAP_REQUIRES(mutex_);

    const HsaFunctions hsa_;
    const SteadyClock clock_;
    const capture::OwnProcess process_;
    Mutex mutex_;
    CondVar changed_;
    std::vector<std::unique_ptr<Pass>> passes_ WAVETAP_GUARDED_BY(mutex_);
    Pass* oldest_ WAVETAP_GUARDED_BY(mutex_) = nullptr; ///< of those whose handler has returned
    Pass* newest_ WAVETAP_GUARDED_BY(mutex_) = nullptr;
    std::size_t armed_ WAVETAP_GUARDED_BY(mutex_) = 0;
    bool closing_ WAVETAP_GUARDED_BY(mutex_) = false;
    std::thread::id inside_ WAVETAP_GUARDED_BY(mutex_); ///< of a handler
};

} // namespace wavetap::rocr
