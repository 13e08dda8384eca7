// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "rocr/hsa_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wavetap::rocr {

/// A code object that ROCr's loader placed in an agent's memory. A value.
struct LoadedCodeObject {
    hsa_agent_t agent{};
    std::uint64_t load_delta = 0; ///< address in memory = load_delta + ELF address
    std::uint64_t load_base = 0;  ///< first byte of the allocation
    std::uint64_t load_bytes = 0;
    std::string uri;
    std::vector<std::byte> elf; ///< as loaded; empty if the storage cannot be read
};

struct LoadedKernel {
    std::uint64_t kernel_object = 0; ///< as in a dispatch packet
    std::string name;                ///< mangled, without ".kd"
};

/// Looks into frozen executables through the loader extension of the table. Thread safe.
class CodeObjectReader {
  public:
    /// Errors: kUnsupported (this runtime has no loader extension 1.01).
    static Result<CodeObjectReader> create(const HsaFunctions& hsa);

    /// Errors: kUnavailable.
    Result<std::vector<LoadedCodeObject>> code_objects(hsa_executable_t executable) const;
    Result<std::vector<LoadedKernel>> kernels(hsa_executable_t executable, hsa_agent_t agent) const;

  private:
    CodeObjectReader(const HsaFunctions& hsa, hsa_ven_amd_loader_1_01_pfn_t loader)
        : hsa_(hsa), loader_(loader) {}
    HsaFunctions hsa_;
    hsa_ven_amd_loader_1_01_pfn_t loader_;
};

} // namespace wavetap::rocr
