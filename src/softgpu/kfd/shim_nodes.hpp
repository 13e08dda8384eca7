// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/kfd/virtual_files.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <cstring>

namespace wavetap::softgpu::kfd {

// The names that the software GPU answers for, and descriptors that stand in for them. Thread safe.
// `folder` is what openat() takes. Functions that return int or ssize_t: kPass = not ours, the next
// definition is to answer; -1 with errno.

constexpr int kPass = -2;

/// Sets errno and returns -1.
int fail(int error);
/// What `path` is. A null or empty path is foreign.
Node resolve(int folder, const char* path);
/// The path of the virtual folder that `fd` stands for; nullptr: none of ours.
const char* folder_of(int fd);
int open_node(int folder, const char* path, int flags);
/// A descriptor that stands for the virtual folder `path`.
int open_folder(const char* path, int flags);
/// `*ours` false: not ours, and nullptr. `out` null: the result is from malloc().
char* real_path(const char* path, char* out, bool* ours);
ssize_t read_link(int folder, const char* path);

struct Status {
    mode_t mode;
    off_t size;
    ino_t inode;
    dev_t device;
};
int status_of(int folder, const char* path, Status& status);
int statx_node(int folder, const char* path, struct ::statx* out);

/// `Stat`: struct stat or stat64.
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

} // namespace wavetap::softgpu::kfd
