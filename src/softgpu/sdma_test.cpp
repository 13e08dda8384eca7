// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/sdma.hpp"
#include "softgpu/space_for_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace wavetap::softgpu {
namespace {

using State = SdmaQueue::State;
using ::testing::HasSubstr;

class HostForTest final : public Host {
  public:
    void interrupt(std::uint32_t event_id) override { interrupts.push_back(event_id); }
    void memory_fault(std::uint64_t va, Access, const std::string& what) override {
        faults.push_back(va);
        last = what;
    }
    void queue_error(std::uint64_t, const std::string& what) override {
        ++errors;
        last = what;
    }
    std::uint64_t host_counter() override { return 0x1122334455667788; }

    std::vector<std::uint32_t> interrupts;
    std::vector<std::uint64_t> faults;
    int errors = 0;
    std::string last;
};

constexpr std::uint64_t kRing = 0x100000, kRingBytes = 4096, kPointers = 0x110000;
constexpr std::uint64_t kA = 0x200000, kB = 0x300000, kBytes = 0x10000;
constexpr std::uint64_t kPlenty = 1 << 20;

class SdmaTest : public ::testing::Test {
  protected:
    SdmaTest()
        : ring_(space_.map(kRing, kRingBytes)), pointers_(space_.map(kPointers, 4096)),
          a_(space_.map(kA, kBytes)), b_(space_.map(kB, kBytes)), memory_(space_) {
        auto made =
            SdmaQueue::create({kRing, kRingBytes, kPointers, kPointers + 8, 7}, memory_, host_);
        EXPECT_TRUE(made);
        queue_.emplace(std::move(*made));
        for (std::uint64_t i = 0; i < kBytes; ++i)
            a_[i] = std::byte(i * 7 + i / 256);
    }
    void push(const std::vector<std::uint32_t>& dwords) {
        for (const std::uint32_t word : dwords) {
            std::memcpy(ring_ + write_ % kRingBytes, &word, 4);
            write_ += 4;
        }
        queue_->doorbell(write_);
    }
    void copy(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
        push({1, bytes - 1, 0, std::uint32_t(from), std::uint32_t(from >> 32), std::uint32_t(to),
              std::uint32_t(to >> 32)});
    }
    std::uint64_t read_pointer_in_memory() const {
        std::uint64_t value = 0;
        std::memcpy(&value, pointers_ + 8, 8);
        return value;
    }
    template <class T> T at(const std::byte* host) const {
        T value{};
        std::memcpy(&value, host, sizeof(T));
        return value;
    }

    SpaceForTest space_;
    HostForTest host_;
    std::byte *ring_, *pointers_, *a_, *b_;
    Memory memory_;
    std::optional<SdmaQueue> queue_;
    std::uint64_t write_ = 0;
};

TEST_F(SdmaTest, Create_BadRing_IsRefused) {
    const auto code = [&](SdmaQueueInfo info) {
        auto made = SdmaQueue::create(info, memory_, host_);
        return made ? ErrorCode::kInternal : made.error().code;
    };
    EXPECT_EQ(code({kRing, 4095, kPointers, kPointers + 8, 0}), ErrorCode::kInvalidArgument);
    EXPECT_EQ(code({kRing, 8192, kPointers, kPointers + 8, 0}), ErrorCode::kNotFound);
    EXPECT_EQ(code({kRing, 4096, 0x900000, kPointers + 8, 0}), ErrorCode::kNotFound);
}

TEST_F(SdmaTest, CopyLinear_AcrossPages_CopiesAllAndMovesReadPointer) {
    copy(kA + 3, kB + 4090, 9001);
    EXPECT_EQ(queue_->step(kPlenty), State::kIdle);
    EXPECT_EQ(std::memcmp(a_ + 3, b_ + 4090, 9001), 0);
    EXPECT_EQ(b_[4089], std::byte{0});
    EXPECT_EQ(b_[4090 + 9001], std::byte{0});
    EXPECT_EQ(read_pointer_in_memory(), 28u);
}

TEST_F(SdmaTest, CopyLinear_SmallBudget_TakesSeveralSteps) {
    copy(kA, kB, 10000);
    int steps = 0;
    while (queue_->step(1024) == State::kRunning) {
        ++steps;
        ASSERT_LT(steps, 100);
        EXPECT_EQ(read_pointer_in_memory(), 0u) << "retired before the data";
    }
    EXPECT_GE(steps, 9);
    EXPECT_EQ(std::memcmp(a_, b_, 10000), 0);
    EXPECT_EQ(read_pointer_in_memory(), 28u);
}

TEST_F(SdmaTest, CopyRect_OffsetsAndPitches_CopiesOnlyTheBox) {
    // Words; source pitch 64, slice 512; destination pitch 16, slice 128; box 5 x 3 x 2 at (2,1,1).
    push({1u | 4u << 8 | 2u << 29, kA, 0, 2u | 1u << 16, 1u | 63u << 13, 511, kB, 0, 1u | 2u << 16,
          0u | 15u << 13, 127, 4u | 2u << 16, 1});
    ASSERT_EQ(queue_->step(kPlenty), State::kIdle) << host_.last;
    std::vector<std::byte> expected(kBytes);
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 3; ++y)
            std::memcpy(&expected[((0 + z) * 128 + (2 + y) * 16 + 1) * 4],
                        a_ + ((1 + z) * 512 + (1 + y) * 64 + 2) * 4, 20);
    EXPECT_EQ(std::memcmp(expected.data(), b_, kBytes), 0);
}

