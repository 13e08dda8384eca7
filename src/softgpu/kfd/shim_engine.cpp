// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/shim_engine.hpp"

#include "softgpu/kfd/real.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wavetap::softgpu::kfd {
namespace {

std::atomic<const EngineAbi*> g_engine{nullptr};
std::atomic<bool> g_engine_failed{false};
pthread_mutex_t g_engine_mutex = PTHREAD_MUTEX_INITIALIZER;
thread_local bool t_loading = false;
char g_library_path[4096];

} // namespace

bool is_enabled() {
    const char* gpu = getenv("WAVETAP_GPU");
    return gpu != nullptr && gpu[0] != '\0';
}

bool is_loading() {
    return t_loading;
}

namespace {

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

} // namespace

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

const EngineAbi* loaded_engine() {
    return g_engine.load(std::memory_order_acquire);
}

const EngineAbi* owner_of(int fd) {
    const EngineAbi* const ready = loaded_engine();
    if (ready == nullptr) return nullptr;
    const int saved = errno;
    const bool ours = ready->owns(fd);
    errno = saved;
    return ours ? ready : nullptr;
}

namespace {

__attribute__((destructor)) void finish_engine() {
    if (const EngineAbi* ready = loaded_engine()) ready->finish();
}

} // namespace

} // namespace wavetap::softgpu::kfd
