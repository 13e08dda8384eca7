// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/mnemonic_cases.hpp"

#include <cstring>

namespace wavetap::softgpu::isa_test {
namespace {

constexpr std::uint64_t kShared = 0x1000000000000;
constexpr std::uint64_t kPrivate = 0x2000000000000;
constexpr std::uint64_t kScratchOffset = 0x8000; // private memory lies there in the data window

std::uint32_t low(std::uint64_t v) {
    return static_cast<std::uint32_t>(v);
}
std::uint32_t high(std::uint64_t v) {
    return static_cast<std::uint32_t>(v >> 32);
}

/// How one segment names lane i's element: registers set up by prepare(), operands in the text.
struct Segment {
    std::string prefix;  ///< "global"
    std::string address; ///< vector address operand
    std::string tail;    ///< what follows the last operand, with a leading comma or space
    bool buffer = false; ///< data come first
    bool is_scratch = false;
};
const Segment kFlat{"flat", "v[2:3]", "", false, false};
const Segment kGlobal{"global", "v[2:3]", ", off", false, false};
const Segment kGlobalScalar{"global", "v2", ", s[2:3]", false, false};
const Segment kScratch{"scratch", "v2", ", off", false, true};
const Segment kBuffer{"buffer", "v2", ", s[4:7], 0 offen", true, false};

void prepare(Machine& m, const Segment& s, unsigned stride) {
    const bool full = s.address == "v[2:3]";
    for (unsigned i = 0; i < kLanes; ++i) {
        const std::uint64_t va = (full ? kData : 0) + std::uint64_t{i} * stride;
        m.v(2)[i] = low(va);
        m.v(3)[i] = high(va);
    }
    m.wave.sgpr[2] = low(kData);
    m.wave.sgpr[3] = high(kData);
    m.wave.sgpr[4] = low(kData);
    m.wave.sgpr[5] = high(kData);
    m.wave.sgpr[6] = 0x8000;
    m.wave.sgpr[7] = 0;
    m.wave.flat_scratch = kData + kScratchOffset;
    m.wave.scratch_bytes_per_lane = 4096;
}

/// Host bytes of byte `at` of lane's private or linear memory.
std::byte* place(Machine& m, const Segment& s, unsigned lane, std::uint64_t at) {
    if (!s.is_scratch) return m.data<std::byte>(at);
    return m.data<std::byte>(kScratchOffset + at / 4 * 4 * kLanes + lane * 4 + at % 4);
}

std::byte pattern(unsigned lane, unsigned i) {
    return static_cast<std::byte>(lane * 7 + i * 31 + 0x80);
}

std::string load_text(const Segment& s, const std::string& name, const std::string& data) {
    return s.prefix + name + " " + data + ", " + s.address + s.tail;
}
std::string store_text(const Segment& s, const std::string& name, const std::string& data) {
    return s.prefix + name + " " + (s.buffer ? data + ", " + s.address : s.address + ", " + data) +
           s.tail;
}
std::string regs(unsigned first, unsigned dwords, char bank = 'v') {
    std::string b(1, bank);
    if (dwords == 1) return b + std::to_string(first);
    return b + "[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
}

struct LoadKind {
    const char* name;
    unsigned bytes;
    bool sign, d16, high;
};
const LoadKind kLoads[] = {
    {"_load_ubyte", 1, false, false, false},    {"_load_sbyte", 1, true, false, false},
    {"_load_ushort", 2, false, false, false},   {"_load_sshort", 2, true, false, false},
    {"_load_dword", 4, false, false, false},    {"_load_dwordx2", 8, false, false, false},
    {"_load_dwordx3", 12, false, false, false}, {"_load_dwordx4", 16, false, false, false},
    {"_load_ubyte_d16", 1, false, true, false}, {"_load_ubyte_d16_hi", 1, false, true, true},
    {"_load_sbyte_d16", 1, true, true, false},  {"_load_sbyte_d16_hi", 1, true, true, true},
    {"_load_short_d16", 2, false, true, false}, {"_load_short_d16_hi", 2, false, true, true}};

std::uint32_t expected_load(const LoadKind& k, unsigned lane, unsigned dword) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < std::min(4U, k.bytes); ++i)
        value |= std::to_integer<std::uint32_t>(pattern(lane, dword * 4 + i)) << (8 * i);
    if (k.sign && k.bytes == 1) value = static_cast<std::uint32_t>(static_cast<std::int8_t>(value));
    if (k.sign && k.bytes == 2)
        value = static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
    if (k.d16 && k.high) return value << 16 | 0xbeef;
    if (k.d16) return (value & 0xffff) | 0xdead0000;
    return value;
}

