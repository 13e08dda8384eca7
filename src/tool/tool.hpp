// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "capture/process.hpp"
#include "rocr/code_objects.hpp"
#include "rocr/interceptor.hpp"
#include "tool/kernels.hpp"
#include "tool/recorder.hpp"
#include "tool/tracer.hpp"

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wavetap::tool {

/// Everything of the tool library in one process that uses ROCr. Made in OnLoad and never
/// destroyed, since ROCr and HIP call in until the process ends. Thread safe.
class Tool {
  public:
    /// Reads the configuration that WAVETAP_TOOL_CONFIG names and WAVETAP_DEADLINE_SCALE, and makes
    /// the folder. Errors: those of read_config, HsaTable, Recorder::create.
    static Result<std::unique_ptr<Tool>> create(rocr::HsaTable table, const std::string& config);

    rocr::HsaTable& table() { return table_; }
    rocr::QueueInterceptor& interceptor() { return *interceptor_; }
    hsa_status_t freeze(hsa_executable_t executable, const char* options);
    hsa_status_t destroy(hsa_executable_t executable);

    /// False in a forked child, which is not traced: its calls pass unchanged.
    bool in_own_process() const { return process_.here(); }
    /// Delivers what runs, writes the end of the folder. Idempotent; in a forked child nothing.
    void finalize();

  private:
    /// Nothing that `call` throws may reach the application or ROCr; it is counted.
    template <class Call> void guard(Call call) noexcept {
        try {
            call();
        } catch (...) {
            ++failures_;
        }
    }
    void note_executable(hsa_executable_t executable);
    Tool(rocr::HsaTable table, ToolConfig config, std::vector<rocr::GpuAgent> agents,
         rocr::CodeObjectReader reader, double deadline_scale);
    std::unique_ptr<Tracer> make_switcher() const;

    rocr::HsaTable table_;
    const ToolConfig config_;
    const std::vector<rocr::GpuAgent> agents_;
    const rocr::CodeObjectReader reader_;
    const SteadyClock clock_;
    const capture::OwnProcess process_;
    KernelTable kernels_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<Tracer> tracer_;
    std::unique_ptr<rocr::QueueInterceptor> interceptor_;
    std::atomic<std::uint64_t> failures_{0}; ///< guard(); a counter
    std::atomic<bool> finalized_{false};     ///< the first caller finalizes
    Mutex mutex_;
    /// Agent and id of each code object of a frozen executable.
    std::unordered_map<std::uint64_t, std::vector<std::pair<std::uint32_t, std::uint64_t>>>
        executables_ WAVETAP_GUARDED_BY(mutex_);
};

} // namespace wavetap::tool
