// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

namespace wavetap::softgpu::isa_test {
namespace {

constexpr std::uint64_t kOnes = 0xffffffff;
constexpr std::uint64_t kAll = ~std::uint64_t{0};

} // namespace

std::vector<ScalarCase> scalar_cases() {
    std::vector<ScalarCase> out;
    const auto add = [&](const char* text, std::uint64_t a, std::uint64_t b, std::uint64_t result,
                         int scc = -1, bool scc_in = false, std::uint64_t old = 0) {
        ScalarCase c;
        c.text = text;
        c.a = a;
        c.b = b;
        c.result = result;
        c.scc = scc;
        c.scc_in = scc_in;
        c.old_result = old;
        out.push_back(c);
    };
    add("s_add_u32 s8, s2, s4", kOnes, 2, 1, 1);
    add("s_add_u32 s8, s2, s4", 1, 2, 3, 0, true);
    add("s_sub_u32 s8, s2, s4", 1, 2, kOnes, 1);
    add("s_add_i32 s8, s2, s4", 0x7fffffff, 1, 0x80000000, 1);
    add("s_add_i32 s8, s2, s4", kOnes, 1, 0, 0, true);
    add("s_sub_i32 s8, s2, s4", 0x80000000, 1, 0x7fffffff, 1);
    add("s_addc_u32 s8, s2, s4", kOnes, 0, 0, 1, true);
    add("s_addc_u32 s8, s2, s4", 5, 6, 11, 0, false);
    add("s_subb_u32 s8, s2, s4", 5, 5, kOnes, 1, true);
    add("s_min_i32 s8, s2, s4", kOnes, 1, kOnes, 1);
    add("s_min_u32 s8, s2, s4", kOnes, 1, 1, 0);
    add("s_max_i32 s8, s2, s4", kOnes, 1, 1, 0);
    add("s_max_u32 s8, s2, s4", kOnes, 1, kOnes, 1);
    add("s_cselect_b32 s8, s2, s4", 1, 2, 1, 1, true);
    add("s_cselect_b32 s8, s2, s4", 1, 2, 2, 0, false);
    add("s_cselect_b64 s[8:9], s[2:3], s[4:5]", kAll, 2, kAll, 1, true);
    const std::uint64_t x = 0xff00ff0012345678, y = 0x0ff00ff0fedcba98;
    const auto logic = [&](const char* name, std::uint64_t result) {
        const std::string n = name;
        add((n + "_b32 s8, s2, s4").c_str(), x, y, result & kOnes, (result & kOnes) != 0);
        add((n + "_b64 s[8:9], s[2:3], s[4:5]").c_str(), x, y, result, result != 0);
    };
    logic("s_and", 0x0f000f0012141218);
    logic("s_or", 0xfff0fff0fefcfef8);
    logic("s_xor", 0xf0f0f0f0ece8ece0);
    logic("s_andn2", 0xf000f00000204460);
    logic("s_orn2", 0xff0fff0f1337577f);
    logic("s_nand", 0xf0fff0ffedebede7);
    logic("s_nor", 0x000f000f01030107);
    logic("s_xnor", 0x0f0f0f0f1317131f);
    add("s_and_b32 s8, s2, s4", 1, 2, 0, 0, true);
    add("s_lshl_b32 s8, s2, s4", 0x11, 36, 0x110, 1);
    add("s_lshl_b64 s[8:9], s[2:3], s4", 0x11, 36, 0x11000000000, 1);
    add("s_lshr_b32 s8, s2, s4", 0x80000000, 4, 0x08000000, 1);
    add("s_lshr_b64 s[8:9], s[2:3], s4", 0x8000000000000000, 36, 0x08000000, 1);
    add("s_ashr_i32 s8, s2, s4", 0x80000000, 4, 0xf8000000, 1);
    add("s_ashr_i64 s[8:9], s[2:3], s4", 0x8000000000000000, 36, 0xfffffffff8000000, 1);
    add("s_bfm_b32 s8, s2, s4", 4, 8, 0xf00);
    add("s_bfm_b64 s[8:9], s2, s4", 4, 40, 0xf0000000000);
    add("s_mul_i32 s8, s2, s4", kOnes, 5, 0xfffffffb);
    add("s_bfe_u32 s8, s2, s4", 0x12345678, 0xc0008, 0x456, 1);
    add("s_bfe_i32 s8, s2, s4", 0xf000, 0x80008, 0xfffffff0, 1);
    add("s_bfe_u32 s8, s2, s4", 0x12345678, 0x8, 0, 0);
    add("s_bfe_u64 s[8:9], s[2:3], s4", 0x123456789abcdef0, 0x280008, 0x56789abcde, 1);
    add("s_bfe_i64 s[8:9], s[2:3], s4", 0xf000000000, 0x80020, 0xfffffffffffffff0, 1);
    add("s_absdiff_i32 s8, s2, s4", 3, 10, 7, 1);
    add("s_mul_hi_u32 s8, s2, s4", kOnes, kOnes, 0xfffffffe);
    add("s_mul_hi_i32 s8, s2, s4", kOnes, 5, kOnes);
    add("s_lshl1_add_u32 s8, s2, s4", 0x80000000, 1, 1, 1);
    add("s_lshl2_add_u32 s8, s2, s4", 3, 1, 13, 0);
    add("s_lshl3_add_u32 s8, s2, s4", 3, 1, 25, 0);
    add("s_lshl4_add_u32 s8, s2, s4", 3, 1, 49, 0);
    add("s_pack_ll_b32_b16 s8, s2, s4", 0x11112222, 0x33334444, 0x44442222);
    add("s_pack_lh_b32_b16 s8, s2, s4", 0x11112222, 0x33334444, 0x33332222);
    add("s_pack_hh_b32_b16 s8, s2, s4", 0x11112222, 0x33334444, 0x33331111);
    // SOP1
    add("s_mov_b32 s8, s2", 7, 0, 7);
    add("s_mov_b32 s8, 1.0", 0, 0, F(1));
    add("s_mov_b64 s[8:9], s[2:3]", x, 0, x);
    add("s_mov_b64 s[8:9], -1", 0, 0, kAll);
    add("s_mov_b64 s[8:9], 0xffff0000", 0, 0, 0xffff0000);
    add("s_cmov_b32 s8, s2", 7, 0, 9, -1, false, 9);
    add("s_cmov_b32 s8, s2", 7, 0, 7, -1, true, 9);
    add("s_cmov_b64 s[8:9], s[2:3]", x, 0, x, -1, true, 9);
    add("s_not_b32 s8, s2", kOnes, 0, 0, 0, true);
    add("s_not_b64 s[8:9], s[2:3]", kOnes, 0, 0xffffffff00000000, 1);
    add("s_wqm_b32 s8, s2", 0x10002, 0, 0xf000f, 1);
    add("s_wqm_b64 s[8:9], s[2:3]", 0x1000000000000002, 0, 0xf00000000000000f, 1);
    add("s_brev_b32 s8, s2", 1, 0, 0x80000000);
    add("s_brev_b64 s[8:9], s[2:3]", 1, 0, 0x8000000000000000);
    add("s_bcnt0_i32_b32 s8, s2", 0xff, 0, 24, 1);
    add("s_bcnt0_i32_b64 s8, s[2:3]", 0xff, 0, 56, 1);
    add("s_bcnt1_i32_b32 s8, s2", 0xff, 0, 8, 1);
    add("s_bcnt1_i32_b64 s8, s[2:3]", 0, 0, 0, 0, true);
    add("s_ff0_i32_b32 s8, s2", 0xff, 0, 8);
    add("s_ff0_i32_b32 s8, s2", kOnes, 0, kOnes);
    add("s_ff0_i32_b64 s8, s[2:3]", 0xfffffffff, 0, 36);
    add("s_ff1_i32_b32 s8, s2", 0x10, 0, 4);
    add("s_ff1_i32_b64 s8, s[2:3]", 0x1000000000, 0, 36);
    add("s_ff1_i32_b64 s8, s[2:3]", 0, 0, kOnes);
    add("s_flbit_i32_b32 s8, s2", 1, 0, 31);
    add("s_flbit_i32_b64 s8, s[2:3]", 1, 0, 63);
    add("s_flbit_i32 s8, s2", 0xfffffff0, 0, 28);
    add("s_flbit_i32_i64 s8, s[2:3]", kAll, 0, kOnes);
    add("s_sext_i32_i8 s8, s2", 0x1280, 0, 0xffffff80);
    add("s_sext_i32_i16 s8, s2", 0x128000, 0, 0xffff8000);
    add("s_bitset0_b32 s8, s2", 4, 0, 0xef, -1, false, 0xff);
    add("s_bitset0_b64 s[8:9], s2", 63, 0, kAll >> 1, -1, false, kAll);
    add("s_bitset1_b32 s8, s2", 8, 0, 0x1ff, -1, false, 0xff);
    add("s_bitset1_b64 s[8:9], s2", 40, 0, 0x100000000ff, -1, false, 0xff);
    add("s_quadmask_b32 s8, s2", 0x10002, 0, 0x11, 1);
    add("s_quadmask_b64 s[8:9], s[2:3]", 0x1000000000000002, 0, 0x8001, 1);
    add("s_abs_i32 s8, s2", 0xfffffffb, 0, 5, 1);
    add("s_bitreplicate_b64_b32 s[8:9], s2", 0x80000001, 0, 0xc000000000000003);
    const auto exec = [&](const char* name, std::uint64_t exec_out) {
        ScalarCase c;
        c.text = std::string(name) + " s[8:9], s[2:3]";
        c.a = 0xff00;
        c.exec = 0x0ff0;
        c.exec_out = exec_out;
        const bool writes_result = c.text.find("wrexec") != std::string::npos;
        c.result = writes_result ? exec_out : c.exec;
        c.scc = exec_out != 0;
        out.push_back(c);
    };
    exec("s_and_saveexec_b64", 0x0f00);
    exec("s_or_saveexec_b64", 0xfff0);
    exec("s_xor_saveexec_b64", 0xf0f0);
    exec("s_andn2_saveexec_b64", 0xf000);
    exec("s_orn2_saveexec_b64", 0xffffffffffffff0f);
    exec("s_nand_saveexec_b64", 0xfffffffffffff0ff);
    exec("s_nor_saveexec_b64", 0xffffffffffff000f);
    exec("s_xnor_saveexec_b64", 0xffffffffffff0f0f);
    exec("s_andn1_saveexec_b64", 0x00f0);
    exec("s_orn1_saveexec_b64", 0xffffffffffff0ff0 | 0x00ff);
    exec("s_andn1_wrexec_b64", 0x00f0);
    exec("s_andn2_wrexec_b64", 0xf000);
    // SOPC and SOPK
    const auto compare = [&](const std::string& op, const std::string& type, bool less, bool equal,
                             bool greater, std::uint64_t small, std::uint64_t large) {
        const std::string text = "s_cmp_" + op + "_" + type + " s2, s4";
        add(text.c_str(), small, large, 0, less);
        add(text.c_str(), large, large, 0, equal);
        add(text.c_str(), large, small, 0, greater);
    };
    for (const std::string type : {"i32", "u32"}) {
        const std::uint64_t small = type == "i32" ? kOnes : 1;
        const std::uint64_t large = type == "i32" ? 1 : kOnes;
        compare("eq", type, false, true, false, small, large);
        compare("lg", type, true, false, true, small, large);
        compare("gt", type, false, false, true, small, large);
        compare("ge", type, false, true, true, small, large);
        compare("lt", type, true, false, false, small, large);
        compare("le", type, true, true, false, small, large);
    }
    const auto compare_k = [&](const std::string& op, const std::string& type, bool less,
                               bool equal, bool greater) {
        const std::string k = type == "i32" ? "0xfffe" : "0x8000";
        const std::uint64_t equal_value = type == "i32" ? 0xfffffffe : 0x8000;
        const std::string text = "s_cmpk_" + op + "_" + type + " s2, " + k;
        add(text.c_str(), equal_value - 1, 0, 0, less);
        add(text.c_str(), equal_value, 0, 0, equal);
        add(text.c_str(), equal_value + 1, 0, 0, greater);
    };
    for (const std::string type : {"i32", "u32"}) {
        compare_k("eq", type, false, true, false);
        compare_k("lg", type, true, false, true);
        compare_k("gt", type, false, false, true);
        compare_k("ge", type, false, true, true);
        compare_k("lt", type, true, false, false);
        compare_k("le", type, true, true, false);
    }
    add("s_cmp_eq_u64 s[2:3], s[4:5]", x, x, 0, 1);
    add("s_cmp_lg_u64 s[2:3], s[4:5]", x, y, 0, 1);
    add("s_bitcmp0_b32 s2, s4", 0xef, 4, 0, 1);
    add("s_bitcmp1_b32 s2, s4", 0xef, 4, 0, 0, true);
    add("s_bitcmp0_b64 s[2:3], s4", 0x1000000000, 36, 0, 0, true);
    add("s_bitcmp1_b64 s[2:3], s4", 0x1000000000, 36, 0, 1);
    add("s_movk_i32 s8, 0xfffb", 0, 0, 0xfffffffb);
    add("s_cmovk_i32 s8, 0xfffb", 0, 0, 9, -1, false, 9);
    add("s_cmovk_i32 s8, 5", 0, 0, 5, -1, true, 9);
    add("s_addk_i32 s8, 0xfffb", 0, 0, 4, 0, true, 9);
    add("s_addk_i32 s8, 1", 0, 0, 0x80000000, 1, false, 0x7fffffff);
    add("s_mulk_i32 s8, 0xfffe", 0, 0, 0xfffffff6, -1, false, 5);
    return out;
}

} // namespace wavetap::softgpu::isa_test
