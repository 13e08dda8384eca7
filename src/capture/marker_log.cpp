// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/marker_log.hpp"

#include <algorithm>

namespace wavetap::capture {

namespace {

pm4::CodeObjectMarker marker_of(const CodeObject& object) {
    pm4::CodeObjectMarker marker;
    marker.id = object.id;
    marker.address = object.address;
    marker.size = object.size;
    return marker;
}

} // namespace

MarkerLog::Position MarkerLog::load(const CodeObject& object) {
    MutexLock lock(mutex_);
    entries_.push_back(Entry{object, false, next_, ~Position{0}});
    return ++next_;
}

MarkerLog::Position MarkerLog::unload(std::uint64_t id) {
    MutexLock lock(mutex_);
    const auto match = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& entry) {
        return !entry.unload && entry.object.id == id && entry.dead_from == ~Position{0};
    });
    if (match == entries_.rend()) return next_;
    const auto place = static_cast<std::size_t>(entries_.rend() - match) - 1;
    entries_.push_back(Entry{entries_[place].object, true, next_, ~Position{0}});
    entries_[place].dead_from = next_;
    return ++next_;
}

MarkerLog::Position MarkerLog::end() const {
    MutexLock lock(mutex_);
    return next_;
}

void MarkerLog::replay(Position until, std::vector<pm4::CodeObjectMarker>& markers) const {
    MutexLock lock(mutex_);
    for (const Entry& entry : entries_) {
        if (entry.position >= until) break;
        if (entry.unload || entry.dead_from < until) continue;
        markers.push_back(marker_of(entry.object));
        markers.back().from_start = true;
    }
}

MarkerLog::Position MarkerLog::live(Position from, Position until, std::size_t most,
                                    std::vector<pm4::CodeObjectMarker>& markers) const {
    MutexLock lock(mutex_);
    std::size_t taken = 0;
    for (const Entry& entry : entries_) {
        if (entry.position < from) continue;
        if (entry.position >= until) return until;
        if (taken++ == most) return entry.position;
        markers.push_back(marker_of(entry.object));
        markers.back().unload = entry.unload;
    }
    return until;
}

void MarkerLog::compact(Position until) {
    MutexLock lock(mutex_);
    std::erase_if(entries_, [&](const Entry& entry) {
        return entry.position < until && (entry.unload || entry.dead_from < until);
    });
}

std::size_t MarkerLog::loaded() const {
    MutexLock lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
            return !entry.unload && entry.dead_from == ~Position{0};
        }));
}

} // namespace wavetap::capture
