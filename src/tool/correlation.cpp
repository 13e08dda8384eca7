// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "tool/correlation.hpp"

#include <dlfcn.h>

namespace wavetap::tool {

void ExternalCorrelation::look() {
    if (getter_.load() != nullptr) return;
    // Never closed: its function may be called until the process ends.
    void* library = dlopen("libwavetap.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    getter_.store(reinterpret_cast<Getter>(dlsym(library, "wavetap_external_correlation_id")));
}

} // namespace wavetap::tool
