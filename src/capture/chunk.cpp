// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/chunk.hpp"

namespace wavetap::capture {

ChunkSink::~ChunkSink() {
    if (open_) lose();
}

void ChunkSink::begin(const Chunk& prototype) {
    if (open_) lose();
    segment_ = prototype;
    open_ = true;
    ++counts_.segments;
}

void ChunkSink::deliver(std::span<const std::byte> data, bool last) {
    if (!open_) return;
    if (last) open_ = false;
    send(data, last ? kChunkEnd : kChunkNone);
}

void ChunkSink::lose() {
    if (!open_) return;
    open_ = false;
    ++counts_.gaps;
    send({}, kChunkEnd | kChunkLost);
}

void ChunkSink::send(std::span<const std::byte> data, std::uint32_t extra_flags) {
    Chunk chunk = segment_;
    chunk.index = next_index_++;
    chunk.flags = segment_.flags | extra_flags;
    chunk.data = data;
    ++counts_.chunks;
    counts_.bytes += data.size();
    if (handler_ == nullptr) return;
    try {
        handler_(chunk, user_);
    } catch (...) {
        ++counts_.handler_exceptions;
    }
}

} // namespace wavetap::capture
