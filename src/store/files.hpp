// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The few file operations of the trace folder. All errors carry the path and the system's words.

namespace wavetap::store {

Error io_error(const std::string& what, const std::string& path, int error_number);

/// Writes all of `bytes` to `descriptor`. Errors: kIo.
Result<void> write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path);
/// A new file that is written in pieces; removed again unless it was finished. Movable resource; one
/// thread.
class NewFile {
  public:
    /// Errors: kIo; kWrongState if there is one already.
    static Result<NewFile> create(const std::string& path);
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&&) = delete;
    ~NewFile();
    /// Appends. Errors: kIo.
    Result<void> write(std::span<const std::byte> bytes);
    Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
    /// It is whole and stays. Errors: kIo.
    Result<void> finish();

  private:
    NewFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
    std::string path_;
    int descriptor_ = -1; ///< -1: finished, or moved from
};

/// Makes a new file with these bytes. Errors: kIo; kWrongState if there is one already.
Result<void> write_new_file(const std::string& path, std::span<const std::byte> bytes);
/// The whole of a regular file; never waits (a FIFO or device is refused). Errors: kNotFound, kIo.
Result<std::vector<std::byte>> read_file(const std::string& path);
/// Makes `path` and its parents; existing ones are fine. Errors: kIo.
Result<void> make_directories(const std::string& path);

/// Whether a manifest's file name stays below its folder: relative, no empty, "." or ".." part, no
/// control character.
bool is_safe_relative_path(std::string_view path);

} // namespace wavetap::store
