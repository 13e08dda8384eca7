// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <cmath>
#include <limits>

namespace wavetap::softgpu::isa_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::uint64_t kQuietNan = 0x7fc00000;
constexpr std::uint64_t kSignalingNan = 0x7f800001;
constexpr std::uint64_t kQuieted = 0x7fc00001;
constexpr std::uint64_t kTiny = 1;         // smallest subnormal
constexpr std::uint64_t kMax = 0x7f7fffff; // largest finite
constexpr std::uint64_t kMinusZero = 0x80000000;

constexpr double kDInf = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kDQuietNan = 0x7ff8000000000000;
constexpr std::uint64_t kDMinusZero = 0x8000000000000000;

} // namespace

std::vector<VectorCase> float_cases() {
    std::vector<VectorCase> out;
    const auto add = [&](const char* text, std::vector<Row> rows) {
        out.push_back({text, std::move(rows)});
    };
    add("v_add_f32_e32 v8, v2, v4", {{F(1.5F), F(2.25F), 0, F(3.75F)},
                                     {kTiny, kTiny, 0, 2},
                                     {kMax, kMax, 0, F(kInf)},
                                     {F(kInf), F(-kInf), 0, kQuietNan},
                                     {kSignalingNan, F(1), 0, kQuieted},
                                     {F(1), kQuietNan, 0, kQuietNan},
                                     {kMinusZero, kMinusZero, 0, kMinusZero},
                                     {F(1), F(0x1p-24F), 0, F(1)},
                                     {F(1 + 0x1p-23F), F(0x1p-24F), 0, F(1 + 0x1p-22F)}});
    add("v_sub_f32_e32 v8, v2, v4", {{F(1.5F), F(2.25F), 0, F(-0.75F)}, {F(2), F(2), 0, 0}});
    add("v_subrev_f32_e32 v8, v2, v4", {{F(1.5F), F(2.25F), 0, F(0.75F)}});
    add("v_mul_f32_e32 v8, v2, v4", {{F(1.5F), F(-2), 0, F(-3)},
                                     {F(0), F(kInf), 0, kQuietNan},
                                     {F(0x1p-100F), F(0x1p-49F), 0, kTiny},
                                     {kMinusZero, F(5), 0, kMinusZero}});
    add("v_mul_legacy_f32 v8, v2, v4", {{F(0), F(kInf), 0, 0}, {F(3), F(4), 0, F(12)}});
    add("v_fma_f32 v8, v2, v4, v6", {{F(1 + 0x1p-23F), F(1 - 0x1p-23F), F(-1), F(-0x1p-46F)},
                                     {F(2), F(3), F(4), F(10)},
                                     {F(kInf), F(0), F(1), kQuietNan}});
    add("v_mad_f32 v8, v2, v4, v6",
        {{F(1 + 0x1p-23F), F(1 - 0x1p-23F), F(-1), 0}, {F(2), F(3), F(4), F(10)}});
    add("v_mad_legacy_f32 v8, v2, v4, v6",
        {{F(0), F(kInf), F(4), F(4)}, {F(2), F(3), F(4), F(10)}});
    out.push_back({"v_fmac_f32_e32 v8, v2, v4", {{F(2), F(3), 0, F(16)}}, false, 0, F(10)});
    out.push_back({"v_mac_f32_e32 v8, v2, v4", {{F(2), F(3), 0, F(16)}}, false, 0, F(10)});
    add("v_madmk_f32 v8, v2, 0x40a00000, v4", {{F(2), F(3), 0, F(13)}});
    add("v_madak_f32 v8, v2, v4, 0x40a00000", {{F(2), F(3), 0, F(11)}});
    const std::vector<Row> min_rows = {{F(1), F(2), 0, F(1)},
                                       {kQuietNan, F(2), 0, F(2)},
                                       {F(1), kQuietNan, 0, F(1)},
                                       {kSignalingNan, F(2), 0, kQuieted},
                                       {kMinusZero, F(0), 0, kMinusZero},
                                       {F(0), kMinusZero, 0, kMinusZero},
                                       {F(-kInf), F(1), 0, F(-kInf)}};
    add("v_min_f32_e32 v8, v2, v4", min_rows);
    add("v_max_f32_e32 v8, v2, v4", {{F(1), F(2), 0, F(2)},
                                     {kQuietNan, F(2), 0, F(2)},
                                     {F(1), kSignalingNan, 0, kQuieted},
                                     {kMinusZero, F(0), 0, F(0)},
                                     {F(0), kMinusZero, 0, F(0)},
                                     {kQuietNan, kQuietNan, 0, kQuietNan}});
    add("v_min3_f32 v8, v2, v4, v6", {{F(3), F(1), F(2), F(1)}, {kQuietNan, F(5), F(4), F(4)}});
    add("v_max3_f32 v8, v2, v4, v6", {{F(3), F(1), F(2), F(3)}, {kQuietNan, F(5), F(4), F(5)}});
    add("v_med3_f32 v8, v2, v4, v6", {{F(3), F(1), F(2), F(2)},
                                      {F(1), F(3), F(2), F(2)},
                                      {F(2), F(2), F(9), F(2)},
                                      {kQuietNan, F(5), F(4), F(4)}});
    add("v_trunc_f32_e32 v8, v2", {{F(-2.75F), 0, 0, F(-2)},
                                   {F(2.75F), 0, 0, F(2)},
                                   {F(-0.5F), 0, 0, kMinusZero},
                                   {F(kInf), 0, 0, F(kInf)}});
    add("v_ceil_f32_e32 v8, v2", {{F(-2.75F), 0, 0, F(-2)}, {F(2.25F), 0, 0, F(3)}});
    add("v_floor_f32_e32 v8, v2", {{F(-2.25F), 0, 0, F(-3)}, {F(2.75F), 0, 0, F(2)}});
    add("v_rndne_f32_e32 v8, v2", {{F(0.5F), 0, 0, F(0)},
                                   {F(1.5F), 0, 0, F(2)},
                                   {F(2.5F), 0, 0, F(2)},
                                   {F(-1.5F), 0, 0, F(-2)},
                                   {F(-0.25F), 0, 0, kMinusZero},
                                   {F(8388609.0F), 0, 0, F(8388609.0F)}});
    add("v_fract_f32_e32 v8, v2", {{F(2.75F), 0, 0, F(0.75F)},
                                   {F(-2.75F), 0, 0, F(0.25F)},
                                   {F(-0x1p-30F), 0, 0, 0x3f7fffff}});
    add("v_frexp_mant_f32_e32 v8, v2", {{F(12), 0, 0, F(0.75F)},
                                        {F(-1), 0, 0, F(-0.5F)},
                                        {F(kInf), 0, 0, F(kInf)},
                                        {kTiny, 0, 0, F(0.5F)}});
    add("v_frexp_exp_i32_f32_e32 v8, v2", {{F(12), 0, 0, 4},
                                           {F(0.25F), 0, 0, 0xffffffff},
                                           {F(0), 0, 0, 0},
                                           {F(kInf), 0, 0, 0},
                                           {kTiny, 0, 0, 0xffffff6c}});
    add("v_ldexp_f32 v8, v2, v4", {{F(1.5F), 3, 0, F(12)},
                                   {F(1), 0xffffff6b, 0, kTiny},
                                   {F(1), 200, 0, F(kInf)},
                                   {F(-1), 0xffffff00, 0, kMinusZero}});
    add("v_exp_f32_e32 v8, v2", {{F(3), 0, 0, F(8)},
                                 {F(-1), 0, 0, F(0.5F)},
                                 {F(-kInf), 0, 0, 0},
                                 {F(0), 0, 0, F(1)},
                                 {F(0.5F), 0, 0, F(1.41421356F)}});
    add("v_exp_legacy_f32_e32 v8, v2", {{F(3), 0, 0, F(8)}});
    add("v_log_f32_e32 v8, v2",
        {{F(8), 0, 0, F(3)}, {F(0), 0, 0, F(-kInf)}, {F(-1), 0, 0, kQuietNan}, {F(1), 0, 0, 0}});
    add("v_log_legacy_f32_e32 v8, v2", {{F(8), 0, 0, F(3)}});
    const std::vector<Row> reciprocals = {{F(4), 0, 0, F(0.25F)},
                                          {F(0), 0, 0, F(kInf)},
                                          {kMinusZero, 0, 0, F(-kInf)},
                                          {F(-kInf), 0, 0, kMinusZero},
                                          {F(3), 0, 0, F(1.0F / 3.0F)}};
    add("v_rcp_f32_e32 v8, v2", reciprocals);
    add("v_rcp_iflag_f32_e32 v8, v2", reciprocals);
    add("v_rsq_f32_e32 v8, v2", {{F(4), 0, 0, F(0.5F)},
                                 {F(0), 0, 0, F(kInf)},
                                 {F(-4), 0, 0, kQuietNan},
                                 {F(kInf), 0, 0, 0}});
    add("v_sqrt_f32_e32 v8, v2", {{F(9), 0, 0, F(3)},
                                  {F(-1), 0, 0, kQuietNan},
                                  {kMinusZero, 0, 0, kMinusZero},
                                  {F(2), 0, 0, F(1.41421356F)}});
    add("v_sin_f32_e32 v8, v2", {{F(0.25F), 0, 0, F(1)},
                                 {F(0.75F), 0, 0, F(-1)},
                                 {F(0), 0, 0, 0},
                                 {F(kInf), 0, 0, kQuietNan},
                                 {F(1.0F / 12), 0, 0, F(0.5F)}});
    add("v_cos_f32_e32 v8, v2", {{F(0.5F), 0, 0, F(-1)}, {F(0), 0, 0, F(1)}, {F(0.25F), 0, 0, 0}});
    add("v_div_scale_f32 v8, vcc, v4, v4, v2", {{F(1), F(3), 0, F(3), 0},
                                                {F(0x1p100F), F(0x1p-10F), 0, F(0x1p54F), 1},
                                                {F(1), 0x00400000, 0, F(0x1p-63F), 1},
                                                {F(0x1p-40F), 0x00400000, 0, F(0x1p-63F), 0},
                                                {F(1), F(0), 0, kQuietNan, 0}});
    out.push_back({"v_div_fmas_f32 v8, v2, v4, v6", {{F(2), F(3), F(4), F(10)}}, false, 0, 0});
    out.push_back({"v_div_fmas_f32 v8, v2, v4, v6",
                   {{F(2), F(3), F(4), F(10 * 0x1p64F)}, {F(2), F(3), F(0.5F), F(6.5F * 0x1p-64F)}},
                   false,
                   ~std::uint64_t{0},
                   0});
    add("v_div_fixup_f32 v8, v2, v4, v6", {{F(0.5F), F(4), F(2), F(0.5F)},
                                           {F(0.5F), F(-4), F(2), F(-0.5F)},
                                           {F(1), F(0), F(2), F(kInf)},
                                           {F(1), F(0), F(0), kQuietNan},
                                           {F(1), F(kInf), F(kInf), kQuietNan},
                                           {F(1), F(-kInf), F(2), kMinusZero},
                                           {F(1), kQuietNan, F(2), kQuietNan}});
    add("v_cubeid_f32 v8, v2, v4, v6", {{F(1), F(2), F(-3), F(5)}, {F(-3), F(2), F(1), F(1)}});
    add("v_cubesc_f32 v8, v2, v4, v6", {{F(1), F(2), F(-3), F(-1)}, {F(-3), F(2), F(1), F(1)}});
    add("v_cubetc_f32 v8, v2, v4, v6", {{F(1), F(2), F(-3), F(-2)}, {F(1), F(5), F(-3), F(-3)}});
    add("v_cubema_f32 v8, v2, v4, v6", {{F(1), F(2), F(-3), F(-6)}, {F(-3), F(2), F(1), F(-6)}});
    return out;
}

