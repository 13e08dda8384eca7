// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "store/pieces.hpp"

#include "store/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace wavetap::store {
namespace {

/// Errors: kNotFound, kIo.
Result<std::uint64_t> size_of(const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT) return Error{ErrorCode::kNotFound, "there is no such file", path, ""};
        return io_error("cannot open", path, errno);
    }
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kIo, "not a regular file", path, ""};
    return static_cast<std::uint64_t>(status.st_size);
}

} // namespace

Result<PieceReader> PieceReader::open(const std::string& path) {
    PieceReader reader;
    WAVETAP_TRY(reader.bytes_, size_of(path));
    reader.files_.push_back({path, reader.bytes_});
    return reader;
}

Result<PieceReader> PieceReader::open(const ProcessTrace& process, const Segment& segment) {
    PieceReader reader;
    for (const ChunkInfo* chunk : segment) {
        WAVETAP_CHECK_OK(check_chunk(process, *chunk));
        reader.files_.push_back({process.dir + "/" + chunk->file, chunk->bytes});
        reader.bytes_ += chunk->bytes;
    }
    return reader;
}

PieceReader::PieceReader(PieceReader&& other) noexcept
    : files_(std::move(other.files_)), bytes_(other.bytes_), given_(other.given_),
      file_(other.file_), offset_(other.offset_), descriptor_(std::exchange(other.descriptor_, -1)),
      piece_(std::move(other.piece_)) {}

PieceReader& PieceReader::operator=(PieceReader&& other) noexcept {
    if (this == &other) return *this;
    close();
    files_ = std::move(other.files_);
    bytes_ = other.bytes_;
    given_ = other.given_;
    file_ = other.file_;
    offset_ = other.offset_;
    descriptor_ = std::exchange(other.descriptor_, -1);
    piece_ = std::move(other.piece_);
    return *this;
}

PieceReader::~PieceReader() {
    close();
}

void PieceReader::close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

void PieceReader::rewind() {
    close();
    given_ = 0;
    file_ = 0;
    offset_ = 0;
}

Result<std::span<const std::byte>> PieceReader::next() {
    while (file_ < files_.size() && offset_ == files_[file_].bytes) {
        close();
        ++file_;
        offset_ = 0;
    }
    if (file_ == files_.size()) return std::span<const std::byte>();
    const File& file = files_[file_];
    if (descriptor_ < 0) {
        descriptor_ = ::open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor_ < 0) return io_error("cannot open", file.path, errno);
    }
    piece_.resize(kPieceBytes);
    const std::size_t wanted = std::min<std::uint64_t>(kPieceBytes, file.bytes - offset_);
    std::size_t filled = 0;
    while (filled < wanted) {
        const ssize_t count = ::read(descriptor_, piece_.data() + filled, wanted - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return io_error("cannot read", file.path, errno);
        if (count == 0)
            return Error{ErrorCode::kCorrupt,
                         "the file was shortened to " + std::to_string(offset_ + filled) +
                             " bytes while it was read",
                         file.path, ""};
        filled += static_cast<std::size_t>(count);
    }
    offset_ += filled;
    given_ += filled;
    return std::span<const std::byte>(piece_).first(filled);
}

} // namespace wavetap::store
