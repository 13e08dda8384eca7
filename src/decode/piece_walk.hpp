// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/blob_source.hpp"
#include "decode/walk.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wavetap::decode {

/// Whether bytes behind a token of this type may belong to it.
inline bool may_be_extended(sqtt::Generation generation, sqtt::TokenType type) {
    return (generation == sqtt::Generation::kGfx12 || generation == sqtt::Generation::kGfx1250) &&
           (type == sqtt::TokenType::kWaveStartExt || type == sqtt::TokenType::kExtension);
}

/// walk() over a blob that comes in pieces: the same tokens in the same order. Memory: a piece, and
/// 64 KiB of gfx9.
class PieceWalk {
  public:
    /// gfx9: what is kept behind a token, so that the timestamp of a time reset can be looked for.
    static constexpr std::size_t kTimestampBytes = std::size_t{64} * 1024;

    PieceWalk(sqtt::Generation generation, std::uint64_t start_bits)
        : generation_(generation), next_bits_(start_bits),
          ahead_(generation == sqtt::Generation::kGfx9 ? kTimestampBytes + kLongest : kLongest) {}

    /// The next piece; `last`: no more come. `on_token(token, bytes, origin)`: token.offset_bits
    /// counts in the blob, `bytes` hold it and begin at byte `origin` of the blob.
    template <class OnToken>
    void feed(std::span<const std::byte> piece, bool last, OnToken&& on_token) {
        if (!pending_.empty() || !last) {
            pending_.insert(pending_.end(), piece.begin(), piece.end());
            piece = pending_;
        }
        if (last)
            take(piece, ~std::uint64_t{0}, on_token);
        else if (piece.size() > ahead_)
            take(piece, (piece.size() - ahead_) * 8, on_token);
        if (last) return;
        const std::uint64_t done = std::min<std::uint64_t>(next_bits_ / 8, pending_.size());
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
        origin_ += done;
        next_bits_ -= done * 8;
    }
    /// Where the next token begins in the blob.
    std::uint64_t position_bits() const { return origin_ * 8 + next_bits_; }
    /// After the last piece.
    WalkEnd end() const { return {position_bits(), truncated_}; }

  private:
    static constexpr std::size_t kLongest = 64; ///< bytes; no token is that long

    /// Tokens that begin before `stop_bits` of `bytes`, and what extends the last one.
    template <class OnToken>
    void take(std::span<const std::byte> bytes, std::uint64_t stop_bits, OnToken& on_token) {
        bool stopped = false;
        const auto give = [&](sqtt::Token token) {
            if (stopped) return;
            if (token.offset_bits >= stop_bits && token.type != sqtt::TokenType::kExtension) {
                stopped = true;
                next_bits_ = token.offset_bits;
                return;
            }
            next_bits_ = token.offset_bits + token.size_bits;
            extends_ = may_be_extended(generation_, token.type);
            token.offset_bits += origin_ * 8;
            on_token(token, bytes, origin_);
        };
        // FastReader knows nothing of a token before its start.
        sqtt::TokenReader extensions(generation_, bytes, next_bits_, extends_);
        for (sqtt::Token token; extends_ && !stopped && extensions.next(token);) {
            if (token.type != sqtt::TokenType::kNop) {
                give(token);
                continue;
            }
            extends_ = false;
            next_bits_ = token.offset_bits + token.size_bits;
        }
        truncated_ = extensions.truncated();
        if (stopped || extends_) return;
        const std::size_t size =
            std::min<std::uint64_t>(bytes.size(), stop_bits / 8 + std::uint64_t{kLongest});
        const WalkEnd end = walk(generation_, bytes.first(size), next_bits_, give);
        if (stopped) return;
        extends_ = extends_ && next_bits_ == end.end_bits;
        next_bits_ = end.end_bits;
        truncated_ = end.truncated;
    }

    sqtt::Generation generation_;
    std::vector<std::byte> pending_;
    std::uint64_t origin_ = 0;    ///< of pending_[0] in the blob, bytes
    std::uint64_t next_bits_ = 0; ///< in pending_: where the next token begins
    std::size_t ahead_;
    bool extends_ = false; ///< what follows may belong to the token before
    bool truncated_ = false;
};

/// Walks a blob from its first byte on; tokens that begin at or after `until_bits` are left out.
/// Errors: those of the source.
template <class OnToken>
Result<WalkEnd> walk_source(BlobSource& source, sqtt::Generation generation,
                            std::uint64_t start_bits, std::uint64_t until_bits,
                            OnToken&& on_token) {
    source.rewind();
    PieceWalk walk(generation, start_bits);
    const auto give = [&](const sqtt::Token& token, std::span<const std::byte> bytes,
                          std::uint64_t origin) {
        if (token.offset_bits < until_bits) on_token(token, bytes, origin);
    };
    std::uint64_t given = 0;
    do {
        WAVETAP_TRY(const auto piece, source.next());
        given += piece.size();
        walk.feed(piece, piece.empty() || given >= source.bytes(), give);
        if (piece.empty()) break;
    } while (given < source.bytes() && walk.position_bits() < until_bits);
    return walk.end();
}

} // namespace wavetap::decode
