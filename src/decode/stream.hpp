// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace wavetap::decode {

/// Decodes the stream of one shader engine as it comes, in pieces of any size. Everything is
/// carried from piece to piece: the clock, open waves, registers, and a token that a piece cuts.
/// Memory: constant beside the waves that are open and the code lines that they run through.
///
/// Records reach the sink late: by up to 64 KiB of stream on gfx9 (a reset of its clock needs the
/// timestamp behind it) and 32 bytes elsewhere, and pieces smaller than 256 KiB are collected up to
/// that. finish() brings the rest.
///
/// Not thread safe; `code`, `sink` and `diagnostics` are borrowed. While a decoder lives, nobody
/// else may use its CodeMap. Two decoders are independent.
class StreamDecoder {
  public:
    StreamDecoder(const StreamOptions& options, CodeMap& code, RecordSink& sink,
                  Diagnostics& diagnostics);
    ~StreamDecoder();
    StreamDecoder(const StreamDecoder&) = delete;
    StreamDecoder& operator=(const StreamDecoder&) = delete;

    /// The next bytes of the stream, which begins with its header unless the options give one.
    /// Errors: kCorrupt, kUnsupported (the header cannot be understood; the decoder is of no
    /// further use). Everything later is a diagnostic, and decoding goes on.
    Result<void> feed(std::span<const std::byte> bytes);

    /// The next chunk of a capture with several buffers, whose first `read_offset` bytes (0, 2, 4,
    /// 6) end a token of the chunk before. With `missing`, that one was not fed: then they are left
    /// out, and there is a gap(). A chunk that only repeats the stream's header with zeros behind
    /// it, as captures send in front of each segment, is left out and a gap, too: nothing was
    /// recorded since the segment before. Errors: as feed(); kInvalidArgument (read_offset beyond
    /// the chunk).
    Result<void> feed_chunk(std::span<const std::byte> bytes, std::size_t read_offset,
                            bool missing = false);
    /// What feed_chunk() feeds, and whether behind a gap.
    struct ChunkPart {
        std::span<const std::byte> bytes;
        bool gap = false;
    };
    /// `header`: the stream's, null before it was read.
    static Result<ChunkPart> part_of_chunk(const sqtt::Header* header,
                                           std::span<const std::byte> bytes,
                                           std::size_t read_offset, bool missing);
    /// Tokens are missing between what was fed and what comes next, which begins with a whole one:
    /// the same as if the trace unit had lost them (Fault::kPacketsLost), without the time that
    /// passed: gfx9 finds it at the next timestamp that follows a reset, the others do not. A token
    /// that is cut is left out and counted (Fault::kCutToken). Nothing before the header was read.
    void gap();

    /// The end of the stream: open waves are delivered as unfinished, a cut token is reported.
    /// Errors: kCorrupt (fewer bytes than a header has). To be called once, after the last feed().
    Result<BlobTotals> finish();

    /// Null until the header was read.
    const sqtt::Header* header() const { return header_ ? &*header_ : nullptr; }
    /// BlobTotals::clock_base once the stream has told it.
    std::optional<std::uint64_t> clock_base() const {
        return engine_ ? engine_->clock_base() : std::nullopt;
    }
    /// Bytes that were fed and not left out; a token that is cut by a gap() counts.
    std::uint64_t bytes() const { return origin_ + pending_.size(); }

    /// The header at the beginning of `bytes`. Errors: kCorrupt.
    static Result<sqtt::Header> read_header(std::span<const std::byte> bytes);

  private:
    friend Result<BlobTotals> decode_stream(std::span<const std::byte>, const StreamOptions&,
                                            CodeMap&, RecordSink&, Diagnostics&);
    /// `whole`: nothing comes behind `bytes`.
    Result<void> begin(std::span<const std::byte> bytes, bool whole);
    std::size_t consume(std::span<const std::byte> bytes, bool last);

    StreamOptions options_;
    CodeMap* code_;
    RecordSink* sink_;
    Diagnostics* diagnostics_;
    std::optional<sqtt::Header> header_;
    std::unique_ptr<TaskPool> pool_;
    std::unique_ptr<Engine> engine_;
    std::vector<std::byte> pending_; ///< fed, not yet decoded
    std::uint64_t origin_ = 0;       ///< offset of pending_[0] in the stream
    std::uint64_t start_bits_ = 0;   ///< of the next token, in pending_
};

} // namespace wavetap::decode
