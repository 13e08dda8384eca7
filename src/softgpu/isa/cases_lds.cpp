// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <cstring>

namespace wavetap::softgpu::isa_test {
namespace {

std::uint32_t low(std::uint64_t v) {
    return static_cast<std::uint32_t>(v);
}
std::uint32_t high(std::uint64_t v) {
    return static_cast<std::uint32_t>(v >> 32);
}

std::string regs(unsigned first, unsigned dwords) {
    if (dwords == 1) return "v" + std::to_string(first);
    return "v[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
}

void addresses(Machine& m, unsigned stride) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
        m.v(2)[lane] = lane * stride;
}

struct Access {
    const char* name;
    unsigned bytes;
    bool sign, d16, high;
};

void check_read(Machine& m, const Access& k) {
    addresses(m, 16);
    for (unsigned i = 0; i < m.lds.size(); ++i)
        m.lds[i] = static_cast<std::byte>(i * 37 + 0x81);
    const unsigned dwords = std::max(1U, k.bytes / 4);
    m.v(10).fill(0xdeadbeef);
    const std::string text = std::string(k.name) + " " + regs(10, dwords) + ", v2 offset:16";
    m.v(2)[63] = 4096; // outside: reads zero
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned r = 0; r < dwords; ++r) {
            std::uint32_t value = 0;
            if (lane != 63)
                std::memcpy(&value, m.lds.data() + lane * 16 + 16 + r * 4, std::min(4U, k.bytes));
            if (k.sign)
                value = k.bytes == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                                     : static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
            if (k.d16) value = k.high ? value << 16 | 0xbeef : (value & 0xffff) | 0xdead0000;
            ASSERT_EQ(m.v(10 + r)[lane], value) << text << " lane " << lane;
        }
    }
}

void check_write(Machine& m, const Access& k) {
    addresses(m, 16);
    std::memset(m.lds.data(), 0x55, m.lds.size());
    const unsigned dwords = std::max(1U, k.bytes / 4);
    for (unsigned r = 0; r < 4; ++r)
        for (unsigned lane = 0; lane < kLanes; ++lane)
            m.v(10 + r)[lane] = 0x01020304 * (r + 1) + (lane << 12);
    m.wave.exec = ~std::uint64_t{2};
    const std::string text = std::string(k.name) + " v2, " + regs(10, dwords) + " offset:16";
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned i = 0; i < 16; ++i) {
            const std::uint32_t word = m.v(10 + i / 4)[lane] >> (k.high ? 16 : 0);
            const bool written = lane != 1 && i < k.bytes;
            ASSERT_EQ(m.lds[lane * 16 + 16 + i],
                      written ? static_cast<std::byte>(word >> (8 * (i % 4))) : std::byte{0x55})
                << text;
        }
}

void check_pair(Machine& m, const std::string& suffix, unsigned bytes, unsigned unit) {
    addresses(m, 16);
    const unsigned dwords = bytes / 4;
    const unsigned at0 = 1 * unit * bytes, at1 = 3 * unit * bytes;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned r = 0; r < 4; ++r)
            m.v(10 + r)[lane] = lane * 16 + r + 1;
    m.wave.exec = 1;
    const std::string offsets = " offset0:1 offset1:3";
    std::string text =
        "ds_write2" + suffix + " v2, " + regs(10, dwords) + ", " + regs(12, dwords) + offsets;
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    std::uint32_t stored = 0;
    std::memcpy(&stored, m.lds.data() + at0, 4);
    EXPECT_EQ(stored, 1U) << text;
    std::memcpy(&stored, m.lds.data() + at1, 4);
    EXPECT_EQ(stored, 3U) << text;
    text = "ds_read2" + suffix + " " + regs(20, 2 * dwords) + ", v2" + offsets;
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    EXPECT_EQ(m.v(20)[0], 1U) << text;
    EXPECT_EQ(m.v(20 + dwords)[0], 3U) << text;
    if (dwords == 2) {
        EXPECT_EQ(m.v(23)[0], 4U) << text;
    }
    const std::string rtn =
        suffix.find("st64") != std::string::npos ? "st64_rtn" + suffix.substr(4) : "_rtn" + suffix;
    for (unsigned r = 0; r < 4; ++r)
        m.v(10 + r)[0] = 50 + r;
    text = "ds_wrxchg2" + rtn + " " + regs(20, 2 * dwords) + ", v2, " + regs(10, dwords) + ", " +
           regs(12, dwords) + offsets;
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    EXPECT_EQ(m.v(20)[0], 1U) << text;
    EXPECT_EQ(m.v(20 + dwords)[0], 3U) << text;
    std::memcpy(&stored, m.lds.data() + at1, 4);
    EXPECT_EQ(stored, 52U) << text;
}

