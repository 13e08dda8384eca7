// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

namespace wavetap::softgpu::isa_test {

// Halves: 0x3c00 1, 0x4000 2, 0x4200 3, 0x4400 4, 0x4500 5, 0x4900 10, 0x3800 0.5, 0x7c00 infinity,
// 0x7bff the largest, 0x0001 the smallest, 0x7e00 NaN.
std::vector<VectorCase> half_cases() {
    std::vector<VectorCase> out;
    const auto add = [&](const char* text, std::vector<Row> rows) {
        out.push_back({text, std::move(rows)});
    };
    const auto keep = [&](const char* text, std::vector<Row> rows) {
        out.push_back({text, std::move(rows), false, 0, 0xabcd4900});
    };
    add("v_add_f16_e32 v8, v2, v4", {{0x3c00, 0x4000, 0, 0x4200},
                                     {0x7bff, 0x7bff, 0, 0x7c00},
                                     {1, 1, 0, 2},
                                     {0x3c00, 0x1000, 0, 0x3c00},
                                     {0x7c00, 0xfc00, 0, 0x7e00}});
    add("v_sub_f16_e32 v8, v2, v4", {{0x3c00, 0x4000, 0, 0xbc00}});
    add("v_subrev_f16_e32 v8, v2, v4", {{0x3c00, 0x4000, 0, 0x3c00}});
    add("v_mul_f16_e32 v8, v2, v4", {{0x4000, 0xc200, 0, 0xc600}, {0x0400, 0x3800, 0, 0x0200}});
    out.push_back({"v_mac_f16_e32 v8, v2, v4", {{0x4000, 0x4200, 0, 0x4c00}}, false, 0, 0x4900});
    add("v_madmk_f16 v8, v2, 0x4200, v4", {{0x4000, 0x4400, 0, 0x4900}});
    add("v_madak_f16 v8, v2, v4, 0x4400", {{0x4000, 0x4200, 0, 0x4900}});
    keep("v_mad_f16 v8, v2, v4, v6", {{0x4000, 0x4200, 0x4400, 0xabcd4900}});
    add("v_mad_legacy_f16 v8, v2, v4, v6", {{0x4000, 0x4200, 0x4400, 0x4900}});
    // (1 + 2^-10)(1 - 2^-10) - 1 = -2^-20 only if the product is not rounded.
    keep("v_fma_f16 v8, v2, v4, v6", {{0x3c01, 0x3bfe, 0xbc00, 0xabcd8010}});
    add("v_fma_legacy_f16 v8, v2, v4, v6", {{0x4000, 0x4200, 0x4400, 0x4900}});
    add("v_min_f16_e32 v8, v2, v4", {{0x3c00, 0x4000, 0, 0x3c00},
                                     {0x7e00, 0x4000, 0, 0x4000},
                                     {0, 0x8000, 0, 0x8000},
                                     {0x7d00, 0x4000, 0, 0x7f00}});
    add("v_max_f16_e32 v8, v2, v4",
        {{0x3c00, 0x4000, 0, 0x4000}, {0x3c00, 0x7e00, 0, 0x3c00}, {0, 0x8000, 0, 0}});
    keep("v_min3_f16 v8, v2, v4, v6", {{0x4200, 0x3c00, 0x4000, 0xabcd3c00}});
    keep("v_max3_f16 v8, v2, v4, v6", {{0x4200, 0x3c00, 0x4000, 0xabcd4200}});
    keep("v_med3_f16 v8, v2, v4, v6", {{0x4200, 0x3c00, 0x4000, 0xabcd4000}});
    add("v_trunc_f16_e32 v8, v2", {{0xc180, 0, 0, 0xc000}});
    add("v_ceil_f16_e32 v8, v2", {{0x4080, 0, 0, 0x4200}});
    add("v_floor_f16_e32 v8, v2", {{0xc080, 0, 0, 0xc200}});
    add("v_rndne_f16_e32 v8, v2", {{0x4100, 0, 0, 0x4000}, {0x4300, 0, 0, 0x4400}});
    add("v_fract_f16_e32 v8, v2", {{0x4180, 0, 0, 0x3a00}, {0x8001, 0, 0, 0x3bff}});
    add("v_frexp_mant_f16_e32 v8, v2", {{0x4a00, 0, 0, 0x3a00}});
    add("v_frexp_exp_i16_f16_e32 v8, v2", {{0x4a00, 0, 0, 4}, {0x3400, 0, 0, 0xffff}});
    add("v_ldexp_f16_e32 v8, v2, v4", {{0x3e00, 3, 0, 0x4a00}, {0x3c00, 0xffe8, 0, 1}});
    add("v_rcp_f16_e32 v8, v2", {{0x4400, 0, 0, 0x3400}, {0, 0, 0, 0x7c00}});
    add("v_sqrt_f16_e32 v8, v2", {{0x4400, 0, 0, 0x4000}});
    add("v_rsq_f16_e32 v8, v2", {{0x4400, 0, 0, 0x3800}});
    add("v_log_f16_e32 v8, v2", {{0x4400, 0, 0, 0x4000}});
    add("v_exp_f16_e32 v8, v2", {{0x4000, 0, 0, 0x4400}});
    add("v_sin_f16_e32 v8, v2", {{0x3400, 0, 0, 0x3c00}});
    add("v_cos_f16_e32 v8, v2", {{0x3800, 0, 0, 0xbc00}});
    keep("v_div_fixup_f16 v8, v2, v4, v6",
         {{0x3800, 0xc400, 0x4000, 0xabcdb800}, {0x3c00, 0, 0x4000, 0xabcd7c00}});
    add("v_div_fixup_legacy_f16 v8, v2, v4, v6", {{0x3800, 0xc400, 0x4000, 0xb800}});
    add("v_fma_mix_f32 v8, v2, v4, v6", {{F(2), F(3), F(4), F(10)}});
    add("v_fma_mix_f32 v8, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,1,0]",
        {{0x40000000, 0x4200, F(4), F(10)}});
    keep("v_fma_mixlo_f16 v8, v2, v4, v6", {{F(2), F(3), F(4), 0xabcd4900}});
    keep("v_fma_mixhi_f16 v8, v2, v4, v6", {{F(2), F(3), F(4), 0x49004900}});
    return out;
}

std::vector<VectorCase> packed_cases() {
    std::vector<VectorCase> out;
    const auto add = [&](const char* text, std::vector<Row> rows, bool wide = false) {
        out.push_back({text, std::move(rows), wide});
    };
    add("v_pk_add_f16 v8, v2, v4", {{0x40003c00, 0x42004000, 0, 0x45004200}});
    add("v_pk_add_f16 v8, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]",
        {{0x40003c00, 0x42004000, 0, 0x44004400}});
    add("v_pk_add_f16 v8, v2, v4 neg_lo:[1,0] neg_hi:[0,1]",
        {{0x40003c00, 0x42004000, 0, 0xbc003c00}});
    add("v_pk_mul_f16 v8, v2, v4", {{0x40003c00, 0x42004000, 0, 0x46004000}});
    add("v_pk_fma_f16 v8, v2, v4, v6", {{0x40003c00, 0x42004000, 0x44003c00, 0x49004200}});
    out.push_back({"v_pk_fmac_f16 v8, v2, v4",
                   {{0x40003c00, 0x42004000, 0, 0x49004200}},
                   false,
                   0,
                   0x44003c00});
    add("v_pk_min_f16 v8, v2, v4", {{0x44003c00, 0x42004000, 0, 0x42003c00}});
    add("v_pk_max_f16 v8, v2, v4", {{0x44003c00, 0x42004000, 0, 0x44004000}});
    add("v_pk_add_i16 v8, v2, v4", {{0x7fff0001, 0x00010002, 0, 0x80000003}});
    add("v_pk_add_i16 v8, v2, v4 clamp", {{0x7fff0001, 0x00010002, 0, 0x7fff0003}});
    add("v_pk_sub_i16 v8, v2, v4", {{0x80000005, 0x00010002, 0, 0x7fff0003}});
    add("v_pk_add_u16 v8, v2, v4", {{0xffff0001, 0x00020002, 0, 0x00010003}});
    add("v_pk_add_u16 v8, v2, v4 clamp", {{0xffff0001, 0x00020002, 0, 0xffff0003}});
    add("v_pk_sub_u16 v8, v2, v4", {{0x00010005, 0x00020002, 0, 0xffff0003}});
    add("v_pk_sub_u16 v8, v2, v4 clamp", {{0x00010005, 0x00020002, 0, 0x00000003}});
    add("v_pk_mul_lo_u16 v8, v2, v4", {{0x01010003, 0x01010004, 0, 0x0201000c}});
    add("v_pk_mad_u16 v8, v2, v4, v6", {{0x01010003, 0x01010004, 0x00010002, 0x0202000e}});
    add("v_pk_mad_i16 v8, v2, v4, v6", {{0xffff0003, 0x00050004, 0x00010002, 0xfffc000e}});
    add("v_pk_lshlrev_b16 v8, v2, v4", {{0x00040001, 0x00110011, 0, 0x01100022}});
    add("v_pk_lshrrev_b16 v8, v2, v4", {{0x00040001, 0x80100010, 0, 0x08010008}});
    add("v_pk_ashrrev_i16 v8, v2, v4", {{0x00040001, 0x80108000, 0, 0xf801c000}});
    add("v_pk_min_i16 v8, v2, v4", {{0xffff0005, 0x00010004, 0, 0xffff0004}});
    add("v_pk_max_i16 v8, v2, v4", {{0xffff0005, 0x00010004, 0, 0x00010005}});
    add("v_pk_min_u16 v8, v2, v4", {{0xffff0005, 0x00010004, 0, 0x00010004}});
    add("v_pk_max_u16 v8, v2, v4", {{0xffff0005, 0x00010004, 0, 0xffff0005}});
    add("v_pack_b32_f16 v8, v2, v4", {{0x11113c00, 0x22224000, 0, 0x40003c00}});
    add("v_pack_b32_f16 v8, v2, v4 op_sel:[1,1,0]", {{0x3c001111, 0x40002222, 0, 0x40003c00}});
    const auto pair = [](float lo, float hi) { return F(hi) << 32 | F(lo); };
    add("v_pk_add_f32 v[8:9], v[2:3], v[4:5]", {{pair(1, 2), pair(10, 20), 0, pair(11, 22)}}, true);
    add("v_pk_add_f32 v[8:9], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]",
        {{pair(1, 2), pair(10, 20), 0, pair(12, 21)}}, true);
    add("v_pk_mul_f32 v[8:9], v[2:3], v[4:5] neg_lo:[1,0]",
        {{pair(1, 2), pair(10, 20), 0, pair(-10, 40)}}, true);
    add("v_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[6:7]",
        {{pair(1, 2), pair(10, 20), pair(3, 4), pair(13, 44)}}, true);
    add("v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[0,1]",
        {{0x200000001, 0x400000003, 0, 0x400000001}}, true);
    add("v_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[1,0]",
        {{0x200000001, 0x400000003, 0, 0x300000002}}, true);
    add("v_dot2_f32_f16 v8, v2, v4, v6", {{0x40003c00, 0x42004000, F(1), F(9)}});
    out.push_back(
        {"v_dot2c_f32_f16_e32 v8, v2, v4", {{0x40003c00, 0x42004000, 0, F(9)}}, false, 0, F(1)});
    add("v_dot2_i32_i16 v8, v2, v4, v6", {{0xffff0002, 0x00050003, 10, 11}});
    add("v_dot2_u32_u16 v8, v2, v4, v6", {{0xffff0002, 0x00010003, 10, 0x1000f}});
    add("v_dot4_i32_i8 v8, v2, v4, v6", {{0xff020304, 0x05010101, 10, 14}});
    add("v_dot4_u32_u8 v8, v2, v4, v6", {{0xff020304, 0x02010101, 10, 529}});
    add("v_dot8_i32_i4 v8, v2, v4, v6", {{0xf1111111, 0x51111111, 10, 12}});
    add("v_dot8_u32_u4 v8, v2, v4, v6", {{0xf1111111, 0x21111111, 10, 47}});
    out.push_back(
        {"v_dot2c_i32_i16_e32 v8, v2, v4", {{0xffff0002, 0x00050003, 0, 11}}, false, 0, 10});
    out.push_back(
        {"v_dot4c_i32_i8_e32 v8, v2, v4", {{0xff020304, 0x05010101, 0, 14}}, false, 0, 10});
    out.push_back(
        {"v_dot8c_i32_i4_e32 v8, v2, v4", {{0xf1111111, 0x51111111, 0, 12}}, false, 0, 10});
    return out;
}

} // namespace wavetap::softgpu::isa_test
