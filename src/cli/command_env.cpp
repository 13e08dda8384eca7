// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/gpu.hpp"
#include "cli/options.hpp"

#include <fmt/core.h>

#include <memory>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"text(Examples:
  eval "$(wavetap env --gpu soft:gfx90a)" && ctest     every program of this shell sees the GPU
  wavetap env --gpu soft:gfx90a > gpu.sh               to be sourced by other scripts)text";

std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

int print_exports(const std::string& gpu_text) {
    if (gpu_text.empty())
        return fail({ErrorCode::kInvalidArgument, "no GPU given", "", "add --gpu soft:gfx90a"},
                    kUsage);
    const Result<SoftwareGpu> gpu = parse_gpu(gpu_text);
    if (!gpu) return fail(gpu.error(), kUsage);
    const Result<Variables> variables = software_gpu_variables(*gpu);
    if (!variables) return fail(variables.error(), kFailed);
    for (const auto& [name, value] : *variables)
        fmt::print("export {}={}\n", name, quoted(value));
    return kGood;
}

} // namespace

void add_env(CLI::App& app, Session& session) {
    Command command(app, "env", "print what `run` sets, as exports for sh (ctest, gdb, pytest)");
    const auto gpu = std::make_shared<std::string>();
    command.option("--gpu", *gpu, "software GPU, one chip an agent", "soft:CHIP[,CHIP...]");
    command.footer(kFooter);
    command.callback([gpu, &session] { session.status = print_exports(*gpu); });
}

} // namespace wavetap::cli