struct Atomic {
    const char* name;
    const char* type;
    std::uint64_t old, data, result, data2 = 0;
    bool plain = true, two = false;
};
const Atomic kAtomics[] = {
    {"add", "u32", 0xffffffff, 2, 1},
    {"sub", "u32", 1, 2, 0xffffffff},
    {"rsub", "u32", 1, 2, 1},
    {"inc", "u32", 5, 5, 0},
    {"dec", "u32", 0, 5, 5},
    {"min", "i32", 0xffffffff, 2, 0xffffffff},
    {"max", "i32", 0xffffffff, 2, 2},
    {"min", "u32", 0xffffffff, 2, 2},
    {"max", "u32", 0xffffffff, 2, 0xffffffff},
    {"and", "b32", 0xff0, 0xff, 0xf0},
    {"or", "b32", 0xff0, 0xff, 0xfff},
    {"xor", "b32", 0xff0, 0xff, 0xf0f},
    {"mskor", "b32", 0xff0, 0x0f0, 0xf05, 0x005, true, true},
    {"cmpst", "b32", 5, 5, 9, 9, true, true},
    {"cmpst", "b32", 6, 5, 6, 9, true, true},
    {"cmpst", "f32", F(-0.0F), F(0), 9, 9, true, true},
    {"add", "f32", F(1.5F), F(2), F(3.5F)},
    {"min", "f32", F(1.5F), F(2), F(1.5F)},
    {"max", "f32", F(1.5F), F(2), F(2)},
    {"wrxchg", "b32", 5, 9, 9, 0, false},
    {"wrap", "b32", 5, 3, 2, 7, false, true},
    {"wrap", "b32", 2, 3, 9, 7, false, true},
    {"add", "u64", 0xffffffff, 2, 0x100000001},
    {"sub", "u64", 1, 2, ~0ULL},
    {"rsub", "u64", 1, 2, 1},
    {"inc", "u64", 0xffffffff, 0x200000000, 0x100000000},
    {"dec", "u64", 0, 0x200000000, 0x200000000},
    {"min", "i64", ~0ULL, 2, ~0ULL},
    {"max", "i64", ~0ULL, 2, 2},
    {"min", "u64", ~0ULL, 2, 2},
    {"max", "u64", ~0ULL, 2, ~0ULL},
    {"and", "b64", 0xff000000000, 0x0ff00000000, 0x0f000000000},
    {"or", "b64", 0xff000000000, 0x0ff00000000, 0xfff00000000},
    {"xor", "b64", 0xff000000000, 0x0ff00000000, 0xf0f00000000},
    {"mskor", "b64", 0xff000000000, 0x0f000000000, 0xf0000000005, 5, true, true},
    {"cmpst", "b64", 5, 5, 0x900000009, 0x900000009, true, true},
    {"cmpst", "f64", D(-0.0), D(0), 9, 9, true, true},
    {"add", "f64", D(1.5), D(2), D(3.5)},
    {"min", "f64", D(1.5), D(2), D(1.5)},
    {"max", "f64", D(1.5), D(2), D(2)},
    {"wrxchg", "b64", 5, 9, 9, 0, false},
};

void check_atomic(Machine& m, const Atomic& k, bool returns) {
    const unsigned bytes = std::string(k.type).find("64") != std::string::npos ? 8 : 4;
    addresses(m, bytes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::memcpy(m.lds.data() + lane * bytes, &k.old, bytes);
        m.v(10)[lane] = low(k.data);
        m.v(11)[lane] = high(k.data);
        m.v(12)[lane] = low(k.data2);
        m.v(13)[lane] = high(k.data2);
    }
    std::string text = std::string("ds_") + k.name + (returns ? "_rtn_" : "_") + k.type + " ";
    if (returns) text += regs(20, bytes / 4) + ", ";
    text += "v2, " + regs(10, bytes / 4);
    if (k.two) text += ", " + regs(12, bytes / 4);
    m.wave.exec = 0xffffffff;
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::uint64_t now = 0;
        std::memcpy(&now, m.lds.data() + lane * bytes, bytes);
        ASSERT_EQ(now, lane < 32 ? k.result : k.old) << text << " lane " << lane;
        if (returns && lane < 32) {
            ASSERT_EQ(m.v(20)[lane], low(k.old)) << text;
        }
    }
    m.wave.exec = ~std::uint64_t{0};
}

