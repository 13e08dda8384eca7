// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/marker_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wavetap::capture {
namespace {

using Markers = std::vector<pm4::CodeObjectMarker>;

CodeObject object(std::uint64_t id) {
    return {id, id * 0x1000, 0x100 + id};
}
/// "3-*": object 3, unloaded, loaded before the start.
std::string text(const Markers& markers) {
    std::string all;
    for (const pm4::CodeObjectMarker& marker : markers) {
        EXPECT_EQ(marker.address, marker.id * 0x1000);
        EXPECT_EQ(marker.size, 0x100 + marker.id);
        all += (all.empty() ? "" : " ") + std::to_string(marker.id) + (marker.unload ? "-" : "+") +
               (marker.from_start ? "*" : "");
    }
    return all;
}

TEST(MarkerLogTest, ReplayIsTheLoadedSetInLoadOrder) {
    MarkerLog log;
    log.load(object(7));
    log.load(object(3));
    log.load(object(9));
    log.unload(3);
    log.load(object(4));
    Markers markers;
    log.replay(log.end(), markers);
    EXPECT_EQ(text(markers), "7+* 9+* 4+*");
    EXPECT_EQ(log.loaded(), 3u);
}

TEST(MarkerLogTest, ReplayAtAnEarlierPositionSeesWhatWasLoadedThen) {
    MarkerLog log;
    log.load(object(1));
    const auto then = log.load(object(2));
    log.unload(1);
    Markers markers;
    log.replay(then, markers);
    EXPECT_EQ(text(markers), "1+* 2+*");
}

TEST(MarkerLogTest, LiveMarkersFollowTheReplay) {
    MarkerLog log;
    const auto start = log.load(object(1));
    log.load(object(2));
    log.unload(1);
    Markers markers;
    EXPECT_EQ(log.live(start, log.end(), 100000, markers), log.end());
    EXPECT_EQ(text(markers), "2+ 1-");
}

TEST(MarkerLogTest, LiveMarkersComeInPiecesThatFit) {
    MarkerLog log;
    for (std::uint64_t id = 1; id <= 10; ++id)
        log.load(object(id));
    Markers all;
    MarkerLog::Position at = 0;
    int pieces = 0;
    while (at < log.end()) {
        Markers piece;
        const auto next = log.live(at, log.end(), 3, piece);
        ASSERT_GT(next, at);
        EXPECT_LE(piece.size(), 3u);
        all.insert(all.end(), piece.begin(), piece.end());
        at = next;
        ++pieces;
    }
    EXPECT_EQ(pieces, 4);
    Markers whole;
    log.live(0, log.end(), 100000, whole);
    EXPECT_EQ(text(all), text(whole));
}

TEST(MarkerLogTest, CompactKeepsTheReplay) {
    MarkerLog log;
    for (std::uint64_t id = 1; id <= 1000; ++id) {
        log.load(object(id));
        if (id > 1) log.unload(id - 1);
    }
    Markers before, after;
    log.replay(log.end(), before);
    log.compact(log.end());
    log.replay(log.end(), after);
    EXPECT_EQ(text(before), text(after));
    EXPECT_EQ(log.loaded(), 1u);
}

TEST(MarkerLogTest, UnknownUnloadChangesNothing) {
    MarkerLog log;
    log.load(object(1));
    const auto end = log.end();
    EXPECT_EQ(log.unload(99), end);
    EXPECT_EQ(log.loaded(), 1u);
}

} // namespace
} // namespace wavetap::capture
