// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/counters.hpp"

#include "softgpu/kfd/real.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace wavetap::softgpu::kfd {
namespace {

constexpr int kMaxFrames = 128;

std::string_view file_name(const char* path) {
    const std::string_view text(path);
    return text.substr(text.rfind('/') + 1);
}

bool is_plumbing(std::string_view library) {
    for (const std::string_view prefix :
         {"libc.so", "libc-", "libstdc++.so", "libpthread", "ld-linux", "libwavetap-softgpu"})
        if (library.starts_with(prefix)) return true;
    return false;
}

bool is_wavetap(std::string_view library) {
    return library.starts_with("libwavetap-tool.so") || library.starts_with("libwavetap.so");
}

} // namespace

Owner owner_of_this_thread() {
    void* frames[kMaxFrames];
    const int count = backtrace(frames, kMaxFrames);
    for (int i = count - 1; i >= 0; --i) {
        Dl_info info{};
        if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
        const std::string_view library = file_name(info.dli_fname);
        if (is_plumbing(library)) continue;
        return is_wavetap(library) ? Owner::kWavetap : Owner::kApplication;
    }
    return Owner::kApplication;
}

namespace {

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

std::string by_owner(const std::uint64_t (&created)[3]) {
    return "{\"application\": " + number(created[0]) + ", \"runtime\": " + number(created[1]) +
           ", \"wavetap\": " + number(created[2]) + "}";
}

std::string agent_json(const AgentCounters& agent) {
    return "{\"queues_peak\": " + number(agent.queues_peak) +
           ", \"queues_by_owner\": " + by_owner(agent.queues_created) +
           ", \"queues_live\": " + number(agent.queues_live) +
           ", \"vram_bytes\": " + number(agent.vram_bytes) +
           ", \"vram_peak_bytes\": " + number(agent.vram_peak_bytes) + "}";
}

} // namespace

std::string to_json(const Counters& c) {
    std::string agents;
    for (const AgentCounters& agent : c.agents)
        agents += (agents.empty() ? "" : ", ") + agent_json(agent);
    return "{\"queues_peak\": " + number(c.queues_peak) +
           ", \"queues_by_owner\": " + by_owner(c.queues_created) +
           ", \"queues_live\": " + number(c.queues_live) +
           ", \"vram_bytes\": " + number(c.vram_bytes) +
           ", \"vram_peak_bytes\": " + number(c.vram_peak_bytes) +
           ", \"buffer_objects_peak\": " + number(c.buffer_objects_peak) +
           ", \"ioctls\": " + number(c.ioctls) + ", \"instructions\": " + number(c.instructions) +
           ", \"clock\": " + number(c.clock) + ", \"agents\": [" + agents + "]}\n";
}

Result<void> write_counters(const std::string& folder, const Counters& counters) {
    const std::string path = folder + "/driver-" + std::to_string(getpid()) + ".json";
    const std::string temporary = path + ".new";
    const auto failed = [&](const char* what) {
        return Error{ErrorCode::kIo, std::string(what) + ": " + strerror(errno), path,
                     "WAVETAP_DRIVER_DIR must be a writable folder"};
    };
    const int fd = real::open_file(AT_FDCWD, temporary.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return failed("cannot write the driver's counters");
    const std::string text = to_json(counters);
    const ssize_t written = real::write(fd, text.data(), text.size());
    real::close(fd);
    if (written != static_cast<ssize_t>(text.size()))
        return failed("cannot write the driver's counters");
    if (real::rename(temporary.c_str(), path.c_str()) != 0)
        return failed("cannot replace the driver's counters");
    return {};
}

} // namespace wavetap::softgpu::kfd
