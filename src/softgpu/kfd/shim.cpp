// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// libwavetap-softgpu.so, the preload library: overrides the functions of intercepts.inc, answers
// for the names of virtual_files.hpp, and loads the engine library when one of them needs it. A
// process that touches no GPU pays a comparison of a few characters an open(). No C++ runtime.
//
// Every override passes calls that are not ours to the next definition; errno is touched only on
// failure.

#include "softgpu/kfd/engine_abi.hpp"
#include "softgpu/kfd/real.hpp"
#include "softgpu/kfd/virtual_files.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wavetap::softgpu::kfd {
namespace {

void* next_definition(std::atomic<void*>& cache, const char* name) {
    void* found = cache.load(std::memory_order_relaxed);
    if (found == nullptr) {
        found = dlsym(RTLD_NEXT, name);
        cache.store(found, std::memory_order_relaxed);
    }
    return found;
}

// next_NAME(): the definition behind ours; null only for libdrm's when that is not loaded.
#define WAVETAP_INTERCEPT(name, result, parameters)                                                \
    using name##_function = result parameters;                                                     \
    [[maybe_unused]] name##_function* next_##name() {                                              \
        static std::atomic<void*> cache{nullptr};                                                  \
        return reinterpret_cast<name##_function*>(next_definition(cache, #name));                  \
    }
#include "softgpu/kfd/intercepts.inc"
#undef WAVETAP_INTERCEPT

// ---- engine --------------------------------------------------------------------------------

std::atomic<const EngineAbi*> g_engine{nullptr};
std::atomic<bool> g_engine_failed{false};
pthread_mutex_t g_engine_mutex = PTHREAD_MUTEX_INITIALIZER;
thread_local bool t_loading = false;
char g_library_path[4096];

bool is_enabled() {
    const char* gpu = getenv("WAVETAP_GPU");
    return gpu != nullptr && gpu[0] != '\0';
}

void complain(const char* what, const char* detail) {
    char line[1024];
    const int size = snprintf(line, sizeof line, "wavetap-softgpu: %s: %s\n", what, detail);
    if (size > 0 && real::write(STDERR_FILENO, line, strnlen(line, sizeof line)) < 0) return;
}

// The path of this library, made absolute while the folder it was named from is still current.
__attribute__((constructor)) void remember_own_path() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&remember_own_path), &info) == 0) return;
    if (info.dli_fname[0] == '/') {
        strncpy(g_library_path, info.dli_fname, sizeof g_library_path - 1);
    } else if (getcwd(g_library_path, sizeof g_library_path / 2) != nullptr) {
        strcat(g_library_path, "/");
        strncat(g_library_path, info.dli_fname, sizeof g_library_path / 2 - 2);
    }
}

const EngineAbi* open_engine() {
    char path[sizeof g_library_path + sizeof kEngineFileName];
    strcpy(path, g_library_path);
    char* const slash = strrchr(path, '/');
    if (slash == nullptr) {
        complain("cannot find the engine", "the path of libwavetap-softgpu.so is unknown");
        return nullptr;
    }
    strcpy(slash + 1, kEngineFileName);
    void* const library = dlopen(path, RTLD_LOCAL | RTLD_NOW);
    if (library == nullptr) {
        complain("cannot load the engine", dlerror());
        return nullptr;
    }
    auto* const entry = reinterpret_cast<EngineEntry*>(dlsym(library, kEngineEntryName));
    const EngineAbi* const abi = entry != nullptr ? entry() : nullptr;
    if (abi == nullptr || abi->version != kEngineAbiVersion) {
        complain("the engine does not fit this libwavetap-softgpu.so", path);
        return nullptr;
    }
    return abi;
}

const EngineAbi* engine() {
    if (const EngineAbi* ready = g_engine.load(std::memory_order_acquire)) return ready;
    if (t_loading || g_engine_failed.load()) return nullptr;
    const int saved = errno;
    pthread_mutex_lock(&g_engine_mutex);
    const EngineAbi* ready = g_engine.load(std::memory_order_acquire);
    if (ready == nullptr && !g_engine_failed.load()) {
        t_loading = true;
        ready = open_engine();
        t_loading = false;
        g_engine_failed.store(ready == nullptr);
        g_engine.store(ready, std::memory_order_release);
    }
    pthread_mutex_unlock(&g_engine_mutex);
    errno = saved;
    return ready;
}

__attribute__((destructor)) void finish_engine() {
    if (const EngineAbi* ready = g_engine.load()) ready->finish();
}

// ---- names ---------------------------------------------------------------------------------

// Descriptors of virtual folders: which folder each stands for, by inode. Old entries are replaced.
struct FolderIdentity {
    std::atomic<ino_t> inode{0};
    char path[sizeof Node::path];
};
constexpr unsigned kFolderIdentities = 64;
FolderIdentity g_folders[kFolderIdentities];
std::atomic<unsigned> g_folder_count{0};

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

