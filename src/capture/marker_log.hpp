// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "pm4/thread_trace.hpp"

#include <cstdint>
#include <vector>

namespace wavetap::capture {

/// A code object in the agent's memory.
struct CodeObject {
    std::uint64_t id = 0; ///< never reused in a process
    std::uint64_t address = 0, size = 0;
};

/// One agent's list of code-object loads and unloads, in order. Only appended to; compact() drops
/// what no later reader needs. Thread safe; its lock is a leaf and is never held while waiting.
class MarkerLog {
  public:
    /// Position of an entry; grows for ever.
    using Position = std::uint64_t;

    /// Both return the position behind the new entry.
    Position load(const CodeObject& object) WAVETAP_EXCLUDES(mutex_);
    Position unload(std::uint64_t id) WAVETAP_EXCLUDES(mutex_);

    Position end() const WAVETAP_EXCLUDES(mutex_);
    /// Appends the "from start" markers of all objects loaded before `until` and not unloaded before
    /// it, in load order.
    void replay(Position until, std::vector<pm4::CodeObjectMarker>& markers) const
        WAVETAP_EXCLUDES(mutex_);
    /// Appends the live markers of entries [from, until), at most `most` of them. Returns the position
    /// reached.
    Position live(Position from, Position until, std::size_t most,
                  std::vector<pm4::CodeObjectMarker>& markers) const WAVETAP_EXCLUDES(mutex_);
    /// Forgets objects that were unloaded before `until`. Call while no trace runs.
    void compact(Position until) WAVETAP_EXCLUDES(mutex_);
    std::size_t loaded() const WAVETAP_EXCLUDES(mutex_);

  private:
    struct Entry {
        CodeObject object;
        bool unload = false;
        Position position = 0;
        Position dead_from = ~Position{0}; ///< loads: position of the matching unload
    };
    mutable Mutex mutex_;
    std::vector<Entry> entries_ WAVETAP_GUARDED_BY(mutex_);
    Position next_ WAVETAP_GUARDED_BY(mutex_) = 0;
};

} // namespace wavetap::capture
