// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace wavetap::decode {

/// The bytes of a blob in pieces of any size, which can be read several times. One thread.
class BlobSource {
  public:
    virtual ~BlobSource() = default;
    virtual std::uint64_t bytes() const = 0;
    /// The next piece is the first one again.
    virtual void rewind() = 0;
    /// The next bytes, valid until the next call; none at the end. Errors: of whoever reads them.
    virtual Result<std::span<const std::byte>> next() = 0;
};

/// A blob in memory: one piece.
class SpanSource final : public BlobSource {
  public:
    explicit SpanSource(std::span<const std::byte> bytes) : bytes_(bytes), left_(bytes) {}
    std::uint64_t bytes() const override { return bytes_.size(); }
    void rewind() override { left_ = bytes_; }
    Result<std::span<const std::byte>> next() override { return std::exchange(left_, {}); }

  private:
    std::span<const std::byte> bytes_, left_;
};

} // namespace wavetap::decode