void check_load(Machine& m, const Segment& s, const LoadKind& k, std::uint64_t exec,
                unsigned stride) {
    prepare(m, s, stride);
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned i = 0; i < k.bytes; ++i)
            *place(m, s, lane, std::uint64_t{lane} * stride + 8 + i) = pattern(lane, i);
    const unsigned dwords = std::max(1U, k.bytes / 4);
    for (unsigned r = 0; r < 4; ++r)
        m.v(10 + r).fill(0xdeadbeef);
    m.wave.exec = exec;
    const std::string text = load_text(s, k.name, regs(10, dwords)) + " offset:8";
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned r = 0; r < 4; ++r) {
            const bool written = (exec >> lane & 1) != 0 && r < dwords;
            ASSERT_EQ(m.v(10 + r)[lane], written ? expected_load(k, lane, r) : 0xdeadbeefU)
                << text << " lane " << lane << " register " << r;
        }
    m.wave.exec = ~std::uint64_t{0};
}

struct StoreKind {
    const char* name;
    unsigned bytes;
    bool high;
};
const StoreKind kStores[] = {{"_store_byte", 1, false},       {"_store_short", 2, false},
                             {"_store_byte_d16_hi", 1, true}, {"_store_short_d16_hi", 2, true},
                             {"_store_dword", 4, false},      {"_store_dwordx2", 8, false},
                             {"_store_dwordx3", 12, false},   {"_store_dwordx4", 16, false}};

void check_store(Machine& m, const Segment& s, const StoreKind& k, std::uint64_t exec,
                 unsigned stride) {
    prepare(m, s, stride);
    std::memset(m.data<std::byte>(), 0x55, kDataBytes);
    const unsigned dwords = std::max(1U, k.bytes / 4);
    for (unsigned r = 0; r < 4; ++r)
        for (unsigned lane = 0; lane < kLanes; ++lane)
            m.v(10 + r)[lane] = 0x01020304 * (r + 1) + (lane << 12);
    m.wave.exec = exec;
    const std::string text = store_text(s, k.name, regs(10, dwords)) + " offset:8";
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned i = 0; i < std::min(stride - 8, 16U); ++i) {
            const std::uint32_t word = m.v(10 + i / 4)[lane] >> (k.high ? 16 : 0);
            const bool written = (exec >> lane & 1) != 0 && i < k.bytes;
            ASSERT_EQ(*place(m, s, lane, std::uint64_t{lane} * stride + 8 + i),
                      written ? static_cast<std::byte>(word >> (8 * (i % 4))) : std::byte{0x55})
                << text << " lane " << lane << " byte " << i;
        }
    m.wave.exec = ~std::uint64_t{0};
}

struct AtomicKind {
    const char* name;
    std::uint64_t old, data, result;
    bool wide = false;
};
const AtomicKind kAtomics[] = {
    {"swap", 5, 9, 9},
    {"add", 0xffffffff, 2, 1},
    {"sub", 1, 2, 0xffffffff},
    {"smin", 0xffffffff, 2, 0xffffffff},
    {"umin", 0xffffffff, 2, 2},
    {"smax", 0xffffffff, 2, 2},
    {"umax", 0xffffffff, 2, 0xffffffff},
    {"and", 0xff0, 0x0ff, 0x0f0},
    {"or", 0xff0, 0x0ff, 0xfff},
    {"xor", 0xff0, 0x0ff, 0xf0f},
    {"inc", 5, 5, 0},
    {"inc", 4, 5, 5},
    {"dec", 0, 5, 5},
    {"dec", 9, 5, 5},
    {"dec", 3, 5, 2},
    {"swap_x2", 5, 0x900000009, 0x900000009, true},
    {"add_x2", 0xffffffff, 2, 0x100000001, true},
    {"sub_x2", 1, 2, ~0ULL, true},
    {"smin_x2", ~0ULL, 2, ~0ULL, true},
    {"umin_x2", ~0ULL, 2, 2, true},
    {"smax_x2", ~0ULL, 2, 2, true},
    {"umax_x2", ~0ULL, 2, ~0ULL, true},
    {"and_x2", 0xff000000000, 0x0ff00000000, 0x0f000000000, true},
    {"or_x2", 0xff000000000, 0x0ff00000000, 0xfff00000000, true},
    {"xor_x2", 0xff000000000, 0x0ff00000000, 0xf0f00000000, true},
    {"inc_x2", 0xffffffff, 0x200000000, 0x100000000, true},
    {"dec_x2", 0, 0x200000000, 0x200000000, true},
    {"add_f64", D(1.5), D(2), D(3.5), true},
    {"min_f64", D(1.5), D(2), D(1.5), true},
    {"max_f64", D(1.5), D(2), D(2), true},
    {"add_f32", F(1.5F), F(2), F(3.5F)},
    {"pk_add_f16", 0x40003c00, 0x42004000, 0x45004200},
};