TEST_F(SdmaTest, ConstFill_WordsAndBytes_BothCountConventions) {
    push({11u | 2u << 30, kB, 0, 0xdeadbeef, 64 - 1});
    push({11u | 2u << 30, kB + 64, 0, 0x01020304, 64 - 4});
    push({11u, kB + 128, 0, 0xffffff5a, 3 - 1});
    ASSERT_EQ(queue_->step(kPlenty), State::kIdle) << host_.last;
    EXPECT_EQ(at<std::uint32_t>(b_ + 60), 0xdeadbeefu);
    EXPECT_EQ(at<std::uint32_t>(b_ + 64), 0x01020304u);
    EXPECT_EQ(at<std::uint32_t>(b_ + 124), 0x01020304u);
    EXPECT_EQ(at<std::uint32_t>(b_ + 128), 0x005a5a5au);
}

TEST_F(SdmaTest, Fence_Trap_Timestamp_Atomic_InOrder) {
    std::uint64_t signal = 1;
    std::memcpy(b_ + 64, &signal, 8);
    push({13u | 2u << 8, kB, 0});
    push({10u | 47u << 25, kB + 64, 0, 0xffffffff, 0xffffffff, 0, 0, 0});
    push({5, kB + 128, 0, 42});
    push({6, 42});
    ASSERT_EQ(queue_->step(kPlenty), State::kIdle) << host_.last;
    EXPECT_EQ(at<std::uint64_t>(b_), 0x1122334455667788u);
    EXPECT_EQ(at<std::uint64_t>(b_ + 64), 0u);
    EXPECT_EQ(at<std::uint32_t>(b_ + 128), 42u);
    EXPECT_EQ(host_.interrupts, std::vector<std::uint32_t>{42});
}

