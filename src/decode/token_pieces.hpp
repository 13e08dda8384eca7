// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/stream.hpp"
#include "sqtt/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wavetap::decode {

/// The tokens of a stream that comes in pieces of any size, one by one; nothing is made of them.
/// Memory: a piece. Not thread safe.
class TokenPieces {
  public:
    /// The next bytes, which begin with the stream's header; `last`: no more come, and a token that
    /// the end cuts is left out. Calls take(token, generation) for each; its offset counts from the
    /// first byte of the stream. Errors: kCorrupt, kUnsupported (no known header).
    template <class Take>
    Result<void> feed(std::span<const std::byte> bytes, bool last, Take&& take) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        if (!header_) {
            if (!last && bytes_.size() < sizeof(std::uint64_t)) return {};
            WAVETAP_TRY(header_, StreamDecoder::read_header(bytes_));
            if (header_->generation == sqtt::Generation::kGfx9) begin_bits_ = 64;
        }
        if (!last && bytes_.size() <= kLongestToken) return {};
        const sqtt::Generation generation = header_->generation;
        const bool extends =
            generation == sqtt::Generation::kGfx12 || generation == sqtt::Generation::kGfx1250;
        const std::uint64_t stop =
            last ? ~std::uint64_t{0} : std::uint64_t{bytes_.size() - kLongestToken} * 8;
        sqtt::TokenReader tokens(generation, bytes_, begin_bits_, after_ext_);
        for (sqtt::Token token; tokens.offset_bits() < stop && tokens.next(token);) {
            after_ext_ = extends && (token.type == sqtt::TokenType::kWaveStartExt ||
                                     token.type == sqtt::TokenType::kExtension);
            token.offset_bits += origin_ * 8;
            take(token, generation);
        }
        const std::uint64_t done = tokens.offset_bits() / 8;
        begin_bits_ = tokens.offset_bits() % 8;
        origin_ += done;
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(done));
        return {};
    }

    /// As StreamDecoder::gap().
    template <class Take> Result<void> gap(Take&& take) {
        if (!header_) return {};
        WAVETAP_CHECK_OK(feed({}, true, take));
        origin_ += bytes_.size();
        bytes_.clear();
        begin_bits_ = 0;
        after_ext_ = false;
        return {};
    }

    /// Null until the header was read.
    const sqtt::Header* header() const { return header_ ? &*header_ : nullptr; }

  private:
    static constexpr std::size_t kLongestToken = 16;

    std::optional<sqtt::Header> header_;
    std::vector<std::byte> bytes_; ///< the end of the piece before, then the next one
    std::uint64_t origin_ = 0;     ///< of bytes_[0] in the stream
    std::uint64_t begin_bits_ = 0; ///< of the next token, in `bytes_`
    bool after_ext_ = false;
};

} // namespace wavetap::decode
