// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/output.hpp"

#include "softgpu/kfd/real.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace wavetap::softgpu::kfd {

void report(const std::string& message) {
    const std::string line = "wavetap-softgpu: " + message + "\n";
    if (real::write(STDERR_FILENO, line.data(), line.size()) < 0) return; // nobody to tell
}

CallLog::CallLog(const std::string& path) {
    if (path.empty()) return;
    fd_ = real::open_file(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0) report("cannot write the log " + path + ": " + strerror(errno));
}

void CallLog::line(const std::string& text) const {
    if (fd_ < 0) return;
    using namespace std::chrono;
    const auto now = duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
    char head[64];
    const int size =
        std::snprintf(head, sizeof head, "%lld.%06lld %ld:%ld ", now / 1'000'000LL,
                      now % 1'000'000LL, static_cast<long>(getpid()), syscall(SYS_gettid));
    const std::string line = std::string(head, static_cast<std::size_t>(size)) + text + "\n";
    if (real::write(fd_, line.data(), line.size()) < 0) return;
}

} // namespace wavetap::softgpu::kfd
