// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/kfd/engine_abi.hpp"

#include <cstddef>
#include <cstdint>

// The names that the preload shim answers for. No C++ runtime, no allocation, no global state.

namespace wavetap::softgpu::kfd {

enum class NodeKind : std::uint8_t {
    kForeign, ///< not ours: pass on
    kMissing, ///< in a folder of ours, but not there
    kDevice,  ///< the KFD node or a render node
    kText,
    kFolder,
};

struct Node {
    NodeKind kind = NodeKind::kForeign;
    int minor = kKfdNode;       ///< kDevice
    const char* text = nullptr; ///< kText
    bool append_real = false;   ///< kText: the real file follows (/proc/modules)
    char path[256] = {}; ///< normalised; the /sys/class spelling becomes /sys/devices/virtual
};

/// Could `path` name one of our nodes? Cheap, no look at the engine; for every open() of a process.
bool may_be_ours(const char* path);

/// Does a name that may be ours need the engine to be answered (device, topology)?
bool needs_engine(const char* path);

/// Writes the absolute path without "//", "." and "..". False if `path` is relative or too long.
bool normalise(const char* path, char* out, std::size_t size);

/// `engine` may be null: then only the names that need none are known, the others kMissing.
Node find_node(const char* path, const EngineAbi* engine);

/// Entry number `index` of folder `path` (normalised), in order; "." and ".." come first. False at
/// the end.
bool folder_entry(const char* path, const EngineAbi* engine, std::size_t index, char* name,
                  std::size_t name_size, bool& is_folder);

} // namespace wavetap::softgpu::kfd
