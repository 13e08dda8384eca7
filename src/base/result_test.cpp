// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace wavetap {
namespace {

Result<int> half(int n) {
    if (n % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd", "half", ""};
    return n / 2;
}

Result<int> quarter(int n) {
    WAVETAP_TRY(const int h, half(n));
    return half(h);
}

Result<void> check(int n) {
    WAVETAP_TRY(const int q, quarter(n));
    static_cast<void>(q);
    return {};
}

Result<std::unique_ptr<int>> boxed(int n) {
    WAVETAP_CHECK_OK(check(n));
    return std::make_unique<int>(n);
}

TEST(ResultTest, TryPassesValuesAndErrors) {
    EXPECT_EQ(*quarter(8), 2);
    ASSERT_FALSE(quarter(6));
    EXPECT_EQ(to_string(quarter(6).error()), "odd (half)");
    EXPECT_TRUE(check(4));
    EXPECT_FALSE(check(3));
    EXPECT_EQ(**boxed(4), 4);
    EXPECT_FALSE(boxed(2));
}

TEST(ResultTest, EveryCodeHasItsOwnName) {
    for (int i = 0; i < static_cast<int>(ErrorCode::kInternal); ++i)
        EXPECT_STRNE(error_code_name(static_cast<ErrorCode>(i)), "internal");
}

} // namespace
} // namespace wavetap
