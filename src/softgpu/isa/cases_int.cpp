// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <limits>

namespace wavetap::softgpu::isa_test {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::uint64_t kOnes = 0xffffffff;
constexpr std::uint64_t kMinInt = 0x80000000;
constexpr std::uint64_t kMaxInt = 0x7fffffff;

} // namespace

std::vector<VectorCase> int_cases() {
    std::vector<VectorCase> out;
    const auto add = [&](const char* text, std::vector<Row> rows) {
        out.push_back({text, std::move(rows)});
    };
    const auto add64 = [&](const char* text, std::vector<Row> rows) {
        out.push_back({text, std::move(rows), true});
    };
    add("v_mov_b32_e32 v8, v2", {{0x12345678, 0, 0, 0x12345678}});
    out.push_back({"v_cndmask_b32_e32 v8, v2, v4, vcc",
                   {{1, 2, 0, 1}, {1, 2, 0, 2}},
                   false,
                   0xaaaaaaaaaaaaaaaa});
    // Addition and subtraction.
    add("v_add_u32_e32 v8, v2, v4", {{kOnes, 2, 0, 1}, {3, 4, 0, 7}});
    add("v_add_u32_e64 v8, v2, v4 clamp", {{kOnes, 2, 0, kOnes}, {3, 4, 0, 7}});
    add("v_sub_u32_e32 v8, v2, v4", {{1, 2, 0, kOnes}});
    add("v_sub_u32_e64 v8, v2, v4 clamp", {{1, 2, 0, 0}, {9, 2, 0, 7}});
    add("v_subrev_u32_e32 v8, v2, v4", {{2, 1, 0, kOnes}});
    add("v_add_i32 v8, v2, v4", {{kMaxInt, 1, 0, kMinInt}});
    add("v_add_i32 v8, v2, v4 clamp", {{kMaxInt, 1, 0, kMaxInt}, {kMinInt, kOnes, 0, kMinInt}});
    add("v_sub_i32 v8, v2, v4", {{kMinInt, 1, 0, kMaxInt}});
    add("v_sub_i32 v8, v2, v4 clamp", {{kMinInt, 1, 0, kMinInt}});
    add("v_add_co_u32_e32 v8, vcc, v2, v4", {{kOnes, 1, 0, 0, 1}, {1, 2, 0, 3, 0}});
    add("v_sub_co_u32_e32 v8, vcc, v2, v4", {{1, 2, 0, kOnes, 1}, {5, 2, 0, 3, 0}});
    add("v_subrev_co_u32_e32 v8, vcc, v2, v4", {{2, 1, 0, kOnes, 1}, {2, 5, 0, 3, 0}});
    out.push_back({"v_addc_co_u32_e32 v8, vcc, v2, v4, vcc",
                   {{kOnes, 0, 0, 0, 1}, {1, 2, 0, 4, 0}, {kOnes, kOnes, 0, kOnes, 1}},
                   false,
                   kAll});
    out.push_back({"v_addc_co_u32_e32 v8, vcc, v2, v4, vcc", {{kOnes, 0, 0, kOnes, 0}}, false, 0});
    out.push_back({"v_subb_co_u32_e32 v8, vcc, v2, v4, vcc",
                   {{1, 1, 0, kOnes, 1}, {5, 2, 0, 2, 0}},
                   false,
                   kAll});
    out.push_back({"v_subbrev_co_u32_e32 v8, vcc, v2, v4, vcc",
                   {{1, 1, 0, kOnes, 1}, {2, 5, 0, 2, 0}},
                   false,
                   kAll});
    add("v_add3_u32 v8, v2, v4, v6", {{1, 2, 3, 6}, {kOnes, 1, 1, 1}});
    add("v_lshl_add_u32 v8, v2, v4, v6", {{3, 2, 5, 17}, {1, 33, 0, 2}});
    add("v_add_lshl_u32 v8, v2, v4, v6", {{3, 2, 4, 80}});
    add("v_lshl_or_b32 v8, v2, v4, v6", {{3, 4, 5, 0x35}});
    add("v_and_or_b32 v8, v2, v4, v6", {{0xff, 0x0f0, 0xf00, 0xff0}});
    add("v_or3_b32 v8, v2, v4, v6", {{1, 2, 4, 7}});
    add("v_xad_u32 v8, v2, v4, v6", {{6, 3, 10, 15}});
    // Multiplication.
    add("v_mul_i32_i24_e32 v8, v2, v4", {{0x00ffffff, 5, 0, 0xfffffffb}, {0xff000003, 4, 0, 12}});
    add("v_mul_hi_i32_i24_e32 v8, v2, v4",
        {{0x00ffffff, 5, 0, kOnes}, {0x7fffff, 0x7fffff, 0, 0x3fff}});
    add("v_mul_u32_u24_e32 v8, v2, v4", {{0xff000003, 4, 0, 12}});
    add("v_mul_hi_u32_u24_e32 v8, v2, v4", {{0xffffff, 0xffffff, 0, 0xffff}});
    add("v_mad_i32_i24 v8, v2, v4, v6", {{0x00ffffff, 5, 7, 2}});
    add("v_mad_u32_u24 v8, v2, v4, v6", {{0xff000003, 4, 5, 17}});
    add("v_mad_u32_u24 v8, v2, v4, v6 clamp", {{0xffffff, 0xffffff, 0, kOnes}});
    add("v_mul_lo_u32 v8, v2, v4", {{0x10001, 0x10001, 0, 0x20001}});
    add("v_mul_hi_u32 v8, v2, v4", {{kOnes, kOnes, 0, 0xfffffffe}});
    add("v_mul_hi_i32 v8, v2, v4", {{kOnes, kOnes, 0, 0}, {kMinInt, 2, 0, kOnes}});
    add64("v_mad_u64_u32 v[8:9], vcc, v2, v4, v[6:7]",
          {{kOnes, kOnes, 1, 0xfffffffe00000002, 0}, {kOnes, kOnes, kAll, 0xfffffffe00000000, 1}});
    add64("v_mad_i64_i32 v[8:9], vcc, v2, v4, v[6:7]", {{kOnes, 5, 2, 0xfffffffffffffffd, 0}});
    // Minimum, maximum, median.
    add("v_min_i32_e32 v8, v2, v4", {{kOnes, 1, 0, kOnes}});
    add("v_max_i32_e32 v8, v2, v4", {{kOnes, 1, 0, 1}});
    add("v_min_u32_e32 v8, v2, v4", {{kOnes, 1, 0, 1}});
    add("v_max_u32_e32 v8, v2, v4", {{kOnes, 1, 0, kOnes}});
    add("v_min3_i32 v8, v2, v4, v6", {{kOnes, 1, 5, kOnes}});
    add("v_max3_i32 v8, v2, v4, v6", {{kOnes, 1, 5, 5}});
    add("v_med3_i32 v8, v2, v4, v6", {{kOnes, 1, 5, 1}, {5, 1, kOnes, 1}, {1, kOnes, 5, 1}});
    add("v_min3_u32 v8, v2, v4, v6", {{kOnes, 1, 5, 1}});
    add("v_max3_u32 v8, v2, v4, v6", {{kOnes, 1, 5, kOnes}});
    add("v_med3_u32 v8, v2, v4, v6", {{kOnes, 1, 5, 5}});
    // Shifts.
    add("v_lshlrev_b32_e32 v8, v2, v4", {{4, 0x11, 0, 0x110}, {33, 1, 0, 2}});
    add("v_lshrrev_b32_e32 v8, v2, v4", {{4, 0x80000010, 0, 0x08000001}});
    add("v_ashrrev_i32_e32 v8, v2, v4", {{4, 0x80000010, 0, 0xf8000001}});
    add64("v_lshlrev_b64 v[8:9], v2, v[4:5]", {{36, 0x11, 0, 0x11000000000}, {65, 1, 0, 2}});
    add64("v_lshrrev_b64 v[8:9], v2, v[4:5]", {{36, 0x8000000000000000, 0, 0x08000000}});
    add64("v_ashrrev_i64 v[8:9], v2, v[4:5]", {{36, 0x8000000000000000, 0, 0xfffffffff8000000}});
    add("v_alignbit_b32 v8, v2, v4, v6", {{0x12345678, 0x9abcdef0, 8, 0x789abcde}});
    add("v_alignbyte_b32 v8, v2, v4, v6", {{0x12345678, 0x9abcdef0, 3, 0x3456789a}});
    // Logic and bits.
    add("v_and_b32_e32 v8, v2, v4", {{0xff00, 0x0ff0, 0, 0x0f00}});
    add("v_or_b32_e32 v8, v2, v4", {{0xff00, 0x0ff0, 0, 0xfff0}});
    add("v_xor_b32_e32 v8, v2, v4", {{0xff00, 0x0ff0, 0, 0xf0f0}});
    add("v_xnor_b32_e32 v8, v2, v4", {{0xff00, 0x0ff0, 0, 0xffff0f0f}});
    add("v_not_b32_e32 v8, v2", {{0xff00, 0, 0, 0xffff00ff}});
    add("v_bfrev_b32_e32 v8, v2", {{1, 0, 0, 0x80000000}, {0x12345678, 0, 0, 0x1e6a2c48}});
    add("v_ffbh_u32_e32 v8, v2", {{1, 0, 0, 31}, {0, 0, 0, kOnes}, {kMinInt, 0, 0, 0}});
    add("v_ffbl_b32_e32 v8, v2", {{8, 0, 0, 3}, {0, 0, 0, kOnes}});
    add("v_ffbh_i32_e32 v8, v2",
        {{1, 0, 0, 31}, {0xfffffff0, 0, 0, 28}, {kOnes, 0, 0, kOnes}, {0, 0, 0, kOnes}});
    add("v_bfe_u32 v8, v2, v4, v6",
        {{0x12345678, 8, 12, 0x456}, {0x12345678, 8, 0, 0}, {kOnes, 28, 8, 15}});
    add("v_bfe_i32 v8, v2, v4, v6",
        {{0x0000f000, 8, 8, 0xfffffff0}, {0x12345678, 8, 0, 0}, {kMinInt, 28, 8, 0xfffffff8}});
    add("v_bfi_b32 v8, v2, v4, v6", {{0xff00, 0x1234, 0xabcd, 0x12cd}});
    add("v_bfm_b32 v8, v2, v4", {{4, 8, 0, 0xf00}});
    add("v_bcnt_u32_b32 v8, v2, v4", {{0xff01, 10, 0, 19}});
    add("v_perm_b32 v8, v2, v4, v6", {{0x11223344, 0x85667788, 0x00070d0c, 0x8811ff00},
                                      {0x81223344, 0x85667788, 0x090b0408, 0xffff4400}});
    // Sums of absolute differences.
    add("v_sad_u8 v8, v2, v4, v6", {{0x01020304, 0x04030201, 100, 108}});
    add("v_sad_hi_u8 v8, v2, v4, v6", {{0x01020304, 0x04030201, 100, 0x80064}});
    add("v_sad_u16 v8, v2, v4, v6", {{0x00010005, 0x00040001, 10, 17}});
    add("v_sad_u32 v8, v2, v4, v6", {{5, kOnes, 1, 0xfffffffb}});
    add("v_msad_u8 v8, v2, v4, v6", {{0x01020304, 0x04000201, 100, 107}});
    add64("v_qsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]",
          {{0x0807060504030201, 0x04030201, 0x0001000100010001, 0x000d000900050001}});
    add64("v_mqsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]",
          {{0x0807060504030201, 0x00030201, 0, 0x0009000600030000}});
    add("v_lerp_u8 v8, v2, v4, v6", {{0x01020304, 0x03030303, 0x01010101, 0x02030304},
                                     {0x01020304, 0x03030303, 0, 0x02020303}});
    add("v_sat_pk_u8_i16_e32 v8, v2", {{0x0100ffff, 0, 0, 0xff00}, {0x00120034, 0, 0, 0x1234}});
    // 16 bits: the upper half of the destination becomes zero, or stays with the new encodings.
    const auto keep = [&](const char* text, std::vector<Row> rows) {
        out.push_back({text, std::move(rows), false, 0, 0xabcd0000});
    };
    add("v_add_u16_e32 v8, v2, v4", {{0xffff, 2, 0, 1}});
    add("v_add_u16_e64 v8, v2, v4 clamp", {{0xffff, 2, 0, 0xffff}});
    add("v_sub_u16_e32 v8, v2, v4", {{1, 2, 0, 0xffff}});
    add("v_subrev_u16_e32 v8, v2, v4", {{2, 1, 0, 0xffff}});
    keep("v_add_i16 v8, v2, v4", {{0x7fff, 1, 0, 0xabcd8000}});
    keep("v_add_i16 v8, v2, v4 clamp", {{0x7fff, 1, 0, 0xabcd7fff}});
    keep("v_sub_i16 v8, v2, v4", {{0x8000, 1, 0, 0xabcd7fff}});
    add("v_mul_lo_u16_e32 v8, v2, v4", {{0x101, 0x101, 0, 0x201}});
    add("v_lshlrev_b16_e32 v8, v2, v4", {{4, 0xf001, 0, 0x10}});
    add("v_lshrrev_b16_e32 v8, v2, v4", {{4, 0x8010, 0, 0x801}});
    add("v_ashrrev_i16_e32 v8, v2, v4", {{4, 0x8010, 0, 0xf801}});
    add("v_max_u16_e32 v8, v2, v4", {{0xffff, 1, 0, 0xffff}});
    add("v_max_i16_e32 v8, v2, v4", {{0xffff, 1, 0, 1}});
    add("v_min_u16_e32 v8, v2, v4", {{0xffff, 1, 0, 1}});
    add("v_min_i16_e32 v8, v2, v4", {{0xffff, 1, 0, 0xffff}});
    keep("v_min3_i16 v8, v2, v4, v6", {{0xffff, 1, 5, 0xabcdffff}});
    keep("v_max3_i16 v8, v2, v4, v6", {{0xffff, 1, 5, 0xabcd0005}});
    keep("v_med3_i16 v8, v2, v4, v6", {{0xffff, 1, 5, 0xabcd0001}});
    keep("v_min3_u16 v8, v2, v4, v6", {{0xffff, 1, 5, 0xabcd0001}});
    keep("v_max3_u16 v8, v2, v4, v6", {{0xffff, 1, 5, 0xabcdffff}});
    keep("v_med3_u16 v8, v2, v4, v6", {{0xffff, 1, 5, 0xabcd0005}});
    keep("v_mad_u16 v8, v2, v4, v6", {{0x101, 0x101, 3, 0xabcd0204}});
    keep("v_mad_i16 v8, v2, v4, v6", {{0xffff, 5, 3, 0xabcdfffe}});
    add("v_mad_legacy_u16 v8, v2, v4, v6", {{0x101, 0x101, 3, 0x204}});
    add("v_mad_legacy_i16 v8, v2, v4, v6", {{0xffff, 5, 3, 0xfffe}});
    add("v_mad_u32_u16 v8, v2, v4, v6", {{0xffff, 0xffff, 3, 0xfffe0004}});
    add("v_mad_i32_i16 v8, v2, v4, v6", {{0xffff, 5, 3, 0xfffffffe}});
    return out;
}

