// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/perf_counters.hpp"

#include "pm4/packets.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace wavetap::pm4 {

namespace {

constexpr std::array<std::string_view, 3> kChips = {"gfx90a", "gfx942", "gfx950"};

struct Row {
    std::string_view name;
    std::array<std::uint8_t, kChips.size()> ids; ///< by chip; 0: it has none
};

constexpr Row kRows[] = {
    {"SQ_ACCUM_PREV", {1, 1, 1}},
    {"SQ_CYCLES", {2, 2, 2}},
    {"SQ_BUSY_CYCLES", {3, 3, 3}},
    {"SQ_WAVES", {4, 4, 4}},
    {"SQ_LEVEL_WAVES", {5, 5, 5}},
    {"SQ_WAVES_EQ_64", {6, 6, 6}},
    {"SQ_WAVES_LT_64", {7, 7, 7}},
    {"SQ_WAVES_LT_48", {8, 8, 8}},
    {"SQ_WAVES_LT_32", {9, 9, 9}},
    {"SQ_WAVES_LT_16", {10, 10, 10}},
    {"SQ_BUSY_CU_CYCLES", {13, 13, 13}},
    {"SQ_ITEMS", {14, 14, 14}},
    {"SQ_INSTS", {25, 25, 25}},
    {"SQ_INSTS_VALU", {26, 26, 26}},
    {"SQ_INSTS_VALU_ADD_F16", {27, 27, 27}},
    {"SQ_INSTS_VALU_MUL_F16", {28, 28, 28}},
    {"SQ_INSTS_VALU_FMA_F16", {29, 29, 29}},
    {"SQ_INSTS_VALU_TRANS_F16", {30, 30, 30}},
    {"SQ_INSTS_VALU_ADD_F32", {31, 31, 31}},
    {"SQ_INSTS_VALU_MUL_F32", {32, 32, 32}},
    {"SQ_INSTS_VALU_FMA_F32", {33, 33, 33}},
    {"SQ_INSTS_VALU_TRANS_F32", {34, 34, 34}},
    {"SQ_INSTS_VALU_ADD_F64", {35, 35, 35}},
    {"SQ_INSTS_VALU_MUL_F64", {36, 36, 36}},
    {"SQ_INSTS_VALU_FMA_F64", {37, 37, 37}},
    {"SQ_INSTS_VALU_TRANS_F64", {38, 38, 38}},
    {"SQ_INSTS_VALU_INT32", {39, 39, 39}},
    {"SQ_INSTS_VALU_INT64", {40, 40, 40}},
    {"SQ_INSTS_VALU_CVT", {41, 41, 41}},
    {"SQ_INSTS_VALU_MFMA_I8", {42, 42, 42}},
    {"SQ_INSTS_VALU_MFMA_F16", {43, 43, 43}},
    {"SQ_INSTS_VALU_MFMA_BF16", {44, 44, 44}},
    {"SQ_INSTS_VALU_MFMA_F32", {45, 45, 45}},
    {"SQ_INSTS_VALU_MFMA_F64", {46, 46, 46}},
    {"SQ_INSTS_VALU_MFMA_XF32", {0, 0, 47}},
    {"SQ_INSTS_VALU_MFMA_F8", {0, 48, 48}},
    {"SQ_INSTS_VALU_MFMA_F6F4", {0, 0, 49}},
    {"SQ_INSTS_VALU_MFMA_MOPS_I8", {47, 49, 50}},
    {"SQ_INSTS_VALU_MFMA_MOPS_F16", {48, 50, 51}},
    {"SQ_INSTS_VALU_MFMA_MOPS_BF16", {49, 51, 52}},
    {"SQ_INSTS_VALU_MFMA_MOPS_F32", {50, 52, 53}},
    {"SQ_INSTS_VALU_MFMA_MOPS_F64", {51, 53, 54}},
    {"SQ_INSTS_VALU_MFMA_MOPS_XF32", {0, 0, 55}},
    {"SQ_INSTS_VALU_MFMA_MOPS_F8", {0, 55, 56}},
    {"SQ_INSTS_VALU_MFMA_MOPS_F6F4", {0, 0, 57}},
    {"SQ_INSTS_MFMA", {52, 56, 58}},
    {"SQ_INSTS_VMEM_WR", {53, 57, 59}},
    {"SQ_INSTS_VMEM_RD", {54, 58, 60}},
    {"SQ_INSTS_VMEM", {55, 59, 61}},
    {"SQ_INSTS_SALU", {56, 60, 62}},
    {"SQ_INSTS_SMEM", {57, 61, 63}},
    {"SQ_INSTS_FLAT", {58, 62, 64}},
    {"SQ_INSTS_FLAT_LDS_ONLY", {59, 0, 0}},
    {"SQ_INSTS_LDS", {60, 65, 67}},
    {"SQ_INSTS_GDS", {61, 66, 68}},
    {"SQ_INSTS_EXP_GDS", {63, 68, 70}},
    {"SQ_INSTS_BRANCH", {64, 69, 71}},
    {"SQ_INSTS_SENDMSG", {65, 70, 72}},
    {"SQ_INSTS_VSKIPPED", {66, 71, 73}},
    {"SQ_ACTIVE_INST_VALU2", {0, 0, 74}},
    {"SQ_INSTS_LDS_LOAD", {0, 0, 75}},
    {"SQ_INSTS_LDS_STORE", {0, 0, 76}},
    {"SQ_INSTS_LDS_ATOMIC", {0, 0, 77}},
    {"SQ_INSTS_LDS_LOAD_BANDWIDTH", {0, 0, 78}},
    {"SQ_INSTS_LDS_STORE_BANDWIDTH", {0, 0, 79}},
    {"SQ_INSTS_LDS_ATOMIC_BANDWIDTH", {0, 0, 80}},
    {"SQ_INSTS_VALU_FLOPS_FP16", {0, 0, 81}},
    {"SQ_INSTS_VALU_FLOPS_FP32", {0, 0, 82}},
    {"SQ_INSTS_VALU_FLOPS_FP64", {0, 0, 83}},
    {"SQ_INSTS_VALU_FLOPS_FP16_TRANS", {0, 0, 84}},
    {"SQ_INSTS_VALU_FLOPS_FP32_TRANS", {0, 0, 85}},
    {"SQ_INSTS_VALU_FLOPS_FP64_TRANS", {0, 0, 86}},
    {"SQ_INST_LEVEL_VMEM", {67, 72, 88}},
    {"SQ_INST_LEVEL_SMEM", {68, 73, 89}},
    {"SQ_INST_LEVEL_LDS", {69, 74, 90}},
    {"SQ_VALU_MFMA_BUSY_CYCLES", {72, 77, 93}},
    {"SQ_VALU_MFMA_COEXEC_CYCLES", {0, 0, 94}},
    {"SQ_WAVE_CYCLES", {74, 79, 95}},
    {"SQ_WAIT_ANY", {85, 90, 106}},
    {"SQ_WAIT_INST_ANY", {88, 93, 109}},
    {"SQ_WAIT_INST_LDS", {91, 96, 112}},
    {"SQ_ACTIVE_INST_ANY", {96, 101, 117}},
    {"SQ_ACTIVE_INST_VMEM", {97, 102, 118}},
    {"SQ_ACTIVE_INST_LDS", {98, 103, 119}},
    {"SQ_ACTIVE_INST_VALU", {99, 104, 120}},
    {"SQ_ACTIVE_INST_SCA", {100, 105, 121}},
    {"SQ_ACTIVE_INST_EXP_GDS", {101, 106, 122}},
    {"SQ_ACTIVE_INST_MISC", {102, 107, 123}},
    {"SQ_ACTIVE_INST_FLAT", {103, 108, 124}},
    {"SQ_INST_CYCLES_VMEM_WR", {104, 109, 125}},
    {"SQ_INST_CYCLES_VMEM_RD", {105, 110, 126}},
    {"SQ_INST_CYCLES_SMEM", {111, 116, 132}},
    {"SQ_INST_CYCLES_SALU", {112, 117, 133}},
    {"SQ_THREAD_CYCLES_VALU", {113, 118, 134}},
    {"SQ_IFETCH", {115, 120, 136}},
    {"SQ_IFETCH_LEVEL", {116, 121, 137}},
    {"SQ_LDS_BANK_CONFLICT", {121, 126, 142}},
    {"SQ_LDS_ADDR_CONFLICT", {122, 127, 143}},
    {"SQ_LDS_UNALIGNED_STALL", {123, 128, 144}},
    {"SQ_LDS_MEM_VIOLATIONS", {124, 129, 145}},
    {"SQ_LDS_ATOMIC_RETURN", {125, 130, 146}},
    {"SQ_LDS_IDX_ACTIVE", {126, 131, 147}},
    {"SQ_ACCUM_PREV_HIRES", {185, 184, 200}},
    {"SQ_WAVES_RESTORED", {186, 185, 201}},
    {"SQ_WAVES_SAVED", {187, 186, 202}},
    {"SQ_INSTS_SMEM_NORM", {188, 187, 203}},
};

/// Column of a chip, or kChips.size().
std::size_t column(std::string_view gfx) {
    return static_cast<std::size_t>(std::find(kChips.begin(), kChips.end(), gfx) - kChips.begin());
}

} // namespace

std::optional<std::uint32_t> counter_id(std::string_view gfx, std::string_view name) {
    const std::size_t chip = column(gfx);
    const auto row = std::ranges::find(kRows, name, &Row::name);
    if (chip == kChips.size() || row == std::end(kRows) || row->ids[chip] == 0) return std::nullopt;
    return row->ids[chip];
}

std::string_view counter_name(std::string_view gfx, std::uint32_t id) {
    const std::size_t chip = column(gfx);
    if (chip == kChips.size() || id == 0) return {};
    for (const Row& row : kRows)
        if (row.ids[chip] == id) return row.name;
    return {};
}

Result<std::vector<std::uint32_t>> build_counter_enable(const TraceTopology& topology) {
    if (generation_of(topology.gfx) != Generation::kGfx9)
        return Error{ErrorCode::kUnsupported,
                     "counters in the trace of " + topology.gfx + " are not known", "counters", ""};
    std::vector<std::uint32_t> stream;
    Gfx9Encoder(stream).set_sh(gfx9::kComputePerfcountEnable, 1);
    return stream;
}

} // namespace wavetap::pm4
