// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/kfd/engine_abi.hpp"

namespace wavetap::softgpu::kfd {

// The engine library as the preload library sees it. Thread safe; errno stays as it was.

/// Whether this process has a software GPU (WAVETAP_GPU is set and not empty).
bool is_enabled();
/// Whether this thread is loading the engine: what it opens then is never ours.
bool is_loading();
/// Loads the engine with the first call. nullptr: it cannot be loaded, which was said on the error
/// stream once, or this thread is loading it.
const EngineAbi* engine();
/// nullptr: nothing needed it so far.
const EngineAbi* loaded_engine();
/// The engine if `fd` is one of its descriptors, else nullptr.
const EngineAbi* owner_of(int fd);

} // namespace wavetap::softgpu::kfd
