// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/kernel_runner.hpp"

namespace wavetap::softgpu::isa_test {
namespace {

const char* code_object() {
    return WAVETAP_ISA_KERNELS;
}

TEST(IsaKernelTest, Saxpy_EqualsHost) {
    KernelRunner runner(code_object());
    constexpr int kCount = 1000;
    const std::uint64_t x = runner.allocate(4 * 1024);
    const std::uint64_t y = runner.allocate(4 * 1024);
    for (int i = 0; i < kCount; ++i) {
        runner.host<float>(x)[i] = static_cast<float>(i) * 0.25F;
        runner.host<float>(y)[i] = static_cast<float>(i);
    }
    runner.host<float>(y)[kCount] = -7.0F;
    Launch l;
    l.groups_x = 4;
    l.threads_x = 256;
    runner.launch("saxpy", l.arg(kCount).arg(2.5F).arg(x).arg(y));
    for (int i = 0; i < kCount; ++i) {
        const float expected =
            __builtin_fmaf(2.5F, static_cast<float>(i) * 0.25F, static_cast<float>(i));
        EXPECT_EQ(runner.host<float>(y)[i], expected) << i;
    }
    EXPECT_EQ(runner.host<float>(y)[kCount], -7.0F);
}

} // namespace
} // namespace wavetap::softgpu::isa_test
