// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/shim_nodes.hpp"

#include "softgpu/kfd/real.hpp"
#include "softgpu/kfd/shim_engine.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace wavetap::softgpu::kfd {
namespace {

// Descriptors of virtual folders: which folder each stands for, by inode. Old entries are replaced.
struct FolderIdentity {
    std::atomic<ino_t> inode{0};
    char path[sizeof Node::path];
};
constexpr unsigned kFolderIdentities = 64;
FolderIdentity g_folders[kFolderIdentities];
std::atomic<unsigned> g_folder_count{0};

} // namespace

const char* folder_of(int fd) {
    if (fd < 0 || g_folder_count.load(std::memory_order_relaxed) == 0) return nullptr;
    struct ::stat identity {};
    const int saved = errno;
    const int failed = real::fstat(fd, &identity);
    errno = saved;
    if (failed != 0) return nullptr;
    for (const FolderIdentity& folder : g_folders)
        if (folder.inode.load(std::memory_order_acquire) == identity.st_ino) return folder.path;
    return nullptr;
}

Node resolve(int folder, const char* path) {
    // libc declares the path nonnull, so gcc would drop the test at -O2; callers pass null all the same.
    asm("" : "+r"(path));
    if (path == nullptr || path[0] == '\0') return {};
    char joined[2 * sizeof Node::path];
    if (path[0] != '/' && folder != AT_FDCWD) {
        const char* base = folder_of(folder);
        if (base == nullptr) return {};
        const size_t base_size = strlen(base), path_size = strlen(path);
        if (base_size + path_size + 2 > sizeof joined) return {};
        memcpy(joined, base, base_size);
        joined[base_size] = '/';
        memcpy(joined + base_size + 1, path, path_size + 1);
        path = joined;
    }
    if (!may_be_ours(path) || is_loading() || !is_enabled()) return {};
    return find_node(path, needs_engine(path) ? engine() : nullptr);
}

int fail(int error) {
    errno = error;
    return -1;
}

namespace {

void append_real_file(int fd, const char* path) {
    const int source = real::open_file(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (source < 0) return;
    char block[4096];
    for (ssize_t size; (size = read(source, block, sizeof block)) > 0;)
        if (real::write(fd, block, static_cast<size_t>(size)) != size) break;
    real::close(source);
}

int open_text(const Node& node, int flags) {
    if ((flags & O_ACCMODE) != O_RDONLY) return fail(EACCES);
    if ((flags & O_DIRECTORY) != 0) return fail(ENOTDIR);
    const int fd = real::memfd("wavetap-sysfs", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
    if (fd < 0) return fd;
    if (real::write(fd, node.text, strlen(node.text)) < 0) return real::close(fd), fail(EIO);
    if (node.append_real) append_real_file(fd, node.path);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

} // namespace

int open_folder(const char* path, int flags) {
    if ((flags & O_ACCMODE) != O_RDONLY) return fail(EISDIR);
    const int fd = real::memfd("wavetap-folder", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
    struct ::stat identity {};
    if (fd < 0 || real::fstat(fd, &identity) != 0) return fd;
    FolderIdentity& folder = g_folders[g_folder_count.fetch_add(1) % kFolderIdentities];
    folder.inode.store(0, std::memory_order_release);
    strcpy(folder.path, path);
    folder.inode.store(identity.st_ino, std::memory_order_release);
    return fd;
}

int open_node(int folder, const char* path, int flags) {
    const Node node = resolve(folder, path);
    switch (node.kind) {
    case NodeKind::kForeign:
        return kPass;
    case NodeKind::kMissing:
        return fail(ENOENT);
    case NodeKind::kText:
        return open_text(node, flags);
    case NodeKind::kFolder:
        return open_folder(node.path, flags);
    case NodeKind::kDevice:
        break;
    }
    const int fd = engine()->open_device(node.minor, flags);
    return fd < 0 ? fail(-fd) : fd;
}

int status_of(int folder, const char* path, Status& status) {
    const Node node = resolve(folder, path);
    if (node.kind == NodeKind::kForeign) return kPass;
    if (node.kind == NodeKind::kMissing) return fail(ENOENT);
    status = {};
    ino_t hash = 14695981039346656037u;
    for (const char* c = node.path; *c != '\0'; ++c)
        hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211u;
    status.inode = hash >> 16;
    if (node.kind == NodeKind::kDevice) {
        status.mode = S_IFCHR | 0666;
        status.device = node.minor == kKfdNode ? makedev(510, 0)
                                               : makedev(226, static_cast<unsigned>(node.minor));
    } else if (node.kind == NodeKind::kFolder) {
        status.mode = S_IFDIR | 0555;
    } else {
        status.mode = S_IFREG | 0444;
        status.size = static_cast<off_t>(strlen(node.text));
    }
    return 0;
}

int statx_node(int folder, const char* path, struct ::statx* out) {
    Status status;
    const int answer = status_of(folder, path, status);
    if (answer != 0) return answer;
    memset(static_cast<void*>(out), 0, sizeof *out);
    out->stx_mask = STATX_BASIC_STATS;
    out->stx_mode = static_cast<uint16_t>(status.mode);
    out->stx_size = static_cast<uint64_t>(status.size);
    out->stx_ino = status.inode;
    out->stx_nlink = 1;
    out->stx_blksize = 4096;
    out->stx_rdev_major = major(status.device);
    out->stx_rdev_minor = minor(status.device);
    return 0;
}

char* real_path(const char* path, char* out, bool* ours) {
    const Node node = resolve(AT_FDCWD, path);
    *ours = node.kind != NodeKind::kForeign;
    if (!*ours) return nullptr;
    if (node.kind == NodeKind::kMissing) return fail(ENOENT), nullptr;
    if (out == nullptr) return strdup(node.path);
    return strcpy(out, node.path);
}

ssize_t read_link(int folder, const char* path) {
    const Node node = resolve(folder, path);
    if (node.kind == NodeKind::kForeign) return kPass;
    return fail(node.kind == NodeKind::kMissing ? ENOENT : EINVAL);
}

} // namespace wavetap::softgpu::kfd
