// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::capture {

enum ChunkFlags : std::uint32_t {
    kChunkNone = 0,
    kChunkEnd = 1,           ///< last chunk of a segment; exactly one per segment
    kChunkGpuBufferFull = 2, ///< the hardware ran out of room and dropped tokens
    kChunkCpuBufferFull = 4, ///< no staging slot was free (N-buffer streaming)
    kChunkLost = 8,          ///< the bytes of this segment could not be fetched
    kChunkWriteError = 16,   ///< the hardware met an address that is not mapped
    kChunkHalted = 32, ///< with END: the trace unit went off by itself; another segment follows
};

/// One delivery to the client. `data` is borrowed for the call.
struct Chunk {
    std::uint32_t context = 0;
    std::uint64_t run = 0;
    std::uint32_t engine = 0; ///< global shader engine
    std::uint32_t index = 0;  ///< counts from 0 in each run
    std::uint32_t flags = kChunkNone;
    /// Exactly what the hardware wrote; on gfx9 the first chunk of a segment starts with the 8-byte
    /// software header (N-buffer streaming: is that header and 24 zero bytes). The chunks of a
    /// segment joined are one stream.
    std::span<const std::byte> data;
    /// N-buffer streaming: where the first whole token begins; the bytes before it end a token of the
    /// chunk before. Else 0, and in a last chunk that was written while the one before waited.
    std::uint32_t read_offset = 0;
    std::uint64_t capacity_bytes = 0;                 ///< room that the engine had
    std::uint32_t status = 0, dropped = 0, wptr = 0;  ///< registers read back at stop
    std::uint64_t start_counter = 0, end_counter = 0; ///< constant GPU counter; 0 = unknown
};

/// The client's side of a delivery. Called without any lock of ours on the hub's thread, for
/// N-buffer streaming on a thread of the hub's pool.
using ChunkHandler = void (*)(const Chunk& chunk, void* user);

/// Numbers chunks, sets END and counts what was handed over. Resource of one run; hub thread only.
/// A segment that was begun and not ended is ended by the destructor, with kChunkLost.
class ChunkSink {
  public:
    struct Counts {
        std::uint64_t chunks = 0, bytes = 0, segments = 0, gaps = 0, handler_exceptions = 0;
    };

    ChunkSink(ChunkHandler handler, void* user) : handler_(handler), user_(user) {}
    ChunkSink(const ChunkSink&) = delete;
    ChunkSink& operator=(const ChunkSink&) = delete;
    ~ChunkSink();

    /// Starts a segment; `prototype` holds all that the chunks of the segment have in common.
    /// A segment still open is ended as lost.
    void begin(const Chunk& prototype);
    /// Delivers `data`; with `last`, END is set and the segment ends. Without a segment: nothing.
    void deliver(std::span<const std::byte> data, bool last);
    /// Ends the segment with a zero-length chunk END | LOST.
    void lose();

    const Counts& counts() const { return counts_; }

  private:
    void send(std::span<const std::byte> data, std::uint32_t extra_flags);

    ChunkHandler handler_;
    void* user_;
    Chunk segment_;
    bool open_ = false;
    std::uint32_t next_index_ = 0;
    Counts counts_;
};

} // namespace wavetap::capture
