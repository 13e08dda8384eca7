// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "rocr/code_objects.hpp"

#include <cstdint>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

namespace wavetap::tool {

/// "matmul(float*)" for "_Z6matmulPf"; the name itself if it is not mangled.
std::string demangled(const std::string& name);

/// Kernels by kernel object, and whether they count for windows: kernels of the application (not
/// those of the HIP runtime, and not code outside of every code object) that the user's regular
/// expressions select. Thread safe.
class KernelTable {
  public:
    struct Kernel {
        std::string name; ///< demangled
        bool matches = false;
    };
    /// Precondition: both are valid expressions; empty ones select all / exclude none.
    KernelTable(const std::string& include, const std::string& exclude);

    void add(const std::vector<rocr::LoadedKernel>& kernels);
    /// An unknown kernel object is "?" and does not match.
    Kernel find(std::uint64_t kernel_object) const;

  private:
    bool selected(const std::string& mangled, const std::string& readable) const;

    const bool include_all_, exclude_none_;
    const std::regex include_, exclude_;
    mutable Mutex mutex_;
    std::unordered_map<std::uint64_t, Kernel> kernels_ WAVETAP_GUARDED_BY(mutex_);
};

} // namespace wavetap::tool
