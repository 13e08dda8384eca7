// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/completion_gate.hpp"

#include <chrono>
#include <utility>

namespace wavetap::rocr {

namespace {

/// For a handler that is inside when the gate closes.
constexpr auto kCloseLimit = std::chrono::seconds(10);
/// Open passes that are looked at before another one is made.
constexpr int kMostLooks = 16;

Error in_child() {
    return {ErrorCode::kWrongState, "this gate belongs to the process that opened it",
            "forked child", ""};
}

} // namespace

Result<CompletionGate::Pass*> CompletionGate::make() {
    auto made = std::make_unique<Pass>();
    passes_.reserve(passes_.size() + 1);
    made->gate = this;
    hsa_signal_t* const signals[] = {&made->done, &made->release, &made->passed};
    for (hsa_signal_t* signal : signals) {
        const hsa_status_t status = hsa_.signal_create(1, 0, nullptr, signal);
        if (status == HSA_STATUS_SUCCESS) continue;
        *signal = {};
        for (const hsa_signal_t* other : signals)
            if (other->handle != 0) (void)hsa_.signal_destroy(*other);
        return hsa_error(hsa_, status, "a signal of a completion gate");
    }
    passes_.push_back(std::move(made));
    return passes_.back().get();
}

Result<CompletionGate::Pass*> CompletionGate::take() {
    for (int looks = 0; oldest_ != nullptr && looks < kMostLooks; ++looks) {
        Pass* pass = std::exchange(oldest_, oldest_->next);
        if (oldest_ == nullptr) newest_ = nullptr;
        if (hsa_.signal_load(pass->passed) == 0) {
            for (const hsa_signal_t signal : {pass->done, pass->release, pass->passed})
                hsa_.signal_store(signal, 1);
            return pass;
        }
        put_back(*pass);
    }
    return make();
}

void CompletionGate::put_back(Pass& pass) {
    pass.next = nullptr;
    (newest_ != nullptr ? newest_->next : oldest_) = &pass;
    newest_ = &pass;
}

Result<std::size_t> CompletionGate::packets(Handler handler, void* user, hsa_signal_t completion,
                                            Packet* out) {
    if (!process_.here()) return in_child();
    Pass* pass = nullptr;
    {
        MutexLock lock(mutex_);
        if (closing_) return Error{ErrorCode::kWrongState, "the completion gate closes", "", ""};
        WAVETAP_TRY(pass, take());
        pass->handler = handler;
        pass->user = user;
        pass->armed = true;
        ++armed_;
    }
    const hsa_status_t status =
        hsa_.signal_async_handler(pass->done, HSA_SIGNAL_CONDITION_LT, 1, on_done, pass);
    if (status != HSA_STATUS_SUCCESS) {
        MutexLock lock(mutex_);
        hsa_.signal_store(pass->passed, 0);
        pass->armed = false;
        put_back(*pass);
        --armed_;
        changed_.notify_all();
        return hsa_error(hsa_, status, "the signal handler of a completion gate");
    }
    out[0] = barrier_packet({}, pass->done);
    out[1] = barrier_packet(pass->release, pass->passed);
    if (completion.handle == 0) return std::size_t{2};
    out[2] = barrier_packet({}, completion);
    return std::size_t{3};
}

bool CompletionGate::on_done(hsa_signal_value_t, void* data) {
    Pass& pass = *static_cast<Pass*>(data);
    CompletionGate& gate = *pass.gate;
    Handler handler = nullptr;
    {
        MutexLock lock(gate.mutex_);
        if (!gate.closing_) {
            handler = pass.handler;
            gate.inside_ = std::this_thread::get_id();
        }
    }
    if (handler != nullptr) {
        try {
            handler(pass.user);
        } catch (...) { // of a client that does not keep to its word
            handler = nullptr;
        }
    }
    MutexLock lock(gate.mutex_);
    gate.inside_ = {};
    gate.hsa_.signal_store(pass.release, 0);
    pass.armed = false;
    gate.put_back(pass);
    --gate.armed_;
    gate.changed_.notify_all();
    return false;
}

Result<void> CompletionGate::close(std::unique_ptr<CompletionGate>& gate) {
    CompletionGate& self = *gate;
    if (!self.process_.here()) {
        (void)gate.release(); // its lock may be held, by a thread of the parent's
        return in_child();
    }
    {
        MutexLock lock(self.mutex_);
        if (self.inside_ == std::this_thread::get_id())
            return Error{ErrorCode::kWouldDeadlock, "close from a handler would wait for itself",
                         "completion gate", "call it from another thread"};
        self.closing_ = true;
        for (const auto& pass : self.passes_) {
            if (!pass->armed) continue;
            self.hsa_.signal_store(pass->release, 0);
            self.hsa_.signal_store(pass->done, 0);
        }
        const bool over = self.changed_.wait_until(
            self.mutex_, self.clock_.deadline_after(kCloseLimit),
            [&self]() WAVETAP_REQUIRES(self.mutex_) { return self.armed_ == 0; });
        if (over) {
            for (const auto& pass : self.passes_) {
                if (self.hsa_.signal_load(pass->passed) != 0) continue;
                for (const hsa_signal_t signal : {pass->done, pass->release, pass->passed})
                    (void)self.hsa_.signal_destroy(signal);
            }
        } else {
            (void)gate.release();
        }
    }
    if (gate == nullptr)
        return Error{ErrorCode::kTimeout, "a handler of the completion gate does not return", "",
                     ""};
    gate.reset();
    return {};
}

} // namespace wavetap::rocr