// A null or empty path is the next definition's business.
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
    if (!may_be_ours(path) || t_loading || !is_enabled()) return {};
    return find_node(path, needs_engine(path) ? engine() : nullptr);
}

int fail(int error) {
    errno = error;
    return -1;
}

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

// -2: not ours.
constexpr int kPass = -2;

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

struct Status {
    mode_t mode;
    off_t size;
    ino_t inode;
    dev_t device;
};

// 0: ours and there; kPass; -1 with errno.
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

template <class Stat> int stat_node(int folder, const char* path, Stat* out) {
    Status status;
    const int answer = status_of(folder, path, status);
    if (answer != 0) return answer;
    memset(static_cast<void*>(out), 0, sizeof *out);
    out->st_mode = status.mode;
    out->st_size = status.size;
    out->st_ino = status.inode;
    out->st_rdev = status.device;
    out->st_nlink = 1;
    out->st_blksize = 4096;
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

// nullptr with *ours = false: not ours.
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

// ---- folders -------------------------------------------------------------------------------

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

// ---- devices of libdrm ---------------------------------------------------------------------

struct DrmDevice {
    std::atomic<bool> used{false};
    int fd = -1;
    int minor = 0;
};
constexpr unsigned kDrmDevices = 64;
DrmDevice g_drm_devices[kDrmDevices];

DrmDevice* drm_device(void* handle) {
    auto* const candidate = static_cast<DrmDevice*>(handle);
    return candidate >= g_drm_devices && candidate < g_drm_devices + kDrmDevices ? candidate
                                                                                 : nullptr;
}

const EngineAbi* owner_of(int fd) {
    const EngineAbi* const ready = g_engine.load(std::memory_order_acquire);
    if (ready == nullptr) return nullptr;
    const int saved = errno;
    const bool ours = ready->owns(fd);
    errno = saved;
    return ours ? ready : nullptr;
}

/// The first members of libdrm's struct amdgpu_gpu_info, which is all that runtimes read.
struct DrmGpuInfo {
    uint32_t asic_id, chip_rev, chip_external_rev, family_id;
    uint64_t ids_flags, max_engine_clock_khz, max_memory_clock_khz;
    uint32_t shader_engines, arrays_per_engine, available_pipes, max_pipes, cache_entries;
    uint32_t hw_contexts, rb_pipes, enabled_rb_pipes_mask, counter_khz;
};
constexpr uint32_t kFamilyGfx9 = 141;

mode_t mode_argument(int flags, va_list arguments) {
    const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return creates ? va_arg(arguments, mode_t) : 0;
}

} // namespace
} // namespace wavetap::softgpu::kfd

// ---- overrides -----------------------------------------------------------------------------

using namespace wavetap::softgpu::kfd;

#define WAVETAP_OVERRIDE extern "C" __attribute__((visibility("default")))
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

WAVETAP_OVERRIDE int amdgpu_device_initialize(int fd, uint32_t* major_version,
                                              uint32_t* minor_version, void** handle) {
    const EngineAbi* const ours = owner_of(fd);
    if (ours == nullptr) {
        auto* const next = next_amdgpu_device_initialize();
        return next != nullptr ? next(fd, major_version, minor_version, handle) : -ENOSYS;
    }
    for (DrmDevice& device : g_drm_devices) {
        if (device.used.exchange(true)) continue;
        device.minor = ours->minor_of(fd);
        device.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        *major_version = 3;
        *minor_version = 49;
        *handle = &device;
        return 0;
    }
    return -ENOMEM;
}
WAVETAP_OVERRIDE int amdgpu_device_deinitialize(void* handle) {
    DrmDevice* const ours = drm_device(handle);
    if (ours == nullptr) {
        auto* const next = next_amdgpu_device_deinitialize();
        return next != nullptr ? next(handle) : -ENOSYS;
    }
    if (ours->fd >= 0) real::close(ours->fd);
    ours->used.store(false);
    return 0;
}
WAVETAP_OVERRIDE int amdgpu_device_get_fd(void* handle) {
    if (const DrmDevice* const ours = drm_device(handle)) return ours->fd;
    auto* const next = next_amdgpu_device_get_fd();
    return next != nullptr ? next(handle) : -1;
}
WAVETAP_OVERRIDE const char* amdgpu_get_marketing_name(void* handle) {
    if (const DrmDevice* const ours = drm_device(handle))
        return g_engine.load()->product_name(ours->minor);
    auto* const next = next_amdgpu_get_marketing_name();
    return next != nullptr ? next(handle) : nullptr;
}
WAVETAP_OVERRIDE int amdgpu_query_gpu_info(void* handle, void* out) {
    if (drm_device(handle) == nullptr) {
        auto* const next = next_amdgpu_query_gpu_info();
        return next != nullptr ? next(handle, out) : -ENOSYS;
    }
    DrmGpuInfo info{};
    info.asic_id = 0x740c;
    info.family_id = kFamilyGfx9;
    info.max_engine_clock_khz = 1'700'000;
    info.counter_khz = 100'000;
    memcpy(out, &info, sizeof info);
    return 0;
}
