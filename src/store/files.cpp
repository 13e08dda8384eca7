// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "store/files.hpp"

#include "base/units.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace wavetap::store {

namespace {

class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return value_; }

  private:
    int value_;
};

} // namespace

Error io_error(const std::string& what, const std::string& path, int error_number) {
    return Error{ErrorCode::kIo, what + ": " + std::generic_category().message(error_number), path,
                 error_number == ENOSPC ? "free some space on that disk" : ""};
}

Result<void> write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return io_error("cannot write", path, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Result<NewFile> NewFile::create(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == EEXIST)
        return Error{ErrorCode::kWrongState, "the file exists already", path, ""};
    if (descriptor < 0) return io_error("cannot make the file", path, errno);
    return NewFile(path, descriptor);
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

NewFile::~NewFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(path_.c_str());
}

Result<void> NewFile::write(std::span<const std::byte> bytes) {
    return write_all(descriptor_, bytes, path_);
}

Result<void> NewFile::finish() {
    if (::close(std::exchange(descriptor_, -1)) == 0) return {};
    const int error = errno;
    ::unlink(path_.c_str());
    return io_error("cannot write", path_, error);
}

Result<void> write_new_file(const std::string& path, std::span<const std::byte> bytes) {
    WAVETAP_TRY(NewFile file, NewFile::create(path));
    WAVETAP_CHECK_OK(file.write(bytes));
    return file.finish();
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (file.get() < 0 && errno == ENOENT)
        return Error{ErrorCode::kNotFound, "there is no such file", path, ""};
    if (file.get() < 0) return io_error("cannot open", path, errno);
    struct stat status = {};
    if (::fstat(file.get(), &status) != 0) return io_error("cannot read", path, errno);
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kIo, "not a regular file", path, ""};

    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return io_error("cannot read", path, errno);
        if (count == 0) break; // somebody shortened it meanwhile
        filled += static_cast<std::size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
}

Result<void> make_directories(const std::string& path) {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    if (code) return io_error("cannot make the folder", path, code.value());
    return {};
}

bool is_safe_relative_path(std::string_view path) {
    if (path.empty() || path.front() == '/') return false;
    for (const char c : path) {
        if (static_cast<unsigned char>(c) < 0x20) return false;
    }
    for (const std::string_view part : split(path, '/')) {
        if (part.empty() || part == "." || part == "..") return false;
    }
    return true;
}

} // namespace wavetap::store
