// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <cstdio>

// The way from each function that the preload library overrides to the definition behind it. Only
// sources of that library include this.

#define WAVETAP_OVERRIDE extern "C" __attribute__((visibility("default")))

namespace wavetap::softgpu::kfd {

inline void* next_definition(std::atomic<void*>& cache, const char* name) {
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
    inline name##_function* next_##name() {                                                        \
        static std::atomic<void*> cache{nullptr};                                                  \
        return reinterpret_cast<name##_function*>(next_definition(cache, #name));                  \
    }
#include "softgpu/kfd/intercepts.inc"
#undef WAVETAP_INTERCEPT

} // namespace wavetap::softgpu::kfd
