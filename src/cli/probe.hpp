// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cli/gpu.hpp"

#include <cstdint>
#include <string>
#include <vector>

// What the HSA runtime shows. The runtime is loaded by name in a child process (a hidden subcommand
// of wavetap itself), so that a runtime that is missing, aborts or hangs is an answer and not an end.

namespace wavetap::cli {

struct ProbedAgent {
    std::string name; ///< "gfx90a"
    std::uint32_t compute_units = 0;
    std::uint32_t shader_engines = 0;
    std::uint32_t simds_per_cu = 0;
    std::uint32_t queues_max = 0;
};

struct ProbedRuntime {
    std::string library;             ///< full path
    std::string init_failure;        ///< words, if hsa_init() failed: usual without a driver
    std::vector<ProbedAgent> agents; ///< GPUs only
};

struct ProbedAqlprofile {
    std::string library; ///< full path
    std::string version;
    bool rings = false; ///< it can trace through several buffers
};

/// Whether aqlprofile can be used: `library` as for aqlprofile::Library::open(), asked in a child.
/// Errors: those of Library::open(), kUnavailable (the child died), kTimeout.
Result<ProbedAqlprofile> probe_aqlprofile(const std::string& library);

/// Asks a child with `variables` in its environment. Errors: kNotFound (no runtime library),
/// kUnavailable (the child died; with its status), kTimeout, and those of starting a program.
Result<ProbedRuntime> probe_runtime(const Variables& variables);

} // namespace wavetap::cli
