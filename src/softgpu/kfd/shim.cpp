// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// libwavetap-softgpu.so, the preload library: overrides the functions of intercepts.inc, answers
// for the names of virtual_files.hpp, and loads the engine library when one of them needs it. A
// process that touches no GPU pays a comparison of a few characters an open(). No C++ runtime.
//
// Every override passes calls that are not ours to the next definition; errno is touched only on
// failure.

#include "softgpu/kfd/real.hpp"
#include "softgpu/kfd/shim_engine.hpp"
#include "softgpu/kfd/shim_next.hpp"
#include "softgpu/kfd/shim_nodes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace wavetap::softgpu::kfd;

namespace {

FILE* open_stream(const char* path, const char* mode, FILE* (*next)(const char*, const char*)) {
    const bool writes = strpbrk(mode, "wa+") != nullptr;
    const int flags = (writes ? O_RDWR : O_RDONLY) | (strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
    const int fd = open_node(AT_FDCWD, path, flags);
    if (fd == kPass) return next(path, mode);
    if (fd < 0) return nullptr;
    FILE* const stream = fdopen(fd, mode);
    if (stream == nullptr) real::close(fd);
    return stream;
}

/// Stands in for a DIR; told apart by its address.
struct VirtualDir {
    std::atomic<bool> used{false};
    int fd = -1;
    size_t position = 0;
    char path[sizeof Node::path];
    union {
        dirent entry;
        dirent64 entry64;
    };
};
constexpr unsigned kVirtualDirs = 64;
VirtualDir g_dirs[kVirtualDirs];

VirtualDir* virtual_dir(DIR* dir) {
    auto* const candidate = reinterpret_cast<VirtualDir*>(dir);
    return candidate >= g_dirs && candidate < g_dirs + kVirtualDirs ? candidate : nullptr;
}

DIR* make_dir(const char* path, int fd) {
    for (VirtualDir& dir : g_dirs) {
        if (dir.used.exchange(true)) continue;
        dir.fd = fd;
        dir.position = 0;
        strcpy(dir.path, path);
        return reinterpret_cast<DIR*>(&dir);
    }
    errno = EMFILE;
    return nullptr;
}

template <class Entry> Entry* next_entry(VirtualDir& dir, Entry& entry) {
    bool is_folder = false;
    const EngineAbi* const abi = needs_engine(dir.path) ? engine() : nullptr;
    if (!folder_entry(dir.path, abi, dir.position, entry.d_name, sizeof entry.d_name, is_folder))
        return nullptr;
    ++dir.position;
    entry.d_ino = dir.position + 1000;
    entry.d_off = static_cast<decltype(entry.d_off)>(dir.position);
    entry.d_reclen = sizeof entry;
    entry.d_type = is_folder ? DT_DIR : DT_REG;
    return &entry;
}

mode_t mode_argument(int flags, va_list arguments) {
    const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return creates ? va_arg(arguments, mode_t) : 0;
}

} // namespace

#define WAVETAP_MODE(flags)                                                                        \
    va_list arguments;                                                                             \
    va_start(arguments, flags);                                                                    \
    const mode_t mode = mode_argument(flags, arguments);                                           \
    va_end(arguments)

WAVETAP_OVERRIDE int open(const char* path, int flags, ...) {
    WAVETAP_MODE(flags);
    const int fd = open_node(AT_FDCWD, path, flags);
    return fd != kPass ? fd : next_open()(path, flags, mode);
}
WAVETAP_OVERRIDE int open64(const char* path, int flags, ...) {
    WAVETAP_MODE(flags);
    const int fd = open_node(AT_FDCWD, path, flags);
    return fd != kPass ? fd : next_open64()(path, flags, mode);
}
WAVETAP_OVERRIDE int openat(int folder, const char* path, int flags, ...) {
    WAVETAP_MODE(flags);
    const int fd = open_node(folder, path, flags);
    return fd != kPass ? fd : next_openat()(folder, path, flags, mode);
}
WAVETAP_OVERRIDE int openat64(int folder, const char* path, int flags, ...) {
    WAVETAP_MODE(flags);
    const int fd = open_node(folder, path, flags);
    return fd != kPass ? fd : next_openat64()(folder, path, flags, mode);
}
WAVETAP_OVERRIDE int __open_2(const char* path, int flags) {
    const int fd = open_node(AT_FDCWD, path, flags);
    return fd != kPass ? fd : next___open_2()(path, flags);
}
WAVETAP_OVERRIDE int __open64_2(const char* path, int flags) {
    const int fd = open_node(AT_FDCWD, path, flags);
    return fd != kPass ? fd : next___open64_2()(path, flags);
}
WAVETAP_OVERRIDE int __openat_2(int folder, const char* path, int flags) {
    const int fd = open_node(folder, path, flags);
    return fd != kPass ? fd : next___openat_2()(folder, path, flags);
}
WAVETAP_OVERRIDE int __openat64_2(int folder, const char* path, int flags) {
    const int fd = open_node(folder, path, flags);
    return fd != kPass ? fd : next___openat64_2()(folder, path, flags);
}
WAVETAP_OVERRIDE FILE* fopen(const char* path, const char* mode) {
    return open_stream(path, mode, next_fopen());
}
WAVETAP_OVERRIDE FILE* fopen64(const char* path, const char* mode) {
    return open_stream(path, mode, next_fopen64());
}

WAVETAP_OVERRIDE int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    const unsigned type = _IOC_TYPE(request);
    const EngineAbi* const ours = type == 'K' || type == 'd' ? owner_of(fd) : nullptr;
    if (ours == nullptr) return next_ioctl()(fd, request, argument);
    const int saved = errno;
    const int answer = ours->ioctl(fd, request, argument);
    errno = saved;
    return answer < 0 ? fail(-answer) : answer;
}