std::vector<VectorCase> convert_cases() {
    std::vector<VectorCase> out;
    const auto add = [&](const char* text, std::vector<Row> rows, bool wide = false) {
        out.push_back({text, std::move(rows), wide});
    };
    const std::uint64_t nan = 0x7fc00000;
    add("v_cvt_f32_i32_e32 v8, v2", {{0xfffffffb, 0, 0, F(-5)}, {0x01000001, 0, 0, F(16777216)}});
    add("v_cvt_f32_u32_e32 v8, v2", {{kOnes, 0, 0, F(4294967296.0F)}});
    add("v_cvt_u32_f32_e32 v8, v2",
        {{F(2.9F), 0, 0, 2}, {F(-1), 0, 0, 0}, {F(5e9F), 0, 0, kOnes}, {nan, 0, 0, 0}});
    add("v_cvt_i32_f32_e32 v8, v2", {{F(-2.9F), 0, 0, 0xfffffffe},
                                     {F(3e9F), 0, 0, kMaxInt},
                                     {F(-3e9F), 0, 0, kMinInt},
                                     {nan, 0, 0, 0}});
    add("v_cvt_rpi_i32_f32_e32 v8, v2", {{F(2.5F), 0, 0, 3}, {F(-2.5F), 0, 0, 0xfffffffe}});
    add("v_cvt_flr_i32_f32_e32 v8, v2", {{F(2.5F), 0, 0, 2}, {F(-2.5F), 0, 0, 0xfffffffd}});
    add("v_cvt_f16_f32_e32 v8, v2", {{F(1.5F), 0, 0, 0x3e00},
                                     {F(65520), 0, 0, 0x7c00},
                                     {F(65519), 0, 0, 0x7bff},
                                     {F(0x1p-24F), 0, 0, 1},
                                     {F(0x1p-25F), 0, 0, 0},
                                     {F(1.0F + 0x1p-11F), 0, 0, 0x3c00},
                                     {F(1.0F + 3 * 0x1p-11F), 0, 0, 0x3c02},
                                     {F(-0.0F), 0, 0, 0x8000}});
    add("v_cvt_f32_f16_e32 v8, v2", {{0x3e00, 0, 0, F(1.5F)},
                                     {1, 0, 0, F(0x1p-24F)},
                                     {0xfc00, 0, 0, 0xff800000},
                                     {0x7c01, 0, 0, 0x7fc02000}});
    add("v_cvt_off_f32_i4_e32 v8, v2", {{8, 0, 0, F(-0.5F)}, {7, 0, 0, F(0.4375F)}});
    add("v_cvt_f32_ubyte0_e32 v8, v2", {{0x04030201, 0, 0, F(1)}});
    add("v_cvt_f32_ubyte1_e32 v8, v2", {{0x04030201, 0, 0, F(2)}});
    add("v_cvt_f32_ubyte2_e32 v8, v2", {{0x04030201, 0, 0, F(3)}});
    add("v_cvt_f32_ubyte3_e32 v8, v2", {{0x04030201, 0, 0, F(4)}});
    add("v_cvt_i32_f64_e32 v8, v[2:3]",
        {{D(-2.9), 0, 0, 0xfffffffe}, {D(1e20), 0, 0, kMaxInt}, {D(-1e20), 0, 0, kMinInt}});
    add("v_cvt_u32_f64_e32 v8, v[2:3]",
        {{D(4294967295.5), 0, 0, kOnes}, {D(-3), 0, 0, 0}, {D(7.9), 0, 0, 7}});
    add("v_cvt_f64_i32_e32 v[8:9], v2", {{0xfffffffb, 0, 0, D(-5)}}, true);
    add("v_cvt_f64_u32_e32 v[8:9], v2", {{kOnes, 0, 0, D(4294967295.0)}}, true);
    add("v_cvt_f32_f64_e32 v8, v[2:3]",
        {{D(1.5), 0, 0, F(1.5F)}, {D(1e300), 0, 0, 0x7f800000}, {D(0x1p-149), 0, 0, 1}});
    add("v_cvt_f64_f32_e32 v[8:9], v2", {{F(1.5F), 0, 0, D(1.5)}, {1, 0, 0, D(0x1p-149)}}, true);
    add("v_cvt_f16_u16_e32 v8, v2", {{65535, 0, 0, 0x7c00}, {3, 0, 0, 0x4200}});
    add("v_cvt_f16_i16_e32 v8, v2", {{0xfffd, 0, 0, 0xc200}});
    add("v_cvt_u16_f16_e32 v8, v2", {{0x4200, 0, 0, 3}, {0xc200, 0, 0, 0}, {0x7c00, 0, 0, 0xffff}});
    add("v_cvt_i16_f16_e32 v8, v2", {{0xc200, 0, 0, 0xfffd}, {0x7c00, 0, 0, 0x7fff}});
    add("v_cvt_norm_i16_f16_e32 v8, v2", {{0x3c00, 0, 0, 0x7fff}, {0xbc00, 0, 0, 0x8001}});
    add("v_cvt_norm_u16_f16_e32 v8, v2", {{0x3c00, 0, 0, 0xffff}, {0x3800, 0, 0, 0x8000}});
    add("v_cvt_pkrtz_f16_f32 v8, v2, v4",
        {{F(1.0F + 0x1p-11F + 0x1p-12F), F(-70000), 0, 0xfbff3c00},
         {F(0x1p-24F), F(0x1p-15F), 0, 0x02000001}});
    add("v_cvt_pknorm_i16_f32 v8, v2, v4", {{F(1), F(-1), 0, 0x80017fff}});
    add("v_cvt_pknorm_u16_f32 v8, v2, v4", {{F(1), F(-1), 0, 0x0000ffff}});
    add("v_cvt_pknorm_i16_f16 v8, v2, v4", {{0x3c00, 0xbc00, 0, 0x80017fff}});
    add("v_cvt_pknorm_u16_f16 v8, v2, v4", {{0x3c00, 0xbc00, 0, 0x0000ffff}});
    add("v_cvt_pk_u16_u32 v8, v2, v4", {{70000, 5, 0, 0x0005ffff}});
    add("v_cvt_pk_i16_i32 v8, v2, v4", {{70000, 0xffff0000, 0, 0x80007fff}});
    add("v_cvt_pk_u8_f32 v8, v2, v4, v6",
        {{F(300), 1, 0x11223344, 0x1122ff44}, {F(2.5F), 0, 0x11223344, 0x11223302}});
    out.push_back(
        {"v_cvt_pkaccum_u8_f32 v8, v2, v4", {{F(7), 3, 0, 0x07223344}}, false, 0, 0x11223344});
    return out;
}

