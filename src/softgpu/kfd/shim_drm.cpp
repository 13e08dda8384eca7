// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// libdrm's functions that runtimes call, for devices of the software GPU.

#include "softgpu/kfd/real.hpp"
#include "softgpu/kfd/shim_engine.hpp"
#include "softgpu/kfd/shim_next.hpp"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

using namespace wavetap::softgpu::kfd;

namespace {

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

/// The first members of libdrm's struct amdgpu_gpu_info, which is all that runtimes read.
struct DrmGpuInfo {
    uint32_t asic_id, chip_rev, chip_external_rev, family_id;
    uint64_t ids_flags, max_engine_clock_khz, max_memory_clock_khz;
    uint32_t shader_engines, arrays_per_engine, available_pipes, max_pipes, cache_entries;
    uint32_t hw_contexts, rb_pipes, enabled_rb_pipes_mask, counter_khz;
};
constexpr uint32_t kFamilyGfx9 = 141;

} // namespace

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
        return loaded_engine()->product_name(ours->minor);
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
