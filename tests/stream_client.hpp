// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "capture/chunk.hpp"
#include "sqtt/gfx9.hpp"
#include "stream_gpu.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

// For tests: a client of a StreamGpu's trace, which reads what it gets token by token.

namespace wavetap::test {

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr std::uint64_t kNoToken = ~std::uint64_t{0};
inline constexpr std::uint64_t kHeaderBytes = 32; ///< of the header chunk

/// What one engine's segments say, joined and read token by token.
struct Stream {
    std::vector<std::byte> bytes;      ///< of the segment
    std::uint64_t next = kHeaderBytes; ///< where its next token begins
    std::uint64_t tokens = 0, dropped = 0, segments = 0, packet_losses = 0;
    std::uint64_t first = kNoToken, last = kNoToken;
    std::string fault;

    /// The bytes of a chunk; its first `read_offset` end a token of the chunk before. The unit does not say it of the
    /// buffer behind one that waits to be taken: there, at the end of a segment, it may be 0.
    void add(const capture::Chunk& chunk, std::span<const std::byte> data) {
        for (; next < bytes.size(); next += size_at(next)) {
        }
        const std::uint64_t rest = bytes.empty() ? 0 : next - bytes.size();
        const bool end = (chunk.flags & capture::kChunkEnd) != 0;
        if (chunk.read_offset != rest && !(end && chunk.read_offset == 0))
            fault = "the read offset is not where a token begins";
        bytes.insert(bytes.end(), data.begin(), data.end());
    }
    std::uint64_t size_at(std::uint64_t at) const {
        return sqtt::kGfx9Rows[std::to_integer<unsigned>(bytes[at]) & 0xF].bits / 8;
    }
    void end_segment() {
        std::uint64_t at = kHeaderBytes;
        if (bytes.size() < at) fault = "a segment without a header chunk";
        while (at < bytes.size()) {
            const unsigned id = std::to_integer<unsigned>(bytes[at]) & 0xF;
            const std::uint64_t size = size_at(at);
            if (at + size > bytes.size()) fault = "a token is cut at the end of a segment";
            if (id == 12 && fault.empty()) take(at);
            if (id == 0 && (std::to_integer<unsigned>(bytes[at + 1]) >> 5) == 2) ++packet_losses;
            at += size;
        }
        bytes.clear();
        next = kHeaderBytes;
        ++segments;
    }
    void take(std::uint64_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, &bytes[at + 2], 4);
        if (last != kNoToken && value <= last) fault = "tokens are out of order";
        if (first == kNoToken) first = value;
        last = value;
        ++tokens;
    }
};

struct Client {
    std::map<std::uint32_t, Stream> streams;
    std::map<std::uint32_t, std::vector<capture::Chunk>> waiting; ///< as ready: by index
    std::uint32_t next_index = 0;
    std::uint64_t chunks = 0, ends = 0, cpu_full = 0, gpu_full = 0, halted = 0, lost = 0, bytes = 0;
    std::chrono::microseconds delay{0};
    std::string fault;
    std::atomic<bool> stopped{false};
    Mutex mutex;     ///< as-ready handlers run at once
    CondVar counted; ///< with every chunk

    /// Waits until `reached`, which looks at the counts; false if that takes a minute.
    template <typename Predicate> bool wait(Predicate reached) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        MutexLock lock(mutex);
        return counted.wait_until(mutex, deadline, reached);
    }

    void take(const capture::Chunk& chunk, std::span<const std::byte> data) {
        if (chunk.index != next_index) fault = "chunk indexes have a gap";
        ++next_index;
        Stream& stream = streams[chunk.engine];
        stream.add(chunk, data);
        if ((chunk.flags & capture::kChunkEnd) == 0) return;
        ++ends;
        stream.dropped += chunk.dropped;
        stream.end_segment();
    }
};

inline void count(Client& client, const capture::Chunk& chunk) {
    ++client.chunks;
    client.bytes += chunk.data.size();
    if ((chunk.flags & capture::kChunkCpuBufferFull) != 0) ++client.cpu_full;
    if ((chunk.flags & capture::kChunkGpuBufferFull) != 0) ++client.gpu_full;
    if ((chunk.flags & capture::kChunkHalted) != 0) ++client.halted;
    if ((chunk.flags & capture::kChunkLost) != 0) ++client.lost;
    if (client.stopped) client.fault = "a callback after stop returned";
    client.counted.notify_all();
}

inline void receive(const capture::Chunk& chunk, void* user) {
    auto* client = static_cast<Client*>(user);
    if (client->delay.count() != 0) std::this_thread::sleep_for(client->delay);
    MutexLock lock(client->mutex);
    count(*client, chunk);
    client->take(chunk, chunk.data);
}

/// `armed_before`: the units wrote before this run, which a failed run had left armed.
inline void expect_complete(const Client& client, const StreamGpu& gpu, bool armed_before = false) {
    EXPECT_EQ(client.fault, "");
    std::uint64_t tokens = 0, dropped = 0;
    for (const auto& [engine, stream] : client.streams) {
        EXPECT_EQ(stream.fault, "") << "engine " << engine;
        EXPECT_TRUE(stream.bytes.empty()) << "engine " << engine << ": a segment without END";
        const std::uint64_t before = armed_before ? stream.first : 0;
        EXPECT_EQ(stream.tokens + stream.dropped, gpu.next_token[engine] - before)
            << "engine " << engine;
        tokens += stream.tokens + before;
        dropped += stream.dropped;
    }
    EXPECT_EQ(tokens + dropped, gpu.produced());
    EXPECT_EQ(client.lost, 0u);
}

} // namespace wavetap::test
