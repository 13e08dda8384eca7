// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/disassembler.hpp"

namespace wavetap::code {
namespace {

struct PrefixRow {
    std::string_view prefix;
    LineClass line_class;
};

// The first row whose prefix fits decides, so special cases stand before their family.
constexpr PrefixRow kPrefixes[] = {
    // No token at all.
    {"s_wait_alu", LineClass::kSkip},
    {"s_wait_depctr", LineClass::kSkip},
    {"s_delay_alu", LineClass::kSkip},
    {"s_set_vgpr", LineClass::kSkip},
    {"buffer_nop", LineClass::kSkip},
    // Immediates: executed by the sequencer.
    {"s_waitcnt", LineClass::kImmed},
    {"s_wait_idle", LineClass::kImmed},
    {"s_wait_kmcnt", LineClass::kImmed},
    {"s_wait_loadcnt", LineClass::kImmed},
    {"s_wait_storecnt", LineClass::kImmed},
    {"s_wait_bvhcnt", LineClass::kImmed},
    {"s_wait_expcnt", LineClass::kImmed},
    {"s_wait_dscnt", LineClass::kImmed},
    {"s_wait_samplecnt", LineClass::kImmed},
    {"s_wait_event", LineClass::kImmed},
    {"s_wait_xcnt", LineClass::kImmed},
    {"s_wait_tensor", LineClass::kImmed},
    {"s_wait_async", LineClass::kImmed},
    {"s_nop", LineClass::kImmed},
    {"s_sleep", LineClass::kImmed},
    {"s_wakeup", LineClass::kImmed},
    {"s_sendmsg", LineClass::kImmed},
    {"s_setprio", LineClass::kImmed},
    {"s_set_inst", LineClass::kImmed},
    {"s_inst_prefetch", LineClass::kImmed},
    {"s_setkill", LineClass::kImmed},
    {"s_version", LineClass::kImmed},
    {"s_trap", LineClass::kImmed},
    {"s_barrier", LineClass::kImmed},
    {"s_endpgm", LineClass::kImmed},
    {"s_icache_inv", LineClass::kImmed},
    {"s_dcache_inv", LineClass::kImmed},
    {"s_sethalt", LineClass::kImmed},
    {"s_incperf", LineClass::kImmed},
    {"s_decperf", LineClass::kImmed},
    {"s_ttrace", LineClass::kImmed},
    {"s_clause", LineClass::kImmed},
    {"s_monitor", LineClass::kImmed},
    {"s_setvskip", LineClass::kImmed},
    // Scalar memory.
    {"s_load", LineClass::kSmem},
    {"s_buffer", LineClass::kSmem},
    {"s_store", LineClass::kSmem},
    {"s_atomic", LineClass::kSmem},
    {"s_scratch", LineClass::kSmem},
    {"s_dcache", LineClass::kSmem},
    {"s_memtime", LineClass::kSmem},
    {"s_memrealtime", LineClass::kSmem},
    {"s_prefetch", LineClass::kSmem},
    {"s_", LineClass::kSalu},
    {"v_", LineClass::kValu},
    // Vector memory.
    {"image_bvh", LineClass::kBvh},
    {"buffer_", LineClass::kVmem},
    {"tbuffer_", LineClass::kVmem},
    {"global_", LineClass::kVmem},
    {"scratch_", LineClass::kVmem},
    {"image_", LineClass::kVmem},
    {"cluster_", LineClass::kVmem},
    {"tensor_", LineClass::kVmem},
    {"flat_", LineClass::kFlat},
    {"ds_", LineClass::kLds},
    {"lds_", LineClass::kLds},
};

} // namespace

LineClass classify(std::string_view mnemonic, bool is_gfx12) {
    mnemonic = mnemonic.substr(0, mnemonic.find_first_of(" \t"));
    if (mnemonic.find("branch") != std::string_view::npos) return LineClass::kBranch;
    if (is_gfx12 && mnemonic.starts_with("ds_bvh")) return LineClass::kBvh;
    for (const PrefixRow& row : kPrefixes)
        if (mnemonic.starts_with(row.prefix)) return row.line_class;
    return LineClass::kSkip;
}

} // namespace wavetap::code
