// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/gpu.hpp"
#include "cli/options.hpp"
#include "cli/process.hpp"

#include <memory>

namespace wavetap::cli {

namespace {

constexpr const char* kFooter = R"(Examples:
  wavetap run --gpu soft:gfx90a -- rocminfo
  wavetap run --gpu soft:gfx90a -- ./saxpy 1024
Returns the program's own exit code; 125 if wavetap failed, 126 / 127 if the program cannot be
executed / is not there.)";

int run(const std::string& gpu_text, const std::vector<std::string>& program) {
    if (program.empty())
        return fail({ErrorCode::kInvalidArgument, "no program given", "",
                     "write it behind --, as in `wavetap run --gpu soft:gfx90a -- rocminfo`"},
                    kUsage);
    if (gpu_text.empty())
        return fail({ErrorCode::kInvalidArgument, "no GPU given", "", "add --gpu soft:gfx90a"},
                    kUsage);
    const Result<SoftwareGpu> gpu = parse_gpu(gpu_text);
    if (!gpu) return fail(gpu.error(), kUsage);
    const Result<Variables> variables = software_gpu_variables(*gpu);
    if (!variables) return fail(variables.error(), kFailed);
    const Error error = become(program, *variables);
    return fail(error, exit_code_of(error));
}

} // namespace

void add_run(CLI::App& app, Session& session) {
    Command command(app, "run", "run a ROCr or HIP program on the software GPU");
    const auto gpu = std::make_shared<std::string>();
    command.option("--gpu", *gpu, "software GPU, one chip an agent", "soft:CHIP[,CHIP...]");
    command.footer(kFooter);
    command.callback([gpu, &session] { session.status = run(*gpu, session.program); });
}

} // namespace wavetap::cli
