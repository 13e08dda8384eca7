// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

// Ends the example with a worded error if a HIP call fails.
#define HIP_CHECK(call)                                                                            \
    do {                                                                                           \
        const hipError_t status = (call);                                                          \
        if (status != hipSuccess) {                                                                \
            std::fprintf(stderr, "%s failed: %s\n", #call, hipGetErrorString(status));             \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)
