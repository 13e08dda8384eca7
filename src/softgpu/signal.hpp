// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/chip.hpp"
#include "softgpu/memory.hpp"

#include <cstdint>
#include <optional>

// Signals in GPU memory (amd_signal_t of amd_hsa_signal.h), shared with the host's threads.

namespace wavetap::softgpu {

/// Writes the timestamps (host counter), takes 1 from the value and wakes the waiters.
/// False: the signal is not mapped.
bool complete_signal(Memory& memory, Host& host, std::uint64_t signal, std::uint64_t start_ts,
                     std::uint64_t end_ts);

/// Stores a value and wakes the waiters. False: not mapped.
bool store_signal(Memory& memory, Host& host, std::uint64_t signal, std::int64_t new_value);

/// The value, or nothing if the signal is not mapped.
std::optional<std::int64_t> load_signal(Memory& memory, std::uint64_t signal);

} // namespace wavetap::softgpu
