// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/interceptor.hpp"

#include <gtest/gtest.h>

namespace wavetap::rocr {
namespace {

TEST(Interceptor, AVendorPacketHasTheBuffersCachePolicy) {
    for (const std::int8_t policy : {std::int8_t{1}, std::int8_t{3}}) {
        const Packet packet = vendor_packet({0x1234567800, 0x55, policy}, hsa_signal_t{7});
        EXPECT_EQ(packet.words[2], 0x34567800U);
        EXPECT_EQ(packet.words[3], 0x12U);
        EXPECT_EQ(packet.words[4] >> 28 & 3, static_cast<std::uint32_t>(policy));
        EXPECT_EQ(packet.words[4] & 0xFFFFF, 0x55U);
        EXPECT_EQ(packet.words[14], 7U);
    }
}

} // namespace
} // namespace wavetap::rocr