WAVETAP_OVERRIDE int access(const char* path, int how) noexcept {
    const Node node = resolve(AT_FDCWD, path);
    if (node.kind == NodeKind::kForeign) return next_access()(path, how);
    if (node.kind == NodeKind::kMissing) return fail(ENOENT);
    const bool denied = (how & W_OK) != 0 && node.kind != NodeKind::kDevice;
    return denied || ((how & X_OK) != 0 && node.kind != NodeKind::kFolder) ? fail(EACCES) : 0;
}
WAVETAP_OVERRIDE int stat(const char* path, struct stat* out) noexcept {
    const int answer = stat_node(AT_FDCWD, path, out);
    return answer != kPass ? answer : next_stat()(path, out);
}
WAVETAP_OVERRIDE int stat64(const char* path, struct stat64* out) noexcept {
    const int answer = stat_node(AT_FDCWD, path, out);
    return answer != kPass ? answer : next_stat64()(path, out);
}
WAVETAP_OVERRIDE int lstat(const char* path, struct stat* out) noexcept {
    const int answer = stat_node(AT_FDCWD, path, out);
    return answer != kPass ? answer : next_lstat()(path, out);
}
WAVETAP_OVERRIDE int lstat64(const char* path, struct stat64* out) noexcept {
    const int answer = stat_node(AT_FDCWD, path, out);
    return answer != kPass ? answer : next_lstat64()(path, out);
}
WAVETAP_OVERRIDE int fstatat(int folder, const char* path, struct stat* out, int flags) noexcept {
    const int answer = stat_node(folder, path, out);
    return answer != kPass ? answer : next_fstatat()(folder, path, out, flags);
}
WAVETAP_OVERRIDE int fstatat64(int folder, const char* path, struct stat64* out,
                               int flags) noexcept {
    const int answer = stat_node(folder, path, out);
    return answer != kPass ? answer : next_fstatat64()(folder, path, out, flags);
}
WAVETAP_OVERRIDE int statx(int folder, const char* path, int flags, unsigned mask,
                           struct statx* out) noexcept {
    const int answer = statx_node(folder, path, out);
    return answer != kPass ? answer : next_statx()(folder, path, flags, mask, out);
}
WAVETAP_OVERRIDE ssize_t readlink(const char* path, char* out, size_t size) noexcept {
    const ssize_t answer = read_link(AT_FDCWD, path);
    return answer != kPass ? answer : next_readlink()(path, out, size);
}
WAVETAP_OVERRIDE ssize_t readlinkat(int folder, const char* path, char* out, size_t size) noexcept {
    const ssize_t answer = read_link(folder, path);
    return answer != kPass ? answer : next_readlinkat()(folder, path, out, size);
}
WAVETAP_OVERRIDE char* realpath(const char* path, char* out) noexcept {
    bool ours = false;
    char* const answer = real_path(path, out, &ours);
    return ours ? answer : next_realpath()(path, out);
}
WAVETAP_OVERRIDE char* __realpath_chk(const char* path, char* out, size_t size) noexcept {
    bool ours = false;
    char* const answer = size < sizeof Node::path ? nullptr : real_path(path, out, &ours);
    return ours ? answer : next___realpath_chk()(path, out, size);
}
WAVETAP_OVERRIDE char* canonicalize_file_name(const char* path) noexcept {
    bool ours = false;
    char* const answer = real_path(path, nullptr, &ours);
    return ours ? answer : next_canonicalize_file_name()(path);
}

