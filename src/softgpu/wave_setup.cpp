// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/dispatcher.hpp"

#include <algorithm>

namespace wavetap::softgpu {

namespace {

constexpr std::uint64_t kSharedAperture = 0x1000000000000;
constexpr std::uint64_t kPrivateAperture = 0x2000000000000;

// COMPUTE_PGM_RSRC2.
constexpr std::uint32_t kPrivateSegment = 1U << 0;
constexpr std::uint32_t kGroupIdX = 1U << 7;
constexpr std::uint32_t kGroupIdY = 1U << 8;
constexpr std::uint32_t kGroupIdZ = 1U << 9;
constexpr std::uint32_t kGroupInfo = 1U << 10;

void set_sgprs(Dispatch& dispatch, const WorkGroup& group, WaveContext& wave,
               std::uint32_t wave_offset, bool first_wave) {
    auto& sgpr = wave.state.sgpr;
    std::copy_n(dispatch.user_sgprs.begin(), std::min(dispatch.user_sgprs.size(), sgpr.size()),
                sgpr.begin());
    std::size_t next = dispatch.rsrc2 >> 1 & 0x1F;
    const auto put = [&](bool wanted, std::uint32_t value) {
        if (wanted && next < sgpr.size()) sgpr[next++] = value;
    };
    put((dispatch.rsrc2 & kGroupIdX) != 0, group.id[0]);
    put((dispatch.rsrc2 & kGroupIdY) != 0, group.id[1]);
    put((dispatch.rsrc2 & kGroupIdZ) != 0, group.id[2]);
    put((dispatch.rsrc2 & kGroupInfo) != 0, (first_wave ? 1U << 31 : 0U) | (group.waves() & 0x3F));
    put((dispatch.rsrc2 & kPrivateSegment) != 0, wave_offset);
}

// Work-items fill the lanes in order, x fastest; gfx90a packs the three numbers into v0.
void set_lanes(const Dispatch& dispatch, const WorkGroup& group, WaveContext& wave,
               std::uint32_t index) {
    const std::uint32_t ids = dispatch.rsrc2 >> 11 & 3;
    wave.threads = std::min<std::uint32_t>(group.items() - index * kLanes, kLanes);
    wave.state.exec = ~std::uint64_t{0} >> (kLanes - wave.threads);
    if (wave.state.vgpr.empty()) return;
    for (unsigned lane = 0; lane < wave.threads; ++lane) {
        const std::uint32_t item = index * kLanes + lane;
        const std::uint32_t x = item % group.size[0];
        const std::uint32_t y = item / group.size[0] % group.size[1];
        const std::uint32_t z = item / group.size[0] / group.size[1];
        wave.state.vgpr[0][lane] = x | (ids >= 1 ? y << 10 : 0) | (ids >= 2 ? z << 20 : 0);
    }
}

std::uint32_t take_scratch(Dispatch& dispatch, WaveContext& wave) {
    if (!dispatch.scratch) return 0;
    ScratchSlots& slots = *dispatch.scratch;
    const auto free = std::find(slots.used.begin(), slots.used.end(), false);
    *free = true;
    --slots.free;
    wave.scratch_slot = free - slots.used.begin();
    const auto offset = static_cast<std::uint64_t>(wave.scratch_slot) * slots.wave_bytes;
    wave.state.scratch_base = slots.base + offset;
    wave.state.scratch_bytes_per_lane = dispatch.scratch_lane_bytes;
    return static_cast<std::uint32_t>(offset);
}

} // namespace

std::unique_ptr<WaveContext> make_wave(Dispatch& dispatch, WorkGroup& group, std::uint32_t index,
                                       unsigned se, const WavePlace& place) {
    auto wave = std::make_unique<WaveContext>();
    wave->group = &group;
    wave->dispatch = &dispatch;
    wave->entry_pc = dispatch.entry_pc;
    wave->vgpr_allocation = dispatch.vgpr_allocation;
    wave->sgpr_allocation = dispatch.sgpr_allocation;
    Wave& state = wave->state;
    state.pc = dispatch.entry_pc;
    state.vgpr.resize(dispatch.vgprs);
    state.agpr.resize(dispatch.agprs);
    state.lds = group.lds;
    // Round and denormal fields, DX10_CLAMP, IEEE.
    state.mode = (dispatch.rsrc1 >> 12 & 0xFF) | (dispatch.rsrc1 >> 21 & 1) << 8 |
                 (dispatch.rsrc1 >> 23 & 1) << 9;
    state.shared_aperture = kSharedAperture;
    state.private_aperture = kPrivateAperture;
    state.hw_id = std::uint32_t{place.slot} | std::uint32_t{place.simd} << 4 |
                  std::uint32_t{dispatch.pipe} << 6 | std::uint32_t{place.cu} << 8 |
                  (se & 7U) << 13 | std::uint32_t{group.number & 0xFU} << 16 |
                  std::uint32_t{dispatch.me} << 30;
    const std::uint32_t offset = take_scratch(dispatch, *wave);
    set_sgprs(dispatch, group, *wave, offset, index == 0);
    set_lanes(dispatch, group, *wave, index);
    return wave;
}

} // namespace wavetap::softgpu
