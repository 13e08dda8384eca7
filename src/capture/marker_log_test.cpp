// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/marker_log.hpp"

#include <gtest/gtest.h>

namespace wavetap::capture {
namespace {

const pm4::TraceTopology kAgent{"gfx90a", 1, 8, 14};

std::vector<std::uint32_t> marker(std::uint64_t id, bool unload, bool from_start) {
    pm4::CodeObjectMarker words;
    words.id = id;
    words.address = id * 0x1000;
    words.size = 0x100 + id;
    words.unload = unload;
    words.from_start = from_start;
    return pm4::build_marker(kAgent, words);
}
CodeObject object(std::uint64_t id) {
    return {id, id * 0x1000, 0x100 + id};
}

std::vector<std::uint32_t> join(std::initializer_list<std::vector<std::uint32_t>> parts) {
    std::vector<std::uint32_t> all;
    for (const auto& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

TEST(MarkerLogTest, ReplayIsTheLoadedSetInLoadOrder) {
    MarkerLog log;
    log.load(object(7));
    log.load(object(3));
    log.load(object(9));
    log.unload(3);
    log.load(object(4));
    std::vector<std::uint32_t> stream, joints;
    log.replay(kAgent, log.end(), stream, joints);
    EXPECT_EQ(stream,
              join({marker(7, false, true), marker(9, false, true), marker(4, false, true)}));
    ASSERT_EQ(joints.size(), 3u);
    EXPECT_EQ(joints.back(), stream.size());
    EXPECT_EQ(log.loaded(), 3u);
}

TEST(MarkerLogTest, ReplayAtAnEarlierPositionSeesWhatWasLoadedThen) {
    MarkerLog log;
    log.load(object(1));
    const auto then = log.load(object(2));
    log.unload(1);
    std::vector<std::uint32_t> stream, joints;
    log.replay(kAgent, then, stream, joints);
    EXPECT_EQ(stream, join({marker(1, false, true), marker(2, false, true)}));
}

TEST(MarkerLogTest, LiveMarkersFollowTheReplay) {
    MarkerLog log;
    const auto start = log.load(object(1));
    log.load(object(2));
    log.unload(1);
    std::vector<std::uint32_t> stream;
    EXPECT_EQ(log.live(kAgent, start, log.end(), 100000, stream), log.end());
    EXPECT_EQ(stream, join({marker(2, false, false), marker(1, true, false)}));
}

TEST(MarkerLogTest, LiveMarkersComeInPiecesThatFit) {
    MarkerLog log;
    for (std::uint64_t id = 1; id <= 10; ++id)
        log.load(object(id));
    std::vector<std::uint32_t> all;
    MarkerLog::Position at = 0;
    int pieces = 0;
    while (at < log.end()) {
        std::vector<std::uint32_t> piece;
        const auto next = log.live(kAgent, at, log.end(), 100, piece);
        ASSERT_GT(next, at);
        EXPECT_LE(piece.size(), 100u);
        all.insert(all.end(), piece.begin(), piece.end());
        at = next;
        ++pieces;
    }
    EXPECT_GT(pieces, 1);
    std::vector<std::uint32_t> whole;
    log.live(kAgent, 0, log.end(), 100000, whole);
    EXPECT_EQ(all, whole);
}

TEST(MarkerLogTest, CompactKeepsTheReplay) {
    MarkerLog log;
    for (std::uint64_t id = 1; id <= 1000; ++id) {
        log.load(object(id));
        if (id > 1) log.unload(id - 1);
    }
    std::vector<std::uint32_t> before, after, joints;
    log.replay(kAgent, log.end(), before, joints);
    log.compact(log.end());
    log.replay(kAgent, log.end(), after, joints);
    EXPECT_EQ(before, after);
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
