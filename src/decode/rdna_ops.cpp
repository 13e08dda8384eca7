// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/rdna_ops.hpp"

namespace wavetap::decode {
namespace {

using enum Category;
using K = OpKind;
using S = OpSource;

constexpr std::uint8_t k10 = 1, k11 = 2, k12 = 4, k1250 = 8;
constexpr std::uint8_t kAll = k10 | k11 | k12 | k1250, kFrom11 = k11 | k12 | k1250;
constexpr std::uint8_t kNew = k12 | k1250;

enum class Scale : std::uint8_t { kNone, kDp, kDpDerate, kTrans };

/// Codes first..last; cycles grow by one from code to code when `step` is 1.
struct Range {
    std::uint16_t first, last;
    std::uint8_t generations;
    OpKind kind;
    Category category;
    std::uint8_t cycles;
    std::uint8_t step;
    Scale scale;
    OpSource source;
};

constexpr Scale N = Scale::kNone;

constexpr Range kRanges[] = {
    {0, 0, kAll, K::kNormal, kSalu, 1, 0, N, S::kReal},
    {1, 1, kAll, K::kNormal, kSmem, 1, 0, N, S::kReal},
    {2, 2, kAll, K::kNormal, kSmem, 1, 0, N, S::kDecoder},
    {3, 3, kAll, K::kNormal, kJump, 1, 0, N, S::kReal},
    {4, 4, kAll, K::kNormal, kNext, 1, 0, N, S::kReal},
    {5, 5, kAll, K::kNewPc, kSalu, 1, 0, N, S::kDecoder},
    {6, 6, kAll, K::kTrap, kTrap, 1, 0, N, S::kDecoder},
    {7, 7, kAll, K::kNormal, kSalu, 1, 0, N, S::kDecoder},
    {8, 8, kAll, K::kFatal, kTrap, 1, 0, N, S::kDecoder},
    {9, 9, kAll, K::kNormal, kMsg, 1, 0, N, S::kReal},
    {10, 10, k11, K::kNormal, kValu, 1, 0, Scale::kDp, S::kDecoder},
    {10, 10, k10 | kNew, K::kNormal, kValu, 1, 0, N, S::kDecoder},
    {11, 11, kAll, K::kNormal, kValu, 4, 0, Scale::kTrans, S::kReal},
    {12, 12, k10, K::kNormal, kValu, 1, 0, Scale::kDp, S::kDecoder},
    {13, 13, k10, K::kNormal, kValu, 2, 0, Scale::kDp, S::kDecoder},
    {14, 14, k10, K::kNormal, kValu, 4, 0, Scale::kDp, S::kDecoder},
    {12, 12, kFrom11, K::kNormal, kValu, 1, 0, N, S::kDecoder},
    {13, 13, kFrom11, K::kNormal, kValu, 2, 0, N, S::kReal},
    {14, 14, kFrom11, K::kNormal, kValu, 4, 0, N, S::kReal},
    {15, 15, k10, K::kNormal, kValu, 16, 0, Scale::kDp, S::kDecoder},
    {15, 15, k11, K::kNormal, kValu, 1, 0, Scale::kDp, S::kDecoder},
    {15, 15, kNew, K::kNormal, kValu, 16, 0, N, S::kDecoder},
    {16, 17, k10, K::kNormal, kValu, 1, 0, Scale::kDp, S::kDecoder},
    {16, 17, k11, K::kNormal, kValu, 1, 0, N, S::kDecoder},
    {16, 16, k1250, K::kNormal, kValu, 32, 0, N, S::kDecoder},
    {17, 17, k1250, K::kNormal, kValu, 8, 0, N, S::kDecoder},
    {18, 18, kAll, K::kNormal, kValu, 1, 0, N, S::kDecoder},
    {19, 19, kAll, K::kBarrier, kImmed, 1, 0, N, S::kReal},
    {20, 21, kAll, K::kIgnored, kMsg, 1, 0, N, S::kDecoder}, // export requests
    {26, 27, k1250, K::kNormal, kFlat, 1, 1, N, S::kDecoder},
    {28, 28, kFrom11, K::kNormal, kFlat, 2, 0, N, S::kDecoder},
    {29, 32, kFrom11, K::kNormal, kFlat, 3, 1, N, S::kDecoder},
    {30, 30, k10, K::kNormal, kFlat, 1, 0, N, S::kDecoder},
    {31, 34, k10, K::kNormal, kFlat, 2, 1, N, S::kDecoder},
    {33, 34, kFrom11, K::kNormal, kVmem, 1, 1, N, S::kReal},
    {35, 35, k10, K::kNormal, kVmem, 1, 0, N, S::kDecoder},
    {36, 40, k10, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {35, 40, kFrom11, K::kNormal, kVmem, 1, 1, N, S::kReal},
    {41, 41, kAll, K::kNormal, kLds, 1, 0, N, S::kReal},
    {42, 46, kAll, K::kNormal, kLds, 1, 1, N, S::kReal},
    {47, 48, kAll, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {49, 54, kAll, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {55, 66, kAll, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {68, 71, kAll, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {72, 78, kAll, K::kNormal, kVmem, 2, 1, N, S::kDecoder},
    {79, 102, k10, K::kIgnored, kVmem, 1, 0, N, S::kDecoder}, // other SIMDs
    {79, 79, k1250, K::kReplay, kVmem, 1, 0, N, S::kDecoder},
    {80, 84, kFrom11, K::kOther, kLds, 1, 1, N, S::kReal},
    {85, 89, kFrom11, K::kOther, kFlat, 2, 1, N, S::kDecoder},
    {90, 101, k11, K::kOther, kVmem, 1, 1, N, S::kReal},
    {103, 104, kAll, K::kNormal, kBvh, 8, 1, N, S::kDecoder},
    {105, 106, kAll, K::kNormal, kBvh, 11, 1, N, S::kDecoder},
    {107, 107, k1250, K::kIgnored, kFlat, 1, 0, N, S::kDecoder},
    {110, 111, kAll, K::kNormal, kLds, 1, 0, N, S::kDecoder},
    {112, 113, k10 | k11, K::kNormal, kSalu, 1, 0, N, S::kDecoder},
    {114, 114, kFrom11, K::kNormal, kSalu, 1, 0, N, S::kDecoder},
    {115, 116, kFrom11, K::kNormal, kValu, 1, 1, N, S::kReal},
    {117, 117, kFrom11, K::kReturn, kTrap, 1, 0, N, S::kDecoder},
    {118, 118, k11, K::kNormal, kLds, 6, 0, N, S::kDecoder},
    {118, 118, k12, K::kNormal, kBvh, 6, 0, N, S::kDecoder},
    {119, 119, kFrom11, K::kOther, kLds, 6, 0, N, S::kDecoder},
    {120, 120, kNew, K::kOther, kLds, 10, 0, N, S::kDecoder},
    {121, 121, k12, K::kNormal, kBvh, 10, 0, N, S::kDecoder},
    {122, 122, kNew, K::kNormal, kMsg, 1, 0, N, S::kReal},
    {135, 137, kNew, K::kNormal, kSalu, 1, 0, N, S::kDecoder},
    {138, 138, kNew, K::kNormal, kMsg, 1, 0, N, S::kDecoder},
    {140, 140, k12, K::kNormal, kValu, 8, 0, N, S::kReal},
    {141, 141, k12, K::kNormal, kValu, 16, 0, N, S::kReal},
    {142, 142, k12, K::kNormal, kValu, 32, 0, N, S::kDecoder},
    {143, 143, k12, K::kNormal, kValu, 64, 0, N, S::kDecoder},
    {146, 146, k12, K::kNormal, kValu, 1, 0, Scale::kDp, S::kDecoder},
    {147, 147, k12, K::kNormal, kValu, 1, 0, Scale::kDpDerate, S::kDecoder},
    {150, 151, kNew, K::kNormal, kSmem, 1, 0, N, S::kDecoder},
    {152, 152, kNew, K::kNormal, kSalu, 3, 0, N, S::kDecoder},
    {153, 153, kNew, K::kNormal, kValu, 1, 0, N, S::kReal},
    {155, 155, kNew, K::kNormal, kSalu, 2, 0, N, S::kReal},
    {156, 156, kNew, K::kNormal, kSalu, 5, 0, N, S::kDecoder},
    {157, 158, k1250, K::kNormal, kVmem, 1, 0, N, S::kDecoder},
    {159, 160, k1250, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {161, 162, k1250, K::kNormal, kVmem, 2, 1, N, S::kDecoder},
    {163, 163, k1250, K::kNormal, kVmem, 5, 0, N, S::kDecoder},
    {169, 169, k1250, K::kNormal, kValu, 1, 0, N, S::kDecoder},
    {170, 171, k1250, K::kNormal, kVmem, 1, 0, N, S::kDecoder},
    {172, 172, k1250, K::kIgnored, kVmem, 1, 0, N, S::kDecoder},
    {173, 173, k1250, K::kNormal, kLds, 1, 0, N, S::kDecoder},
    {174, 174, k1250, K::kNormal, kMsg, 1, 0, N, S::kDecoder},
    {175, 175, k1250, K::kNormal, kValu, 16, 0, N, S::kDecoder},
    {176, 176, k1250, K::kNormal, kValu, 32, 0, N, S::kDecoder},
    {177, 177, k1250, K::kNormal, kValu, 16, 0, N, S::kDecoder},
    {178, 178, k1250, K::kNormal, kValu, 8, 0, N, S::kDecoder},
    {179, 179, k1250, K::kNormal, kValu, 16, 0, N, S::kDecoder},
    {180, 180, k1250, K::kNormal, kValu, 1, 0, N, S::kDecoder},
    {181, 181, k1250, K::kNormal, kValu, 4, 0, N, S::kDecoder},
    {182, 182, k1250, K::kNormal, kValu, 2, 0, N, S::kDecoder},
    {183, 183, k1250, K::kScale, kValu, 1, 0, N, S::kDecoder},
    {184, 184, k1250, K::kNormal, kValu, 4, 0, N, S::kInferred},
    {187, 187, k1250, K::kNormal, kValu, 32, 0, N, S::kInferred},
    {188, 221, kNew, K::kOther, kVmem, 1, 1, N, S::kReal},
    {222, 255, k12, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
    {222, 511, k1250, K::kNormal, kVmem, 1, 1, N, S::kDecoder},
};

consteval bool disjoint() {
    std::uint8_t used[512] = {};
    for (const Range& range : kRanges) {
        for (unsigned op = range.first; op <= range.last; ++op) {
            if ((used[op] & range.generations) != 0) return false;
            used[op] = static_cast<std::uint8_t>(used[op] | range.generations);
        }
    }
    return true;
}
static_assert(disjoint());

std::uint8_t generation_bit(sqtt::Generation generation) {
    switch (generation) {
    case sqtt::Generation::kGfx9:
        break;
    case sqtt::Generation::kGfx10:
        return k10;
    case sqtt::Generation::kGfx11:
        return k11;
    case sqtt::Generation::kGfx12:
        return k12;
    case sqtt::Generation::kGfx1250:
        return k1250;
    }
    return 0;
}

} // namespace

OpTable make_op_table(const sqtt::Header& header) {
    OpTable table{};
    const std::uint8_t bit = generation_bit(header.generation);
    for (const Range& range : kRanges) {
        if ((range.generations & bit) == 0) continue;
        for (unsigned op = range.first; op <= range.last; ++op) {
            std::uint32_t cycles = range.cycles + (op - range.first) * range.step;
            switch (range.scale) {
            case Scale::kNone:
                break;
            case Scale::kDp:
                cycles *= header.dp_cycles;
                break;
            case Scale::kDpDerate:
                cycles *= header.dp_cycles * header.dp_derate;
                break;
            case Scale::kTrans:
                cycles >>= header.trans2 ? 1 : 0;
                break;
            }
            table[op] = {range.kind, range.category, range.source, cycles};
        }
    }
    return table;
}

} // namespace wavetap::decode
