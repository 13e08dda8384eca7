// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/code_map.hpp"

#include <cstdint>

namespace wavetap::fuzz {

/// Code that is made up from the address, so that stitching follows branches and anchors everywhere.
class MadeUpCode final : public decode::CodeSource {
  public:
    decode::CodeLine fetch(std::uint64_t id, std::uint64_t address) override {
        static constexpr const char* kText[] = {"s_mov_b32 s0, s1",
                                                "v_add_f32 v0, v1, v2",
                                                "s_cbranch_scc0 65500",
                                                "s_branch 3",
                                                "s_waitcnt vmcnt(0)",
                                                "global_load_dword v0, v[0:1], off",
                                                "ds_read_b32 v0, v1",
                                                "s_load_dword s0, s[0:1], 0x0",
                                                "s_barrier",
                                                "s_barrier_wait 0xffff",
                                                "s_delay_alu 0",
                                                "v_mfma_scale_f32 v0",
                                                "flat_store_dword v[0:1], v0",
                                                "s_nop 0",
                                                "s_endpgm",
                                                ""};
        const std::uint64_t mixed = (address / 4 + id) * 0x9E3779B97F4A7C15ULL >> 60;
        if (*kText[mixed] == '\0') return {};
        return decode::line_from_text(kText[mixed], 4, (id & 1) != 0);
    }
    bool knows(std::uint64_t) const override { return true; }
};

} // namespace wavetap::fuzz