void check_atomic(Machine& m, const Segment& s, const AtomicKind& k, bool returns) {
    const unsigned bytes = k.wide ? 8 : 4;
    prepare(m, s, bytes);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::memcpy(m.data<std::byte>(lane * bytes), &k.old, bytes);
        m.v(10)[lane] = low(k.data);
        m.v(11)[lane] = high(k.data);
    }
    const std::string data = regs(10, bytes / 4);
    std::string text = s.prefix + "_atomic_" + k.name + " ";
    if (s.buffer)
        text += data + ", " + s.address + s.tail;
    else
        text += (returns ? regs(12, bytes / 4) + ", " : "") + s.address + ", " + data + s.tail;
    if (returns) text += " glc";
    m.wave.exec = 0x00000000ffffffff;
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    m.wave.exec = ~std::uint64_t{0};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        std::uint64_t now = 0;
        std::memcpy(&now, m.data<std::byte>(lane * bytes), bytes);
        ASSERT_EQ(now, lane < 32 ? k.result : k.old) << text << " lane " << lane;
        if (!returns || lane >= 32) continue;
        const unsigned to = s.buffer ? 10 : 12;
        ASSERT_EQ(m.v(to)[lane], low(k.old)) << text;
        if (k.wide) {
            ASSERT_EQ(m.v(to + 1)[lane], high(k.old)) << text;
        }
    }
}

void check_compare_swap(Machine& m, const Segment& s, bool wide, bool returns) {
    const unsigned dwords = wide ? 2 : 1;
    prepare(m, s, dwords * 4);
    std::memset(m.data<std::byte>(), 0, 1024);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        m.data<std::uint32_t>()[lane * dwords] = lane;
        for (unsigned r = 0; r < 4; ++r)
            m.v(10 + r)[lane] = 0;
        m.v(10)[lane] = 1000 + lane;
        m.v(10 + dwords)[lane] = lane & ~1U; // odd lanes do not match
    }
    const std::string data = regs(10, 2 * dwords);
    std::string text = s.prefix + "_atomic_cmpswap" + (wide ? "_x2 " : " ");
    if (s.buffer)
        text += data + ", " + s.address + s.tail;
    else
        text += (returns ? regs(20, dwords) + ", " : "") + s.address + ", " + data + s.tail;
    if (returns) text += " glc";
    ASSERT_EQ(m.run(text).outcome, Outcome::kEnd) << text;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        ASSERT_EQ(m.data<std::uint32_t>()[lane * dwords], lane % 2 == 0 ? 1000 + lane : lane)
            << text;
        if (returns) {
            ASSERT_EQ(m.v(s.buffer ? 10 : 20)[lane], lane) << text;
        }
    }
}

/// Many lanes on one cell: every addition counts.
void check_contention(Machine& m) {
    prepare(m, kGlobal, 0);
    m.data<std::uint32_t>()[0] = 0;
    m.v(10).fill(1);
    ASSERT_EQ(m.run("global_atomic_add v12, v[2:3], v10, off glc").outcome, Outcome::kEnd);
    EXPECT_EQ(m.data<std::uint32_t>()[0], kLanes);
    std::uint64_t seen = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        seen |= std::uint64_t{1} << m.v(12)[lane];
    EXPECT_EQ(seen, ~std::uint64_t{0});
}

