// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/kernels.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace wavetap::tool {

std::string demangled(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? text.get() : name;
}

KernelTable::KernelTable(const std::string& include, const std::string& exclude)
    : include_all_(include.empty()), exclude_none_(exclude.empty()), include_(include),
      exclude_(exclude) {}

bool KernelTable::selected(const std::string& mangled, const std::string& readable) const {
    if (mangled.starts_with("__amd_rocclr_")) return false;
    const auto found = [&](const std::regex& pattern) {
        return std::regex_search(readable, pattern) || std::regex_search(mangled, pattern);
    };
    return (include_all_ || found(include_)) && (exclude_none_ || !found(exclude_));
}

void KernelTable::add(const std::vector<rocr::LoadedKernel>& kernels) {
    for (const rocr::LoadedKernel& kernel : kernels) {
        Kernel entry{demangled(kernel.name), false};
        entry.matches = selected(kernel.name, entry.name);
        MutexLock lock(mutex_);
        kernels_[kernel.kernel_object] = std::move(entry);
    }
}

KernelTable::Kernel KernelTable::find(std::uint64_t kernel_object) const {
    MutexLock lock(mutex_);
    const auto found = kernels_.find(kernel_object);
    return found != kernels_.end() ? found->second : Kernel{"?", false};
}

} // namespace wavetap::tool
