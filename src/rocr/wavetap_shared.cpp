// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include <wavetap/wavetap.h>

// Everything else of libwavetap.so comes from the folders' static libraries.
static_assert(sizeof(wavetap_context) == 8);