void check_faults(Machine& m) {
    prepare(m, kGlobal, 4);
    const std::uint64_t nowhere = 0x123400000000;
    m.v(2)[5] = low(nowhere);
    m.v(3)[5] = high(nowhere);
    m.v(10).fill(0xdeadbeef);
    StepInfo info = m.run("global_load_dword v10, v[2:3], off");
    EXPECT_EQ(info.outcome, Outcome::kMemoryFault);
    EXPECT_EQ(info.fault_va, nowhere);
    EXPECT_EQ(info.fault_access, Access::kRead);
    EXPECT_EQ(m.wave.pc, kCode);
    EXPECT_EQ(m.v(10)[6], 0xdeadbeefU);
    info = m.run("global_store_dword v[2:3], v10, off");
    EXPECT_EQ(info.outcome, Outcome::kMemoryFault);
    EXPECT_EQ(info.fault_access, Access::kWrite);
    info = m.run("global_atomic_add v[2:3], v10, off");
    EXPECT_EQ(info.outcome, Outcome::kMemoryFault);
    m.wave.exec = ~(std::uint64_t{1} << 5);
    EXPECT_EQ(m.run("global_load_dword v10, v[2:3], off").outcome, Outcome::kEnd);
    m.wave.exec = ~std::uint64_t{0};
    m.space.add(0x5000000, 4096, false);
    prepare(m, kGlobal, 4);
    m.v(2).fill(0x5000000);
    m.v(3).fill(0);
    EXPECT_EQ(m.run("global_load_dword v10, v[2:3], off").outcome, Outcome::kEnd);
    info = m.run("global_store_dword v[2:3], v10, off");
    EXPECT_EQ(info.outcome, Outcome::kMemoryFault);
    EXPECT_EQ(info.fault_va, 0x5000000U);
    m.v(2).fill(0x5000001);
    EXPECT_EQ(m.run("global_atomic_add v[2:3], v10, off").outcome, Outcome::kMemoryFault);
}

/// Flat addresses in the apertures mean LDS and private memory.
void check_apertures(Machine& m) {
    prepare(m, kFlat, 4);
    m.wave.shared_aperture = kShared;
    m.wave.private_aperture = kPrivate;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t va = lane % 3 == 0   ? kShared + lane * 4
                                 : lane % 3 == 1 ? kPrivate + 12
                                                 : kData + lane * 4;
        m.v(2)[lane] = low(va);
        m.v(3)[lane] = high(va);
        m.v(10)[lane] = 100 + lane;
    }
    ASSERT_EQ(m.run("flat_store_dword v[2:3], v10\n flat_load_dword v11, v[2:3]").outcome,
              Outcome::kEnd);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(m.v(11)[lane], 100 + lane);
        std::uint32_t in_lds = 0;
        std::memcpy(&in_lds, m.lds.data() + lane * 4, 4);
        if (lane % 3 == 0) {
            EXPECT_EQ(in_lds, 100 + lane);
        }
        if (lane % 3 == 1) {
            EXPECT_EQ(*m.data<std::uint32_t>(kScratchOffset + 3 * 256 + lane * 4), 100 + lane);
        }
        if (lane % 3 == 2) {
            EXPECT_EQ(m.data<std::uint32_t>()[lane], 100 + lane);
        }
    }
    ASSERT_EQ(
        m.run("v_mov_b32_e32 v12, src_shared_base\n s_mov_b64 s[8:9], src_private_base").outcome,
        Outcome::kEnd);
    EXPECT_EQ(m.wave.sgpr[8], 0U);
    EXPECT_EQ(m.wave.sgpr[9], high(kPrivate));
}

/// Swizzled descriptor with lane ids: how private memory is reached by buffer instructions.
void check_swizzled_buffer(Machine& m) {
    prepare(m, kBuffer, 0);
    m.wave.sgpr[4] = low(kData);
    m.wave.sgpr[5] = high(kData) | 0x80000000;
    m.wave.sgpr[6] = 0xffffffff;
    m.wave.sgpr[7] = 3U << 21 | 1U << 23;
    m.wave.sgpr[8] = 0x1000; // wave's offset
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        m.v(10)[lane] = lane;
        m.v(11)[lane] = 1000 + lane;
    }
    ASSERT_EQ(m.run("buffer_store_dwordx2 v[10:11], off, s[4:7], s8 offset:16\n"
                    "buffer_load_ushort v12, off, s[4:7], s8 offset:20")
                  .outcome,
              Outcome::kEnd);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(*m.data<std::uint32_t>(0x1000 + 4 * 256 + lane * 4), lane);
        EXPECT_EQ(*m.data<std::uint32_t>(0x1000 + 5 * 256 + lane * 4), 1000 + lane);
        EXPECT_EQ(m.v(12)[lane], 1000 + lane);
    }
}

