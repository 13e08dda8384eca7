// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/c_interface.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <set>
#include <string>

namespace wavetap {
namespace {

TEST(CInterface, EveryErrorHasAStatusAndEveryStatusAWord) {
    std::set<std::string> names{status_name(WAVETAP_STATUS_SUCCESS)};
    for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
        const wavetap_status status = status_of(static_cast<ErrorCode>(code));
        EXPECT_NE(status, WAVETAP_STATUS_SUCCESS);
        EXPECT_STREQ(status_name(status), error_code_name(static_cast<ErrorCode>(code)));
        names.insert(status_name(status));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(WAVETAP_STATUS_INTERNAL) + 1);
    EXPECT_STREQ(status_name(static_cast<wavetap_status>(WAVETAP_STATUS_INTERNAL + 1)), "unknown");
}

TEST(CInterface, TheLastErrorIsOneLineThatFits) {
    LastError last;
    EXPECT_STREQ(last.words(), "");
    EXPECT_EQ(last.report({ErrorCode::kBusy, "what", "where", "do this"}), WAVETAP_STATUS_BUSY);
    EXPECT_STREQ(last.words(), "what (where); do this");
    EXPECT_EQ(last.report({ErrorCode::kIo, std::string(5000, 'x'), "", ""}), WAVETAP_STATUS_IO);
    EXPECT_EQ(std::string(last.words()), std::string(511, 'x'));
}

TEST(CInterface, NothingPassesTheGuardButAStatus) {
    LastError last;
    EXPECT_EQ(last.guard([]() -> Result<void> { return {}; }), WAVETAP_STATUS_SUCCESS);
    EXPECT_STREQ(last.words(), "");
    EXPECT_EQ(last.guard([]() -> Result<void> { throw std::bad_alloc(); }), WAVETAP_STATUS_LIMIT);
    EXPECT_STREQ(last.words(), "no host memory");
    EXPECT_EQ(last.guard([]() -> Result<void> { throw 7; }), WAVETAP_STATUS_INTERNAL);
    EXPECT_EQ(last.guard([]() -> Result<void> {
        return Error{ErrorCode::kNotFound, "none", "", ""};
    }),
              WAVETAP_STATUS_NOT_FOUND);
    EXPECT_STREQ(last.words(), "none");
}

struct Sized {
    std::size_t size = sizeof(Sized);
    int first = 1, second = 2;
};

TEST(CInterface, OfASizedStructOnlyWhatItsCallerKnowsIsTaken) {
    Sized given;
    given.first = 10;
    given.second = 20;
    given.size = offsetof(Sized, second);
    Sized known;
    ASSERT_TRUE(copy_in(known, given, "sized", "set it"));
    EXPECT_EQ(known.first, 10);
    EXPECT_EQ(known.second, 2);
    for (const std::size_t size : {std::size_t{0}, sizeof given.size - 1, sizeof(Sized) + 1}) {
        given.size = size;
        const auto refused = copy_in(known, given, "sized", "set it");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
        EXPECT_EQ(refused.error().hint, "set it");
    }
    EXPECT_EQ(known.second, 2);
}

} // namespace
} // namespace wavetap