namespace {

/// Orders of two values: less, equal, greater, unordered.
struct Order {
    std::uint64_t a, b;
    unsigned order; ///< 0 less, 1 equal, 2 greater, 3 unordered
};

void add_compares(std::vector<VectorCase>& out, const std::string& type, bool wide,
                  const std::vector<Order>& values, bool is_float) {
    struct Operator {
        const char* name;
        unsigned truth; ///< bit = order
    };
    const std::vector<Operator> ints = {{"f", 0},  {"lt", 1}, {"eq", 2}, {"le", 3},
                                        {"gt", 4}, {"ne", 5}, {"ge", 6}, {"t", 7}};
    const std::vector<Operator> floats = {{"f", 0},    {"lt", 1},   {"eq", 2},   {"le", 3},
                                          {"gt", 4},   {"lg", 5},   {"ge", 6},   {"o", 7},
                                          {"u", 8},    {"nge", 9},  {"nlg", 10}, {"ngt", 11},
                                          {"nle", 12}, {"neq", 13}, {"nlt", 14}, {"tru", 15}};
    for (const Operator& op : is_float ? floats : ints) {
        for (const char* kind : {"v_cmp_", "v_cmpx_"}) {
            const std::string operands = wide ? "v[2:3], v[4:5]" : "v2, v4";
            VectorCase c{std::string(kind) + op.name + "_" + type + "_e32 vcc, " + operands, {}};
            for (const Order& v : values)
                c.rows.push_back({v.a, v.b, 0, 0, static_cast<int>(op.truth >> v.order & 1)});
            out.push_back(std::move(c));
        }
    }
}

} // namespace

