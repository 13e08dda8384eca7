// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/isa_test_util.hpp"

namespace wavetap::softgpu::isa_test {
namespace {

TEST(IsaExecuteTest, VectorAdd_AllLanes) {
    Machine m;
    for (unsigned i = 0; i < kLanes; ++i)
        m.v(0)[i] = i;
    const StepInfo end = m.run("v_add_u32_e32 v1, 5, v0");
    EXPECT_EQ(end.outcome, Outcome::kEnd);
    for (unsigned i = 0; i < kLanes; ++i)
        EXPECT_EQ(m.v(1)[i], i + 5);
}

} // namespace
} // namespace wavetap::softgpu::isa_test
