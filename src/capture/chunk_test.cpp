// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/chunk.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace wavetap::capture {
namespace {

struct Seen {
    std::uint32_t index, flags, engine;
    std::size_t bytes;
};
void record(const Chunk& chunk, void* user) {
    static_cast<std::vector<Seen>*>(user)->push_back(
        {chunk.index, chunk.flags, chunk.engine, chunk.data.size()});
}
Chunk of_engine(std::uint32_t engine, std::uint32_t flags = kChunkNone) {
    Chunk chunk;
    chunk.engine = engine;
    chunk.flags = flags;
    return chunk;
}
const std::vector<std::byte> kData(10);

TEST(ChunkSinkTest, IndexesHaveNoGapAndOneEndASegment) {
    std::vector<Seen> seen;
    {
        ChunkSink sink(record, &seen);
        sink.begin(of_engine(0));
        sink.deliver(kData, false);
        sink.deliver(kData, true);
        sink.deliver(kData, true); // outside of a segment
        sink.begin(of_engine(3, kChunkGpuBufferFull));
        sink.deliver({}, true);
        EXPECT_EQ(sink.counts().chunks, 3u);
        EXPECT_EQ(sink.counts().bytes, 20u);
        EXPECT_EQ(sink.counts().segments, 2u);
        EXPECT_EQ(sink.counts().gaps, 0u);
    }
    ASSERT_EQ(seen.size(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i)
        EXPECT_EQ(seen[i].index, i);
    EXPECT_EQ(seen[0].flags, kChunkNone);
    EXPECT_EQ(seen[1].flags, kChunkEnd);
    EXPECT_EQ(seen[2].flags, kChunkEnd | kChunkGpuBufferFull);
    EXPECT_EQ(seen[2].engine, 3u);
}

TEST(ChunkSinkTest, AnOpenSegmentIsEndedAsLost) {
    std::vector<Seen> seen;
    {
        ChunkSink sink(record, &seen);
        sink.begin(of_engine(0));
        sink.deliver(kData, false);
        sink.begin(of_engine(1));
    }
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_EQ(seen[1].flags, kChunkEnd | kChunkLost);
    EXPECT_EQ(seen[1].engine, 0u);
    EXPECT_EQ(seen[2].flags, kChunkEnd | kChunkLost);
    EXPECT_EQ(seen[2].engine, 1u);
}

TEST(ChunkSinkTest, AThrowingHandlerIsCounted) {
    ChunkSink sink([](const Chunk&, void*) { throw std::runtime_error("client"); }, nullptr);
    sink.begin(of_engine(0));
    sink.deliver(kData, true);
    EXPECT_EQ(sink.counts().handler_exceptions, 1u);
}

} // namespace
} // namespace wavetap::capture
