// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/isa_test_util.hpp"

#include <gmock/gmock.h>

#include <cstring>

namespace wavetap::softgpu::isa_test {
namespace {

using ::testing::HasSubstr;

void put_words(Machine& m, std::initializer_list<std::uint32_t> words) {
    std::memcpy(m.space.bytes(kCode).data(), words.begin(), words.size() * 4);
    m.program->invalidate();
}

TEST(IsaProgramTest, UnknownMnemonic_IsAnErrorWithPcBytesAndText) {
    Machine m;
    const auto code = assemble("ds_gws_sema_v gds");
    std::memcpy(m.space.bytes(kCode).data(), code.data(), code.size());
    const auto op = m.program->fetch(kCode);
    ASSERT_FALSE(op);
    EXPECT_EQ(op.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(op.error().message, HasSubstr("0x10000"));
    EXPECT_THAT(op.error().message, HasSubstr("ds_gws_sema_v"));
    EXPECT_THAT(op.error().message, HasSubstr("bytes "));
}

TEST(IsaProgramTest, IllegalEncoding_IsAnError) {
    Machine m;
    put_words(m, {0xffffffff, 0xffffffff});
    const auto op = m.program->fetch(kCode);
    ASSERT_FALSE(op);
    EXPECT_EQ(op.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(op.error().message, HasSubstr("ff ff ff ff"));
}

TEST(IsaProgramTest, ModifierWithoutSemantics_IsAnError) {
    Machine m;
    const auto code = assemble("buffer_load_dword off, s[4:7], 0 lds");
    std::memcpy(m.space.bytes(kCode).data(), code.data(), code.size());
    EXPECT_FALSE(m.program->fetch(kCode));
}

TEST(IsaProgramTest, UnmappedOrMisalignedPc_IsNotFound) {
    Machine m;
    auto op = m.program->fetch(0x900000000);
    ASSERT_FALSE(op);
    EXPECT_EQ(op.error().code, ErrorCode::kNotFound);
    op = m.program->fetch(kCode + 2);
    ASSERT_FALSE(op);
    EXPECT_EQ(op.error().code, ErrorCode::kNotFound);
}

TEST(IsaProgramTest, LastInstructionOfAWindow_Decodes) {
    Machine m;
    const auto code = m.space.bytes(kCode);
    const std::uint32_t end = 0xbf810000;
    std::memcpy(code.data() + code.size() - 4, &end, 4);
    const auto op = m.program->fetch(kCode + code.size() - 4);
    ASSERT_TRUE(op);
    EXPECT_EQ((*op)->size_bytes, 4U);
}

TEST(IsaProgramTest, UnknownChip_NamesTheKnownOnes) {
    TestSpace space;
    const auto program = Program::create("gfx1100", space);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(program.error().hint, HasSubstr("gfx90a"));
}

TEST(IsaProgramTest, ChangedCode_IsSeenAfterInvalidate) {
    Machine m;
    m.run("s_mov_b32 s8, 1");
    EXPECT_EQ(m.wave.sgpr[8], 1U);
    const auto old = m.program->fetch(kCode);
    m.run("s_mov_b32 s8, 2");
    EXPECT_EQ(m.wave.sgpr[8], 2U);
    EXPECT_EQ((*old)->text, "s_mov_b32 s8, 1"); // still alive for waves that hold it
}

TEST(IsaProgramTest, Classes_FollowTheTokenFormat) {
    struct Expected {
        const char* text;
        Unit unit;
        unsigned type;
        unsigned counters;
        bool store;
    };
    const Expected rows[] = {
        {"s_add_u32 s0, s1, s2", Unit::kSalu, 1, kNoCounter, false},
        {"s_and_saveexec_b64 s[0:1], s[2:3]", Unit::kSalu, 1, kNoCounter, false},
        {"s_load_dword s0, s[2:3], 0x0", Unit::kSmem, 0, kLgkmCnt, false},
        {"s_store_dword s0, s[2:3], 0x0", Unit::kSmem, 16, kLgkmCnt, true},
        {"v_add_f32_e32 v0, v1, v2", Unit::kValu, 5, kNoCounter, false},
        {"v_lshl_add_u32 v0, v1, v2, v3", Unit::kValu, 18, kNoCounter, false},
        {"v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", Unit::kValu, 18, kNoCounter, false},
        {"v_add_f64 v[0:1], v[2:3], v[4:5]", Unit::kValu, 18, kNoCounter, false},
        {"ds_read_b32 v0, v1", Unit::kLds, 6, kLgkmCnt, false},
        {"ds_write_b32 v0, v1", Unit::kLds, 6, kLgkmCnt, true},
        {"global_load_dword v0, v[2:3], off", Unit::kVmem, 14, kVmCnt, false},
        {"global_store_dword v[2:3], v0, off", Unit::kVmem, 4, kVmCnt, true},
        {"flat_load_dword v0, v[2:3]", Unit::kFlat, 14, kVmCnt | kLgkmCnt, false},
        {"buffer_load_dword v0, off, s[0:3], 0", Unit::kVmem, 2, kVmCnt, false},
        {"buffer_store_dword v0, off, s[0:3], 0", Unit::kVmem, 3, kVmCnt, true},
        {"s_branch 1", Unit::kBranch, 12, kNoCounter, false},
        {"s_setpc_b64 s[0:1]", Unit::kBranch, 7, kNoCounter, false},
        {"s_barrier", Unit::kMessage, 15, kNoCounter, false},
        {"s_endpgm", Unit::kMessage, 15, kNoCounter, false},
        {"s_sendmsg sendmsg(MSG_INTERRUPT)", Unit::kMessage, 15, kLgkmCnt, false},
        {"s_waitcnt vmcnt(0)", Unit::kImmediate, kNoInstToken, kNoCounter, false},
        {"s_nop 0", Unit::kImmediate, kNoInstToken, kNoCounter, false},
    };
    for (const Expected& row : rows) {
        Machine m;
        const auto code = assemble(row.text);
        std::memcpy(m.space.bytes(kCode).data(), code.data(), code.size());
        const auto op = m.program->fetch(kCode);
        ASSERT_TRUE(op) << op.error().message;
        EXPECT_EQ((*op)->unit, row.unit) << row.text;
        EXPECT_EQ((*op)->sqtt_type, row.type) << row.text;
        EXPECT_EQ((*op)->counters, row.counters) << row.text;
        EXPECT_EQ((*op)->is_store, row.store) << row.text;
        EXPECT_EQ((*op)->size_bytes, code.size()) << row.text;
    }
}

TEST(IsaExecuteTest, RegisterThatWasNotGranted_IsIllegal) {
    Machine m;
    m.wave.vgpr.resize(8);
    m.wave.agpr.clear();
    for (const char* text :
         {"v_mov_b32_e32 v8, v0", "v_mov_b32_e32 v0, v9", "v_add_f64 v[0:1], v[6:7], v[8:9]",
          "global_load_dwordx4 v[6:9], v[0:1], off", "ds_read_b64 v[8:9], v0",
          "v_accvgpr_write_b32 a0, v0", "v_readlane_b32 s0, v8, 0"}) {
        const StepInfo info = m.run(text);
        EXPECT_EQ(info.outcome, Outcome::kIllegal) << text;
        EXPECT_EQ(m.wave.pc, kCode) << text;
    }
}

TEST(IsaExecuteTest, NoActiveLanes_TouchNothing) {
    Machine m;
    m.wave.exec = 0;
    m.v(2).fill(0);
    m.v(3).fill(0x7fff);
    const auto before = m.wave.vgpr;
    EXPECT_EQ(m.run("global_load_dword v4, v[2:3], off\n flat_store_dword v[2:3], v4\n "
                    "ds_write_b32 v2, v3\n"
                    "v_add_u32_e32 v4, v2, v3\n global_atomic_add v[2:3], v4, off")
                  .outcome,
              Outcome::kEnd);
    EXPECT_EQ(m.wave.vgpr, before);
}

} // namespace
} // namespace wavetap::softgpu::isa_test
