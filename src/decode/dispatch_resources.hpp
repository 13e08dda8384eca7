// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/records.hpp"

#include <cstdint>

namespace wavetap::decode {

/// What the resource registers of a dispatch grant, by the rules of AMD's open decoder.
struct DispatchResources {
    std::uint32_t lds_bytes = 0;
    std::uint32_t vgprs = 0; ///< unified files of gfx90a and wave64 are not treated specially
    std::uint32_t sgprs = 0;
    std::uint32_t user_sgprs = 0;
    bool invalidate_scalar_cache = false;
    bool invalidate_vector_cache = false;
    bool context_restore = false;
    bool scratch = false;
};

/// `version`: of the stream's header from gfx10 on (1..5); 0 on gfx9.
constexpr DispatchResources resources_of(const DispatchRecord& dispatch, unsigned version) {
    DispatchResources out;
    out.lds_bytes = (dispatch.rsrc2 >> 15 & 0x1FF) * 512;
    if (version == 1) out.lds_bytes = out.lds_bytes * 10 / 4;
    if (version >= 5) out.lds_bytes *= 2;
    out.vgprs = (dispatch.rsrc1 & 0x3F) * 8 + 8;
    if (version >= 5) out.vgprs *= 2;
    out.sgprs = version <= 1 ? (dispatch.rsrc1 >> 7 & 7) * 16 + 16 : 128;
    out.user_sgprs = dispatch.rsrc2 >> 1 & 0x1F;
    out.invalidate_scalar_cache = (dispatch.rsrc1 >> 10 & 1) != 0;
    out.invalidate_vector_cache = (dispatch.rsrc1 >> 11 & 1) != 0;
    out.context_restore = (dispatch.rsrc1 >> 14 & 1) != 0;
    out.scratch = (dispatch.rsrc2 & 1) != 0;
    return out;
}

} // namespace wavetap::decode