std::vector<VectorCase> double_cases() {
    std::vector<VectorCase> out;
    const auto add = [&](const char* text, std::vector<Row> rows, bool wide = true) {
        out.push_back({text, std::move(rows), wide});
    };
    add("v_add_f64 v[8:9], v[2:3], v[4:5]",
        {{D(1.5), D(2.25), 0, D(3.75)}, {D(kDInf), D(-kDInf), 0, kDQuietNan}, {1, 1, 0, 2}});
    add("v_mul_f64 v[8:9], v[2:3], v[4:5]", {{D(1.5), D(-2), 0, D(-3)}});
    add("v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]",
        {{D(1 + 0x1p-52), D(1 - 0x1p-52), D(-1), D(-0x1p-104)}});
    out.push_back(
        {"v_fmac_f64_e32 v[8:9], v[2:3], v[4:5]", {{D(2), D(3), 0, D(16)}}, true, 0, D(10)});
    add("v_min_f64 v[8:9], v[2:3], v[4:5]",
        {{D(1), D(2), 0, D(1)}, {kDQuietNan, D(2), 0, D(2)}, {D(0), kDMinusZero, 0, kDMinusZero}});
    add("v_max_f64 v[8:9], v[2:3], v[4:5]",
        {{D(1), D(2), 0, D(2)}, {D(1), 0x7ff0000000000001, 0, 0x7ff8000000000001}});
    add("v_trunc_f64_e32 v[8:9], v[2:3]", {{D(-2.75), 0, 0, D(-2)}});
    add("v_ceil_f64_e32 v[8:9], v[2:3]", {{D(2.25), 0, 0, D(3)}});
    add("v_floor_f64_e32 v[8:9], v[2:3]", {{D(-2.25), 0, 0, D(-3)}});
    add("v_rndne_f64_e32 v[8:9], v[2:3]", {{D(2.5), 0, 0, D(2)}, {D(3.5), 0, 0, D(4)}});
    add("v_fract_f64_e32 v[8:9], v[2:3]",
        {{D(-2.75), 0, 0, D(0.25)}, {D(-0x1p-80), 0, 0, 0x3fefffffffffffff}});
    add("v_frexp_mant_f64_e32 v[8:9], v[2:3]", {{D(12), 0, 0, D(0.75)}});
    add("v_frexp_exp_i32_f64_e32 v8, v[2:3]", {{D(12), 0, 0, 4}, {D(kDInf), 0, 0, 0}}, false);
    add("v_ldexp_f64 v[8:9], v[2:3], v4", {{D(1.5), 3, 0, D(12)}, {D(1), 0xfffff000, 0, 0}});
    add("v_rcp_f64_e32 v[8:9], v[2:3]", {{D(4), 0, 0, D(0.25)}, {D(0), 0, 0, D(kDInf)}});
    add("v_rsq_f64_e32 v[8:9], v[2:3]", {{D(4), 0, 0, D(0.5)}, {D(-4), 0, 0, kDQuietNan}});
    add("v_sqrt_f64_e32 v[8:9], v[2:3]", {{D(9), 0, 0, D(3)}});
    add("v_div_scale_f64 v[8:9], vcc, v[4:5], v[4:5], v[2:3]",
        {{D(1), D(3), 0, D(3), 0}, {D(0x1p900), D(0x1p-10), 0, D(0x1p118), 1}});
    out.push_back({"v_div_fmas_f64 v[8:9], v[2:3], v[4:5], v[6:7]",
                   {{D(2), D(3), D(4), D(10 * 0x1p128)}, {D(2), D(3), D(0.5), D(6.5 * 0x1p-128)}},
                   true,
                   ~std::uint64_t{0},
                   0});
    add("v_div_fixup_f64 v[8:9], v[2:3], v[4:5], v[6:7]",
        {{D(0.5), D(-4), D(2), D(-0.5)}, {D(1), D(0), D(2), D(kDInf)}});
    // The first 53 bits of 2/pi are 0xa2f9836e4e4415 >> 3.
    add("v_trig_preop_f64 v[8:9], v[2:3], v4",
        {{D(1), 0, 0, D(static_cast<double>(0xa2f9836e4e4415ULL >> 3) * 0x1p-53)}});
    return out;
}

} // namespace wavetap::softgpu::isa_test