/// Structured and raw range checks: reads give zero, writes vanish.
void check_buffer_range(Machine& m) {
    prepare(m, kBuffer, 4);
    for (unsigned i = 0; i < 256; ++i)
        m.data<std::uint32_t>()[i] = i + 1;
    m.wave.sgpr[6] = 40 * 4;
    m.v(10).fill(9);
    ASSERT_EQ(m.run("buffer_load_dword v11, v2, s[4:7], 0 offen\n buffer_store_dword v10, v2, "
                    "s[4:7], 0 offen")
                  .outcome,
              Outcome::kEnd);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(m.v(11)[lane], lane < 40 ? lane + 1 : 0);
        EXPECT_EQ(m.data<std::uint32_t>()[lane], lane < 40 ? 9 : lane + 1);
    }
    m.wave.sgpr[5] = high(kData) | 8U << 16; // stride 8, 20 records
    m.wave.sgpr[6] = 20;
    for (unsigned lane = 0; lane < kLanes; ++lane)
        m.v(2)[lane] = lane;
    for (unsigned i = 0; i < 256; ++i)
        m.data<std::uint32_t>()[i] = i + 1;
    ASSERT_EQ(m.run("buffer_load_dword v11, v2, s[4:7], 0 idxen offset:4").outcome, Outcome::kEnd);
    for (unsigned lane = 0; lane < kLanes; ++lane)
        EXPECT_EQ(m.v(11)[lane], lane < 20 ? 2 * lane + 2 : 0);
}

void check_accumulators(Machine& m) {
    prepare(m, kGlobal, 8);
    for (unsigned i = 0; i < 128; ++i)
        m.data<std::uint32_t>()[i] = i;
    ASSERT_EQ(
        m.run("global_load_dwordx2 a[4:5], v[2:3], off\n ds_write_b64 v4, a[4:5]\n"
              "ds_read_b32 a6, v4\n v_accvgpr_read_b32 v20, a5\n v_accvgpr_write_b32 a7, v20\n"
              "v_accvgpr_mov_b32 a8, a7")
            .outcome,
        Outcome::kEnd);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        EXPECT_EQ(m.v(20)[lane], 2 * lane + 1);
        EXPECT_EQ(m.wave.agpr[7][lane], 2 * lane + 1);
        EXPECT_EQ(m.wave.agpr[8][lane], 2 * lane + 1);
    }
}

} // namespace

std::vector<MachineCase> memory_cases() {
    std::vector<MachineCase> out;
    for (const Segment* s : {&kFlat, &kGlobal, &kGlobalScalar, &kScratch, &kBuffer}) {
        for (const LoadKind& k : kLoads)
            out.push_back({{s->prefix + k.name}, [s, k](Machine& m) {
                               check_load(m, *s, k, ~std::uint64_t{0}, 32);
                               check_load(m, *s, k, 0x0123456789abcdef, 32);
                               if (k.bytes >= 4) check_load(m, *s, k, ~std::uint64_t{0}, k.bytes);
                           }});
        for (const StoreKind& k : kStores)
            out.push_back({{s->prefix + k.name}, [s, k](Machine& m) {
                               check_store(m, *s, k, ~std::uint64_t{0}, 32);
                               check_store(m, *s, k, 0x0123456789abcdef, 32);
                           }});
        if (s->is_scratch) continue;
        for (const AtomicKind& k : kAtomics) {
            const std::string name = k.name;
            if (s->prefix == "flat" && (name == "add_f32" || name == "pk_add_f16")) continue;
            out.push_back({{s->prefix + "_atomic_" + name}, [s, k, name](Machine& m) {
                               // gfx90a has returning and plain forms of all but these.
                               const bool plain_only = name == "add_f32" || name == "pk_add_f16";
                               check_atomic(m, *s, k, false);
                               if (!plain_only) check_atomic(m, *s, k, true);
                           }});
        }
        for (const bool wide : {false, true})
            out.push_back(
                {{s->prefix + "_atomic_cmpswap" + (wide ? "_x2" : "")}, [s, wide](Machine& m) {
                     check_compare_swap(m, *s, wide, false);
                     check_compare_swap(m, *s, wide, true);
                 }});
    }
    out.push_back({{"global_atomic_add"}, check_contention});
    out.push_back({{"global_load_dword"}, check_faults});
    out.push_back({{"flat_store_dword"}, check_apertures});
    out.push_back({{"buffer_store_dwordx2"}, check_swizzled_buffer});
    out.push_back({{"buffer_load_dword"}, check_buffer_range});
    out.push_back(
        {{"v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"}, check_accumulators});
    out.push_back(
        {{"buffer_wbl2", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol"}, [](Machine& m) {
             EXPECT_EQ(
                 m.run("buffer_wbl2\n buffer_invl2\n buffer_wbinvl1\n buffer_wbinvl1_vol").outcome,
                 Outcome::kEnd);
         }});
    return out;
}

} // namespace wavetap::softgpu::isa_test
