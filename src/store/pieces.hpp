// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "store/trace_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wavetap::store {

/// Reads files one behind the other in pieces, so that a long trace is never whole in memory.
/// Movable resource; one thread.
class PieceReader {
  public:
    static constexpr std::size_t kPieceBytes = std::size_t{512}
                                               << 10; ///< the most that next() gives

    /// The bytes of one regular file. Errors: kNotFound, kIo.
    static Result<PieceReader> open(const std::string& path);
    /// The joined bytes of a segment: those of read_segment(). Errors: those of read_chunk(), for
    /// every chunk now; bytes are read later.
    static Result<PieceReader> open(const ProcessTrace& process, const Segment& segment);
    PieceReader(PieceReader&& other) noexcept;
    PieceReader& operator=(PieceReader&& other) noexcept;
    ~PieceReader();

    /// The next bytes, valid until the next call; none at the end. Errors: kIo, kCorrupt (a file is
    /// shorter now than when it was opened).
    Result<std::span<const std::byte>> next();
    /// Everything was given.
    bool at_end() const { return given_ == bytes_; }
    /// From the beginning again.
    void rewind();
    std::uint64_t bytes() const { return bytes_; } ///< of all files

  private:
    PieceReader() = default;
    struct File {
        std::string path;
        std::uint64_t bytes = 0;
    };
    void close();

    std::vector<File> files_;
    std::uint64_t bytes_ = 0, given_ = 0;
    std::size_t file_ = 0;     ///< the one being read
    std::uint64_t offset_ = 0; ///< in it
    int descriptor_ = -1;      ///< of it, once open
    std::vector<std::byte> piece_;
};

} // namespace wavetap::store
