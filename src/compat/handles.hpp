// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "compat/parse.hpp"

#include <memory>
#include <unordered_map>

namespace wavetap::compat {

/// What the caller set on a handle. Any thread.
class Decoder {
  public:
    void set_isa(IsaCallback callback, void* user);
    void set_se_data(SeDataCallback callback, void* user);
    /// A second object with the same id takes the place of the first.
    void load(GivenCode code);
    /// False if there is no such object.
    bool unload(std::uint64_t id);

    struct Settings {
        IsaCallback isa = nullptr;
        void* isa_user = nullptr;
        SeDataCallback se_data = nullptr;
        void* se_data_user = nullptr;
        std::vector<GivenCode> code;
    };
    /// A copy: no callback is called under a lock, and a parse survives changes of its handle.
    Settings settings() const;

  private:
    mutable Mutex mutex_;
    Settings settings_ WAVETAP_GUARDED_BY(mutex_);
};

/// The handles of the process; numbers are never used again. Never destroyed, so that the ABI works
/// before main and after static destruction.
class Handles {
  public:
    static Handles& instance();
    std::uint64_t create();
    /// False if there is no such handle.
    bool destroy(std::uint64_t handle);
    /// Null if there is no such handle.
    std::shared_ptr<Decoder> find(std::uint64_t handle);

  private:
    Mutex mutex_;
    std::uint64_t last_ WAVETAP_GUARDED_BY(mutex_) = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<Decoder>>
        decoders_ WAVETAP_GUARDED_BY(mutex_);
};

} // namespace wavetap::compat
