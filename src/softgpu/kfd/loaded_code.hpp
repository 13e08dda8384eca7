// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Which kernel a faulting PC belongs to, by the list of loaded code objects that the runtime keeps
// for debuggers (_amdgpu_r_debug, laid out as the C library's r_debug; its names are URIs).

namespace wavetap::softgpu::kfd {

/// Where the bytes of a code object are: "file://PATH[#offset=N&size=N]" with %XX escapes, or
/// "memory://PID#offset=ADDRESS&size=N". Numbers are decimal or 0x hexadecimal.
struct CodeUri {
    bool in_memory = false;
    std::string path;         ///< of a file
    std::uint64_t offset = 0; ///< address, if in memory
    std::uint64_t size = 0;   ///< 0 = to the end of the file
};

/// Errors: kInvalidArgument.
Result<CodeUri> parse_code_uri(std::string_view uri);

/// The runtime's list in this process, or nullptr. Takes the loader's lock: not for a thread that
/// others wait for.
const void* find_loaded_code_list();

/// "saxpy(int, float) (saxpy.hip:10)" for a PC in a loaded code object, "" if it is in none (the
/// runtime's own kernels are not). Reads memory that others may change or free meanwhile, by system
/// calls that fail instead of faulting; for messages only. `list` may be null.
std::string describe_code(const void* list, std::uint64_t pc);

} // namespace wavetap::softgpu::kfd
