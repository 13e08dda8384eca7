// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/header.hpp"

#include "base/units.hpp"

namespace wavetap::sqtt {
namespace {

constexpr std::uint64_t bits(std::uint64_t value, unsigned hi, unsigned lo) {
    return value >> lo & ((std::uint64_t{1} << (hi - lo + 1)) - 1);
}

Header gfx9(std::uint64_t raw) {
    Header header;
    header.generation = Generation::kGfx9;
    header.raw = raw;
    header.version = static_cast<std::uint8_t>(bits(raw, 15, 13));
    header.simd_mask = static_cast<std::uint8_t>(bits(raw, 19, 16));
    header.target_cu = static_cast<std::uint8_t>(bits(raw, 24, 20));
    header.engine = static_cast<std::uint8_t>(bits(raw, 31, 26));
    header.double_buffer = bits(raw, 32, 32) != 0;
    header.issue_phase = static_cast<std::uint8_t>(bits(raw, 34, 33));
    return header;
}

Header rdna(std::uint64_t raw, std::uint64_t version) {
    Header header;
    header.generation = version <= 2   ? Generation::kGfx10
                        : version == 3 ? Generation::kGfx11
                        : version == 4 ? Generation::kGfx12
                                       : Generation::kGfx1250;
    header.raw = raw;
    header.version = static_cast<std::uint8_t>(version);
    header.simd_mask = static_cast<std::uint8_t>(1U << bits(raw, 14, 13));
    header.target_cu = static_cast<std::uint8_t>(bits(raw, version >= 4 ? 18 : 17, 15));
    header.target_sa = static_cast<std::uint8_t>(bits(raw, 19, 19));
    header.dp_rate = static_cast<std::uint8_t>(bits(raw, version < 3 ? 31 : 30, 28));
    header.dp_cycles = header.dp_rate == 0 ? 1U : 1U << (header.dp_rate - 1);
    if (version <= 4) header.dp_derate = 1U << bits(raw, 35, 33);
    if (version >= 4) {
        header.double_buffer = bits(raw, 43, 43) != 0;
        header.exclude_barrier_wait = bits(raw, 59, 59) != 0;
    }
    if (version >= 5) header.trans2 = bits(raw, 60, 60) != 0;
    return header;
}

} // namespace

Result<Header> parse_header(std::uint64_t raw) {
    const std::uint64_t legacy = bits(raw, 12, 0);
    const std::uint64_t version2 = bits(raw, 15, 13);
    if ((legacy == 0 || legacy == 0x11) && version2 >= 4 && version2 <= 6) return gfx9(raw);
    const std::uint64_t version = bits(raw, 12, 7);
    if (bits(raw, 6, 0) == 0x11 && version >= 1 && version <= 5) return rdna(raw, version);
    return Error{ErrorCode::kCorrupt,
                 "the first eight bytes " + format_hex(raw) + " are no thread-trace header",
                 "byte 0", "gfx9 buffers need the eight-byte software header in front"};
}

} // namespace wavetap::sqtt