std::vector<VectorCase> compare_cases() {
    std::vector<VectorCase> out;
    const std::uint64_t minus_one = ~std::uint64_t{0};
    add_compares(out, "i32", false, {{kOnes, 1, 0}, {5, 5, 1}, {1, kMinInt, 2}}, false);
    add_compares(out, "u32", false, {{kOnes, 1, 2}, {5, 5, 1}, {1, kMinInt, 0}}, false);
    add_compares(out, "i16", false, {{0x1234ffff, 1, 0}, {0xa0005, 5, 1}, {1, 0x8000, 2}}, false);
    add_compares(out, "u16", false, {{0x1234ffff, 1, 2}, {0xa0005, 5, 1}, {1, 0x8000, 0}}, false);
    add_compares(out, "i64", true, {{minus_one, 1, 0}, {5, 5, 1}, {0x100000000, 0xffffffff, 2}},
                 false);
    add_compares(out, "u64", true, {{minus_one, 1, 2}, {5, 5, 1}, {0xffffffff, 0x100000000, 0}},
                 false);
    add_compares(out, "f32", false,
                 {{F(-1), F(1), 0},
                  {F(0), F(-0.0F), 1},
                  {F(2), F(1), 2},
                  {0x7fc00000, F(1), 3},
                  {F(1), 0xffc00000, 3}},
                 true);
    add_compares(
        out, "f64", true,
        {{D(-1), D(1), 0}, {D(0), D(-0.0), 1}, {D(2), D(1), 2}, {0x7ff8000000000000, D(1), 3}},
        true);
    add_compares(out, "f16", false,
                 {{0xbc00, 0x3c00, 0}, {0, 0x8000, 1}, {0x4000, 0x3c00, 2}, {0x7e00, 0x3c00, 3}},
                 true);
    for (const std::string kind : {"v_cmp_class_", "v_cmpx_class_"}) {
        out.push_back({kind + "f32_e32 vcc, v2, v4",
                       {{0x7f800001, 1, 0, 0, 1},
                        {0x7fc00000, 2, 0, 0, 1},
                        {0xff800000, 4, 0, 0, 1},
                        {F(-1), 8, 0, 0, 1},
                        {0x80000001, 0x10, 0, 0, 1},
                        {0x80000000, 0x20, 0, 0, 1},
                        {0, 0x40, 0, 0, 1},
                        {1, 0x80, 0, 0, 1},
                        {F(1), 0x100, 0, 0, 1},
                        {0x7f800000, 0x200, 0, 0, 1},
                        {F(1), 0x2ff, 0, 0, 0},
                        {0, 0x3bf, 0, 0, 0}}});
        out.push_back({kind + "f64_e32 vcc, v[2:3], v4",
                       {{D(-1), 8, 0, 0, 1},
                        {1, 0x80, 0, 0, 1},
                        {0x7ff0000000000001, 1, 0, 0, 1},
                        {D(1), 0x2ff, 0, 0, 0}}});
        out.push_back({kind + "f16_e32 vcc, v2, v4",
                       {{0xbc00, 8, 0, 0, 1},
                        {1, 0x80, 0, 0, 1},
                        {0x7c00, 0x200, 0, 0, 1},
                        {0x3c00, 0x2ff, 0, 0, 0}}});
    }
    return out;
}

} // namespace wavetap::softgpu::isa_test
