// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// What the preload shim asks of the engine library, which it loads on first use of the device.
// Plain C types: the shim has no C++ runtime.

namespace wavetap::softgpu::kfd {

/// One node of the virtual sysfs. Paths are absolute and normalised; a folder's parent is listed
/// too.
struct VirtualFile {
    const char* path;
    const char* text; ///< nullptr: a folder
};

inline constexpr std::uint32_t kEngineAbiVersion = 1;
inline constexpr int kKfdNode = -1;
inline constexpr int kFirstRenderMinor = 128;

struct EngineAbi {
    std::uint32_t version;
    std::uint32_t gpus;
    const VirtualFile* files; ///< live as long as the process
    std::size_t file_count;
    /// `minor`: kKfdNode or a render minor; `flags`: of open(). A new descriptor, or -errno.
    int (*open_device)(int minor, int flags);
    /// Is `fd` one of ours (also one inherited over fork)?
    bool (*owns)(int fd);
    /// The render minor behind `fd`; kKfdNode for the KFD node.
    int (*minor_of)(int fd);
    /// 0 or more, or -errno.
    int (*ioctl)(int fd, unsigned long request, void* argument);
    const char* (*product_name)(int minor);
    /// Puts truth and counters on disk; called when the process ends.
    void (*finish)();
};

/// Exported by the engine library. Never null; an engine that cannot run (a bad WAVETAP_GPU) has
/// said so on stderr and shows no GPU.
using EngineEntry = const EngineAbi*();
inline constexpr char kEngineEntryName[] = "wavetap_softgpu_engine";
inline constexpr char kEngineFileName[] = "libwavetap-softgpu-engine.so";

} // namespace wavetap::softgpu::kfd