TEST_F(SdmaTest, Atomic_EachOperation) {
    struct Case {
        std::uint32_t op;
        std::uint32_t expected;
    };
    // Old value 0xfffffff0, source 0x0f, compare 0xfffffff0.
    for (const Case c : {Case{7, 0xf}, Case{8, 0xf}, Case{15, 0xffffffff}, Case{16, 0xffffffe1},
                         Case{17, 0xfffffff0}, Case{18, 0xf}, Case{19, 0xf}, Case{20, 0xfffffff0},
                         Case{21, 0}, Case{22, 0xffffffff}, Case{23, 0xffffffff}}) {
        const std::uint32_t old = 0xfffffff0;
        std::memcpy(b_, &old, 4);
        push({10u | c.op << 25, kB, 0, 0xf, 0, old, 0, 0});
        ASSERT_EQ(queue_->step(kPlenty), State::kIdle) << host_.last;
        EXPECT_EQ(at<std::uint32_t>(b_), c.expected) << c.op;
        EXPECT_EQ(at<std::uint32_t>(b_ + 4), 0u);
    }
    push({10u | 99u << 25, kB, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(queue_->step(kPlenty), State::kStopped);
    EXPECT_THAT(host_.last, HasSubstr("operation 99"));
}

TEST_F(SdmaTest, PollRegmem_WaitsUntilTheValueComes) {
    push({8u | 3u << 28 | 1u << 31, kB, 0, 5, 0xff, 0});
    copy(kA, kB + 4096, 16);
    EXPECT_EQ(queue_->step(kPlenty), State::kPolling);
    EXPECT_EQ(queue_->step(kPlenty), State::kPolling);
    EXPECT_EQ(b_[4096 + 1], std::byte{0});
    const std::uint32_t value = 0x305;
    std::memcpy(b_, &value, 4);
    EXPECT_EQ(queue_->step(kPlenty), State::kIdle);
    EXPECT_EQ(std::memcmp(a_, b_ + 4096, 16), 0);
}

TEST_F(SdmaTest, PollRegmem_EveryFunction) {
    const auto passes = [&](std::uint32_t function, std::uint32_t value) {
        SdmaTest::write_ = queue_->read_pointer();
        std::memcpy(b_, &value, 4);
        push({8u | function << 28 | 1u << 31, kB, 0, 5, 0xffffffff, 0});
        const bool done = queue_->step(kPlenty) == State::kIdle;
        for (std::uint32_t v = 0; queue_->step(kPlenty) != State::kIdle && v < 10; ++v)
            std::memcpy(b_, &v, 4);
        return done;
    };
    const bool expected[7][3] = {{true, true, true},   {true, false, false}, {true, true, false},
                                 {false, true, false}, {true, false, true},  {false, true, true},
                                 {false, false, true}};
    for (std::uint32_t f = 0; f < 7; ++f)
        for (std::uint32_t v = 4; v <= 6; ++v)
            EXPECT_EQ(passes(f, v), expected[f][v - 4]) << f << " " << v;
}

TEST_F(SdmaTest, HdpFlush_Gcr_Nops_HaveNoEffect) {
    push({8u | 1u << 26 | 3u << 28, 0, 0, 0, 0, 0});
    push({8u, 0, 0x80000000, 0, 0, 0});
    push({17u | 1u << 8, 0, 0, 0, 0});
    push({0u | 3u << 16, 0xbad, 0xbad, 0xbad});
    push({0, 0, 0});
    EXPECT_EQ(queue_->step(kPlenty), State::kIdle) << host_.last;
    EXPECT_EQ(read_pointer_in_memory(), write_);
    EXPECT_EQ(host_.errors, 0);
}

TEST_F(SdmaTest, PollRegmem_OfARegister_IsRefused) {
    push({8u | 3u << 28, 0x1234, 0, 0, 0, 0});
    EXPECT_EQ(queue_->step(kPlenty), State::kStopped);
    EXPECT_THAT(host_.last, HasSubstr("register 0x1234"));
}

TEST_F(SdmaTest, Write_AndRingWrap) {
    push(std::vector<std::uint32_t>(kRingBytes / 4 - 3, 0));
    ASSERT_EQ(queue_->step(kPlenty), State::kIdle);
    push({2, kB, 0, 1, 0x11, 0x22}); // runs over the end of the ring
    ASSERT_EQ(queue_->step(kPlenty), State::kIdle) << host_.last;
    EXPECT_EQ(at<std::uint32_t>(b_), 0x11u);
    EXPECT_EQ(at<std::uint32_t>(b_ + 4), 0x22u);
    EXPECT_EQ(read_pointer_in_memory(), kRingBytes + 12);
}

TEST_F(SdmaTest, Fault_NamesAddressOnceAndStops) {
    copy(kA, kB + kBytes - 8, 16);
    push({6, 1});
    EXPECT_EQ(queue_->step(kPlenty), State::kStopped);
    EXPECT_EQ(queue_->step(kPlenty), State::kStopped);
    EXPECT_EQ(host_.faults, std::vector<std::uint64_t>{kB + kBytes});
    EXPECT_TRUE(host_.interrupts.empty());
}

TEST_F(SdmaTest, BadPackets_AreNamedAndStop) {
    push({0x63, 0, 0, 0});
    EXPECT_EQ(queue_->step(kPlenty), State::kStopped);
    EXPECT_EQ(host_.errors, 1);
    EXPECT_THAT(host_.last, HasSubstr("unknown packet 0x63"));
}

TEST_F(SdmaTest, PacketBehindWritePointer_IsAnError) {
    push({1, 15, 0, kA});
    EXPECT_EQ(queue_->step(kPlenty), State::kStopped);
    EXPECT_THAT(host_.last, HasSubstr("write pointer"));
}

TEST_F(SdmaTest, Doorbell_OldValue_IsIgnored) {
    copy(kA, kB, 16);
    queue_->doorbell(4);
    EXPECT_EQ(queue_->step(kPlenty), State::kIdle);
    EXPECT_EQ(read_pointer_in_memory(), 28u);
}

} // namespace
} // namespace wavetap::softgpu