WAVETAP_OVERRIDE DIR* opendir(const char* path) {
    const Node node = resolve(AT_FDCWD, path);
    switch (node.kind) {
    case NodeKind::kForeign:
        return next_opendir()(path);
    case NodeKind::kMissing:
        return fail(ENOENT), nullptr;
    case NodeKind::kFolder:
        return make_dir(node.path, -1);
    default:
        return fail(ENOTDIR), nullptr;
    }
}
WAVETAP_OVERRIDE DIR* fdopendir(int fd) {
    const char* const path = folder_of(fd);
    return path != nullptr ? make_dir(path, fd) : next_fdopendir()(fd);
}
WAVETAP_OVERRIDE struct dirent* readdir(DIR* dir) {
    VirtualDir* const ours = virtual_dir(dir);
    return ours != nullptr ? next_entry(*ours, ours->entry) : next_readdir()(dir);
}
WAVETAP_OVERRIDE struct dirent64* readdir64(DIR* dir) {
    VirtualDir* const ours = virtual_dir(dir);
    return ours != nullptr ? next_entry(*ours, ours->entry64) : next_readdir64()(dir);
}
WAVETAP_OVERRIDE void rewinddir(DIR* dir) noexcept {
    if (VirtualDir* const ours = virtual_dir(dir))
        ours->position = 0;
    else
        next_rewinddir()(dir);
}
WAVETAP_OVERRIDE long telldir(DIR* dir) noexcept {
    VirtualDir* const ours = virtual_dir(dir);
    return ours != nullptr ? static_cast<long>(ours->position) : next_telldir()(dir);
}
WAVETAP_OVERRIDE void seekdir(DIR* dir, long position) noexcept {
    if (VirtualDir* const ours = virtual_dir(dir))
        ours->position = static_cast<size_t>(position);
    else
        next_seekdir()(dir, position);
}
WAVETAP_OVERRIDE int dirfd(DIR* dir) noexcept {
    VirtualDir* const ours = virtual_dir(dir);
    if (ours == nullptr) return next_dirfd()(dir);
    if (ours->fd < 0) ours->fd = open_folder(ours->path, O_RDONLY | O_CLOEXEC);
    return ours->fd;
}
WAVETAP_OVERRIDE int closedir(DIR* dir) {
    VirtualDir* const ours = virtual_dir(dir);
    if (ours == nullptr) return next_closedir()(dir);
    if (ours->fd >= 0) real::close(ours->fd);
    ours->used.store(false);
    return 0;
}
