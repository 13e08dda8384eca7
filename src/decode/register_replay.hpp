// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/register_state.hpp"
#include "sqtt/token.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace wavetap::decode {

/// A code object that the stream's markers have loaded and not unloaded.
struct LiveObject {
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0;
};

/// One register write of a stream.
struct ReplayedWrite {
    std::uint8_t queue = 0; ///< index of the register state, 0..7
    bool is_compute = true; ///< `reg` counts from DISPATCH_INITIATOR; else it is absolute
    std::uint32_t reg = 0;  ///< dwords
    std::uint32_t data = 0;
};

/// The writes that bring a fresh RegisterState to `values` with `live` loaded (as if before the
/// trace began), in order. None of them starts a dispatch, gives an event of the hardware or a
/// real-time sample; the code objects give load events. Values that are zero as in a fresh state are
/// left out, so a fresh state gives no writes at all. The packet that is half read in USERDATA_2 or
/// USERDATA_3 is begun again, so that the words which follow complete it.
std::vector<ReplayedWrite> replay_writes(sqtt::Generation generation, const RegisterValues& values,
                                         std::span<const LiveObject> live);

} // namespace wavetap::decode
