// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

// System calls of the preload front end that never pass through the functions it overrides.
// Each returns what the kernel's wrapper returns: -1 and errno on failure.

namespace wavetap::softgpu::kfd::real {

inline int open_file(int folder, const char* path, int flags, unsigned mode = 0) {
    return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
inline int fstat(int fd, struct ::stat* out) {
    return static_cast<int>(syscall(SYS_fstat, fd, out));
}
inline int memfd(const char* name, unsigned flags) {
    return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}
inline int rename(const char* from, const char* to) {
    return static_cast<int>(syscall(SYS_rename, from, to));
}
inline int close(int fd) {
    return static_cast<int>(syscall(SYS_close, fd));
}
inline ssize_t write(int fd, const void* data, std::size_t size) {
    return syscall(SYS_write, fd, data, size);
}

} // namespace wavetap::softgpu::kfd::real
