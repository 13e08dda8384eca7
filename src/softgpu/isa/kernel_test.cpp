// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/kernel_runner.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

// Kernels compiled by clang, run whole, results compared with the host's.

namespace wavetap::softgpu::isa_test {
namespace {

const char* code_object() {
    return WAVETAP_ISA_KERNELS;
}

Launch launch(unsigned groups, unsigned threads = 256) {
    Launch l;
    l.groups_x = groups;
    l.threads_x = threads;
    return l;
}

/// A kernel runner with random numbers that are the same in every run.
class IsaKernelTest : public ::testing::Test {
  protected:
    KernelRunner runner{code_object()};
    std::mt19937 random{12345};

    template <class T> std::uint64_t array(std::size_t count) {
        return runner.allocate(count * sizeof(T));
    }
    int uniform(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
};

TEST_F(IsaKernelTest, Saxpy_EqualsHost) {
    constexpr int kCount = 1000;
    const std::uint64_t x = array<float>(1024);
    const std::uint64_t y = array<float>(1024);
    for (int i = 0; i < kCount; ++i) {
        runner.host<float>(x)[i] = static_cast<float>(i) * 0.25F;
        runner.host<float>(y)[i] = static_cast<float>(i);
    }
    runner.host<float>(y)[kCount] = -7.0F;
    runner.launch("saxpy", launch(4).arg(kCount).arg(2.5F).arg(x).arg(y));
    for (int i = 0; i < kCount; ++i) {
        const float expected = std::fma(2.5F, static_cast<float>(i) * 0.25F, static_cast<float>(i));
        EXPECT_EQ(runner.host<float>(y)[i], expected) << i;
    }
    EXPECT_EQ(runner.host<float>(y)[kCount], -7.0F);
}

TEST_F(IsaKernelTest, BranchyReductions_EqualHost) {
    constexpr int kCount = 3000;
    const std::uint64_t in = array<float>(kCount);
    const std::uint64_t out = array<float>(1);
    float part[256] = {};
    for (int i = 0; i < kCount; ++i)
        runner.host<float>(in)[i] = static_cast<float>(uniform(-100, 100)) / 64.0F;
    for (int i = 0; i < kCount; ++i) {
        const float v = runner.host<float>(in)[i];
        float& p = part[i % 256];
        if (v > 0.5F)
            p += v;
        else if (v < -0.5F)
            p = std::fma(-2.0F, v, p);
        else
            p += 1.0F;
    }
    for (int k = 128; k > 0; k /= 2)
        for (int t = 0; t < k; ++t)
            part[t] += part[t + k];
    runner.launch("reduce_float", launch(1).arg(in).arg(out).arg(kCount));
    EXPECT_EQ(*runner.host<float>(out), part[0]);

    const std::uint64_t ints = array<int>(kCount);
    const std::uint64_t best = array<int>(1);
    int expected = std::numeric_limits<int>::min();
    for (int i = 0; i < kCount; ++i) {
        const int v = uniform(-1'000'000'000, 1'000'000'000);
        runner.host<int>(ints)[i] = v;
        expected = std::max(expected, v % 1000 + v / 7);
    }
    runner.launch("reduce_int", launch(1).arg(ints).arg(best).arg(kCount));
    EXPECT_EQ(*runner.host<int>(best), expected);
}

TEST_F(IsaKernelTest, Matmul_EqualsHost) {
    constexpr int kSize = 32;
    const std::uint64_t a = array<float>(kSize * kSize);
    const std::uint64_t b = array<float>(kSize * kSize);
    const std::uint64_t c = array<float>(kSize * kSize);
    for (int i = 0; i < kSize * kSize; ++i) {
        runner.host<float>(a)[i] = static_cast<float>(uniform(-64, 64)) / 8.0F;
        runner.host<float>(b)[i] = static_cast<float>(uniform(-64, 64)) / 8.0F;
    }
    Launch l = launch(kSize / 16);
    l.groups_y = kSize / 16;
    runner.launch("matmul", l.arg(a).arg(b).arg(c).arg(kSize));
    for (int row = 0; row < kSize; ++row)
        for (int column = 0; column < kSize; ++column) {
            float sum = 0;
            for (int k = 0; k < kSize; ++k)
                sum += runner.host<float>(a)[row * kSize + k] *
                       runner.host<float>(b)[k * kSize + column];
            // Every partial sum is exact, so that the order of additions does not matter.
            EXPECT_EQ(runner.host<float>(c)[row * kSize + column], sum) << row << " " << column;
        }
}

TEST_F(IsaKernelTest, Histogram_CountsEveryByte) {
    constexpr int kCount = 5000;
    const std::uint64_t in = array<std::uint8_t>(kCount);
    const std::uint64_t bins = array<int>(256);
    const std::uint64_t total = array<float>(1);
    int expected[256] = {};
    float sum = 0;
    for (int i = 0; i < kCount; ++i) {
        const int v = uniform(0, 255);
        runner.host<std::uint8_t>(in)[i] = static_cast<std::uint8_t>(v);
        ++expected[v];
        sum += static_cast<float>(v);
    }
    runner.launch("histogram", launch(2).arg(in).arg(bins).arg(total).arg(kCount));
    for (int i = 0; i < 256; ++i)
        EXPECT_EQ(runner.host<int>(bins)[i], expected[i]) << i;
    EXPECT_EQ(*runner.host<float>(total), sum);
}

TEST_F(IsaKernelTest, Division_IsCorrectlyRounded) {
    constexpr int kCount = 4096;
    std::uint64_t va[6];
    for (int i = 0; i < 6; ++i)
        va[i] = i < 3 ? array<float>(kCount) : array<double>(kCount);
    std::mt19937_64 bits(99);
    for (int i = 0; i < kCount; ++i) {
        const std::uint64_t x = bits();
        const std::uint64_t y = bits();
        // Every exponent, subnormals, infinities and NaN among them.
        runner.host<std::uint32_t>(va[0])[i] = static_cast<std::uint32_t>(x);
        runner.host<std::uint32_t>(va[1])[i] = static_cast<std::uint32_t>(y);
        runner.host<std::uint64_t>(va[3])[i] = x;
        runner.host<std::uint64_t>(va[4])[i] =
            i % 4 == 0 ? y : (y & ~(0x3ffULL << 52)) | (x & 0x3ffULL << 52);
    }
    Launch l = launch(kCount / 256);
    for (const std::uint64_t p : va)
        l.arg(p);
    runner.launch("divide", l);
    for (int i = 0; i < kCount; ++i) {
        const float a = runner.host<float>(va[0])[i];
        const float b = runner.host<float>(va[1])[i];
        const float q = runner.host<float>(va[2])[i];
        if (std::isnan(a / b)) {
            EXPECT_TRUE(std::isnan(q)) << a << " / " << b;
        } else {
            EXPECT_EQ(q, a / b) << std::hexfloat << a << " / " << b;
        }
        const double c = runner.host<double>(va[3])[i];
        const double d = runner.host<double>(va[4])[i];
        const double r = runner.host<double>(va[5])[i];
        if (std::isnan(c / d)) {
            EXPECT_TRUE(std::isnan(r)) << c << " / " << d;
        } else if (std::fpclassify(c / d) == FP_SUBNORMAL) {
            // v_div_fmas rounds to 53 bits before it scales into the subnormal range.
            EXPECT_NEAR(r, c / d, 0x1p-1074);
        } else {
            EXPECT_EQ(r, c / d) << std::hexfloat << c << " / " << d;
        }
    }
}

TEST_F(IsaKernelTest, Integers_EqualHost) {
    constexpr int kCount = 1024;
    const std::uint64_t a = array<std::int64_t>(kCount);
    const std::uint64_t b = array<std::int64_t>(kCount);
    const std::uint64_t out = array<std::int64_t>(kCount);
    const std::uint64_t small = array<std::uint32_t>(kCount);
    std::mt19937_64 bits(7);
    for (int i = 0; i < kCount; ++i) {
        runner.host<std::uint64_t>(a)[i] = bits();
        runner.host<std::uint64_t>(b)[i] = (bits() >> (i % 40)) | 1;
    }
    runner.launch("integers", launch(kCount / 256).arg(a).arg(b).arg(out).arg(small));
    for (int i = 0; i < kCount; ++i) {
        const std::int64_t x = runner.host<std::int64_t>(a)[i];
        const std::int64_t y = runner.host<std::int64_t>(b)[i];
        const auto ux = static_cast<std::uint64_t>(x);
        const auto uy = static_cast<std::uint64_t>(y);
        const std::uint64_t expected = static_cast<std::uint64_t>(x / y) * 3 +
                                       static_cast<std::uint64_t>(x % y) +
                                       static_cast<std::uint64_t>(x >> (y & 31)) + (ux * uy >> 7);
        EXPECT_EQ(runner.host<std::uint64_t>(out)[i], expected) << i;
        const auto u = static_cast<std::uint32_t>(ux);
        const auto v = static_cast<std::uint32_t>(uy);
        const std::uint32_t expected_small =
            u / v + u % v +
            static_cast<std::uint32_t>(std::popcount(u)) *
                static_cast<std::uint32_t>(std::countl_zero(v | 1)) +
            std::rotl(u, 7) + __builtin_bswap32(u) + (u > v ? u - v : v - u) +
            static_cast<std::uint32_t>(std::uint64_t{u & 0xffff} * (v & 0xffff));
        EXPECT_EQ(runner.host<std::uint32_t>(small)[i], expected_small) << i;
    }
}

/// The nearest half, to even, by search among all of them.
std::uint16_t nearest_half(double x) {
    std::uint16_t best = 0;
    double distance = std::numeric_limits<double>::infinity();
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        const unsigned exponent = bits >> 10;
        const double value =
            exponent == 0 ? (bits & 0x3ff) * 0x1p-24
                          : std::ldexp(1024 + (bits & 0x3ff), static_cast<int>(exponent) - 25);
        const double d = std::fabs(std::fabs(x) - value);
        if (d < distance || (d == distance && bits % 2 == 0)) {
            distance = d;
            best = static_cast<std::uint16_t>(bits);
        }
    }
    return static_cast<std::uint16_t>(best | (std::signbit(x) ? 0x8000 : 0));
}
double half_value(std::uint16_t h) {
    const unsigned exponent = h >> 10 & 31;
    const double magnitude = exponent == 0
                                 ? (h & 0x3ff) * 0x1p-24
                                 : std::ldexp(1024 + (h & 0x3ff), static_cast<int>(exponent) - 25);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST_F(IsaKernelTest, Halves_RoundLikeIeee) {
    constexpr int kCount = 256;
    const std::uint64_t a = array<std::uint16_t>(kCount);
    const std::uint64_t b = array<std::uint16_t>(kCount);
    const std::uint64_t out = array<std::uint16_t>(kCount);
    const std::uint64_t wide = array<float>(kCount);
    for (int i = 0; i < kCount; ++i) {
        runner.host<std::uint16_t>(a)[i] =
            static_cast<std::uint16_t>(uniform(0x2c00, 0x4800) | uniform(0, 1) << 15);
        runner.host<std::uint16_t>(b)[i] =
            static_cast<std::uint16_t>(uniform(0x2c00, 0x4800) | uniform(0, 1) << 15);
    }
    runner.launch("halves", launch(1).arg(a).arg(b).arg(out).arg(wide));
    for (int i = 0; i < kCount; ++i) {
        const double x = half_value(runner.host<std::uint16_t>(a)[i]);
        const double y = half_value(runner.host<std::uint16_t>(b)[i]);
        const std::uint16_t got = runner.host<std::uint16_t>(out)[i];
        // clang contracts to fma(x, y, x) and then fma(y, -0.25, that).
        const double inner = half_value(nearest_half(std::fma(x, y, x)));
        EXPECT_EQ(got, nearest_half(std::fma(y, -0.25, inner))) << x << " " << y;
        EXPECT_EQ(runner.host<float>(wide)[i], static_cast<float>(x * y + half_value(got)));
    }
}

TEST_F(IsaKernelTest, Conversions_EqualHost) {
    constexpr int kCount = 256;
    const std::uint64_t a = array<double>(kCount);
    const std::uint64_t f = array<float>(kCount);
    const std::uint64_t n = array<int>(kCount);
    const std::uint64_t u = array<std::uint32_t>(kCount);
    const std::uint64_t back = array<double>(kCount);
    for (int i = 0; i < kCount; ++i)
        runner.host<double>(a)[i] =
            static_cast<double>(uniform(-2'000'000'000, 2'000'000'000)) / 1024.0;
    runner.launch("conversions", launch(1).arg(a).arg(f).arg(n).arg(u).arg(back));
    for (int i = 0; i < kCount; ++i) {
        const double x = runner.host<double>(a)[i];
        EXPECT_EQ(runner.host<float>(f)[i], static_cast<float>(x));
        EXPECT_EQ(runner.host<int>(n)[i], static_cast<int>(x));
        EXPECT_EQ(runner.host<std::uint32_t>(u)[i], static_cast<std::uint32_t>(std::fabs(x)));
        EXPECT_EQ(runner.host<double>(back)[i],
                  std::fma(std::floor(x), std::nearbyint(x),
                           static_cast<double>(static_cast<std::int64_t>(x))));
    }
}

TEST_F(IsaKernelTest, PrivateArrays_LieInScratch) {
    constexpr int kCount = 512;
    const std::uint64_t in = array<int>(1024);
    const std::uint64_t out = array<int>(kCount);
    for (int i = 0; i < 1024; ++i)
        runner.host<int>(in)[i] = uniform(0, 1000);
    runner.launch("private_array", launch(2).arg(in).arg(out));
    for (int id = 0; id < kCount; ++id) {
        int stack[64];
        for (int i = 0; i < 64; ++i)
            stack[i] = runner.host<int>(in)[(id + i) & 1023] * (i + 1);
        int at = id & 63;
        int sum = 0;
        for (int i = 0; i < 64; ++i) {
            sum += stack[at] * i;
            at = (at * 5 + stack[(at + 1) & 63]) & 63;
        }
        EXPECT_EQ(runner.host<int>(out)[id], sum) << id;
    }
}

int collatz(int n) {
    int steps = 0;
    while (n != 1 && steps < 500) {
        n = (n & 1) != 0 ? 3 * n + 1 : n / 2;
        ++steps;
    }
    return steps;
}

TEST_F(IsaKernelTest, CallsAndSwitches_EqualHost) {
    constexpr int kCount = 512;
    const std::uint64_t out = array<int>(kCount);
    runner.launch("calls", launch(2).arg(out));
    for (int id = 0; id < kCount; ++id) {
        const int expected[] = {collatz(id + 1), -collatz(id + 2), id * id,
                                collatz(id) + collatz(id + 7), 42};
        EXPECT_EQ(runner.host<int>(out)[id], expected[id % 5]) << id;
    }
}

TEST_F(IsaKernelTest, GenericPointers_ReachEverySegment) {
    const std::uint64_t data = array<int>(512);
    for (int i = 0; i < 512; ++i)
        runner.host<int>(data)[i] = i * 11;
    runner.launch("generic_pointers", launch(1).arg(data));
    for (int id = 0; id < 256; ++id) {
        const int in_array = id + (id & 3) + (id % 3 == 1 ? 1000 : 0);
        const int pointed[] = {(id + 1) % 256 * 3 + 1000, in_array, id * 11 + 1000};
        EXPECT_EQ(runner.host<int>(data)[256 + id], pointed[id % 3] + in_array) << id;
    }
}

TEST_F(IsaKernelTest, WaveSum_ByLaneExchange) {
    const std::uint64_t in = array<int>(256);
    const std::uint64_t out = array<int>(256);
    for (int i = 0; i < 256; ++i)
        runner.host<int>(in)[i] = uniform(-1000, 1000);
    runner.launch("wave_sum", launch(1).arg(in).arg(out));
    for (int i = 0; i < 256; ++i) {
        int total = 0;
        for (int k = 0; k < 64; ++k)
            total += runner.host<int>(in)[i / 64 * 64 + k];
        EXPECT_EQ(runner.host<int>(out)[i], total * 3 + runner.host<int>(in)[i ^ 1]) << i;
    }
}

} // namespace
} // namespace wavetap::softgpu::isa_test