void check_permutes(Machine& m) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        m.v(2)[lane] = (63 - lane) * 4;
        m.v(3)[lane] = 100 + lane;
    }
    m.wave.exec = ~std::uint64_t{1};
    ASSERT_EQ(m.run("ds_bpermute_b32 v10, v2, v3\n ds_permute_b32 v11, v2, v3").outcome,
              Outcome::kEnd);
    for (unsigned lane = 1; lane < kLanes; ++lane) {
        EXPECT_EQ(m.v(10)[lane], lane == 63 ? 0 : 163 - lane); // lane 0 is inactive
        EXPECT_EQ(m.v(11)[lane], lane == 63 ? 0 : 163 - lane);
    }
    EXPECT_EQ(m.v(10)[0], 0U);
    m.wave.exec = ~std::uint64_t{0};
    ASSERT_EQ(m.run("ds_swizzle_b32 v10, v3 offset:swizzle(QUAD_PERM,1,0,3,2)\n"
                    "ds_swizzle_b32 v11, v3 offset:swizzle(SWAP,16)")
                  .outcome,
              Outcome::kEnd);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(m.v(10)[lane], 100 + (lane ^ 1));
        EXPECT_EQ(m.v(11)[lane], 100 + (lane ^ 16));
    }
}

void check_counters(Machine& m) {
    const std::uint32_t start = 10;
    std::memcpy(m.lds.data() + 64, &start, 4);
    m.wave.m0 = 32 << 16;
    m.wave.exec = 0xff;
    ASSERT_EQ(m.run("ds_append v10 offset:32\n ds_consume v11 offset:32\n ds_nop").outcome,
              Outcome::kEnd);
    EXPECT_EQ(m.v(10)[0], 10U);
    EXPECT_EQ(m.v(11)[7], 18U);
    m.wave.exec = ~std::uint64_t{0};
    m.wave.m0 = 256;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        m.v(12)[lane] = lane + 5;
    ASSERT_EQ(m.run("ds_write_addtid_b32 v12 offset:16\n ds_read_addtid_b32 v13 offset:16").outcome,
              Outcome::kEnd);
    EXPECT_EQ(m.v(13), m.v(12));
    std::uint32_t word = 0;
    std::memcpy(&word, m.lds.data() + 256 + 16 + 3 * 4, 4);
    EXPECT_EQ(word, 8U);
}

} // namespace

std::vector<MachineCase> lds_cases() {
    std::vector<MachineCase> out;
    for (const Access& k :
         std::initializer_list<Access>{{"ds_read_b32", 4, false, false, false},
                                       {"ds_read_b64", 8, false, false, false},
                                       {"ds_read_b96", 12, false, false, false},
                                       {"ds_read_b128", 16, false, false, false},
                                       {"ds_read_u8", 1, false, false, false},
                                       {"ds_read_i8", 1, true, false, false},
                                       {"ds_read_u16", 2, false, false, false},
                                       {"ds_read_i16", 2, true, false, false},
                                       {"ds_read_u8_d16", 1, false, true, false},
                                       {"ds_read_u8_d16_hi", 1, false, true, true},
                                       {"ds_read_i8_d16", 1, true, true, false},
                                       {"ds_read_i8_d16_hi", 1, true, true, true},
                                       {"ds_read_u16_d16", 2, false, true, false},
                                       {"ds_read_u16_d16_hi", 2, false, true, true}})
        out.push_back({{k.name}, [k](Machine& m) { check_read(m, k); }});
    for (const Access& k :
         std::initializer_list<Access>{{"ds_write_b8", 1, false, false, false},
                                       {"ds_write_b16", 2, false, false, false},
                                       {"ds_write_b8_d16_hi", 1, false, false, true},
                                       {"ds_write_b16_d16_hi", 2, false, false, true},
                                       {"ds_write_b32", 4, false, false, false},
                                       {"ds_write_b64", 8, false, false, false},
                                       {"ds_write_b96", 12, false, false, false},
                                       {"ds_write_b128", 16, false, false, false}})
        out.push_back({{k.name}, [k](Machine& m) { check_write(m, k); }});
    for (const unsigned bytes : {4U, 8U})
        for (const unsigned unit : {1U, 64U}) {
            const std::string st = unit == 64 ? "st64" : "";
            const std::string type = bytes == 8 ? "_b64" : "_b32";
            out.push_back({{"ds_read2" + st + type, "ds_write2" + st + type,
                            "ds_wrxchg2" + st + "_rtn" + type},
                           [=](Machine& m) { check_pair(m, st + type, bytes, unit); }});
        }
    for (const Atomic& k : kAtomics) {
        const std::string name = k.name;
        std::vector<std::string> names = {"ds_" + name + "_rtn_" + k.type};
        if (k.plain) names.push_back("ds_" + name + "_" + k.type);
        out.push_back({names, [k](Machine& m) {
                           check_atomic(m, k, true);
                           if (k.plain) check_atomic(m, k, false);
                       }});
    }
    out.push_back({{"ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32"}, check_permutes});
    out.push_back(
        {{"ds_append", "ds_consume", "ds_nop", "ds_read_addtid_b32", "ds_write_addtid_b32"},
         check_counters});
    return out;
}

} // namespace wavetap::softgpu::isa_test
