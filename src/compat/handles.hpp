// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "compat/parse.hpp"
#include "decode/stream_scan.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
    void set_analysis(bool hidden_latency);
    /// Null: all records again. kInvalidArgument: the filter before stays.
    Status set_filter(const RecordFilter* filter);

    /// Where the chunk before chunk `index` ended; waits for it until the deadline. Nothing if it
    /// did not come. Chunk 0 has none.
    std::optional<decode::ScanState> entry_of(std::uint64_t index, Duration wait);
    /// Chunk `index` ended like this. The last 1,024 are kept.
    void ended(std::uint64_t index, decode::ScanState state);

    struct Settings {
        IsaCallback isa = nullptr;
        void* isa_user = nullptr;
        SeDataCallback se_data = nullptr;
        void* se_data_user = nullptr;
        std::vector<GivenCode> code;
        Wanted wanted;
        bool hidden_latency = false;
    };
    /// A copy: no callback is called under a lock, and a parse survives changes of its handle.
    Settings settings() const;

  private:
    static constexpr std::size_t kMostChunks = 1024;

    mutable Mutex mutex_;
    CondVar ended_;
    Settings settings_ WAVETAP_GUARDED_BY(mutex_);
    std::map<std::uint64_t, decode::ScanState> entries_ WAVETAP_GUARDED_BY(mutex_); ///< by chunk
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
