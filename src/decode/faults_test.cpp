// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/code_map.hpp"
#include "decode/diagnostics.hpp"
#include "decode/written_for_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

// Every fault of the table is raised by a stream that has it.

namespace wavetap::decode {
namespace {

using sqtt::FieldId;
using sqtt::Generation;
using sqtt::TokenType;
using test::Bytes;
using test::object_of;
using test::Stream;

constexpr std::uint64_t kBase = 0x7F1200003000;
constexpr std::uint32_t kScalar = 0xBE800001, kVector = 0x7E000300; // s_mov_b32, v_mov_b32
constexpr std::uint32_t kEnd = 0xBF810000, kNothing = 0xFFFFFFFF;
constexpr std::uint8_t kGfx90a = 0x3F, kGfx950 = 0x4F, kGfx1100 = 0x41;

struct Made {
    Bytes bytes;
    std::vector<std::uint32_t> code; ///< at kBase + 0x100; empty: none is given
    std::uint8_t mach = kGfx90a;
};

Made gfx9_fault(Fault fault) {
    Stream stream(Generation::kGfx9);
    sqtt::Gfx9Writer& writer = stream.gfx9();
    const auto start = [&](std::uint8_t slot) {
        EXPECT_TRUE(writer.wave_start(stream.next_clock(), {.wave = {.slot = slot}}));
    };
    const auto end = [&] { EXPECT_TRUE(writer.wave_end(stream.next_clock(), {})); };
    switch (fault) {
    case Fault::kPacketsLost:
        EXPECT_TRUE(writer.misc(stream.next_clock(), sqtt::Gfx9Misc::kPacketLost));
        break;
    case Fault::kUnidentifiedIssue:
        start(0);
        stream.issue();
        end();
        break;
    case Fault::kQueueOverflow:
        start(0);
        for (unsigned i = 0; i < 65; ++i)
            stream.issue();
        break;
    case Fault::kUnknownInstructionCode:
        start(0);
        stream.issue();
        stream.name(sqtt::Gfx9Inst::kReserved26);
        break;
    case Fault::kUnknownPc: // what follows a jump without its target
        start(0);
        stream.issue();
        stream.name(sqtt::Gfx9Inst::kPc);
        stream.issue();
        stream.name(sqtt::Gfx9Inst::kSalu);
        end();
        break;
    case Fault::kTimeBackwards:
        EXPECT_TRUE(writer.wave_start(stream.next_clock(), {}));
        stream.raw({0x00, 0x20, 0x01, 0x00, 0x10, 0, 0, 0, 0, 0}); // a reset, then the time 16
        break;
    case Fault::kResetWithoutTimestamp:
        EXPECT_TRUE(writer.wave_start(stream.next_clock(), {}));
        stream.raw({0x00, 0x20});
        break;
    case Fault::kSlotOutOfRange:
        start(10);
        break;
    case Fault::kTargetOutOfRange: {
        start(0);
        Made made{stream.bytes(), {}};
        made.bytes[3] |= std::byte{1}; // bit 4 of the CU
        return made;
    }
    default:
        ADD_FAILURE() << "no stream for it";
    }
    return {stream.bytes(), {}};
}

Made rdna_fault(Fault fault) {
    Stream stream(Generation::kGfx12);
    sqtt::RdnaWriter& writer = stream.rdna();
    const auto start = [&] { EXPECT_TRUE(writer.wave_start(stream.next_clock(), {}, 64)); };
    switch (fault) {
    case Fault::kRegistersDropped:
        EXPECT_TRUE(writer.put(stream.next_clock(), TokenType::kReg, {{FieldId::kDropped, 1}}));
        break;
    case Fault::kUnknownToken:
        stream.raw({0x41, 0, 0, 0});
        break;
    case Fault::kCutToken:
        EXPECT_TRUE(writer.new_pc(stream.next_clock(), 0, kBase));
        stream.cut(1);
        break;
    case Fault::kEndWithoutStart:
        EXPECT_TRUE(writer.wave_end(stream.next_clock(), {}));
        break;
    case Fault::kStartOfLiveWave:
        start();
        start();
        break;
    case Fault::kUnfinishedWave:
        start();
        break;
    case Fault::kTokenWithoutWave:
        EXPECT_TRUE(writer.inst(stream.next_clock(), 3, 0));
        break;
    case Fault::kErrorPc:
        EXPECT_TRUE(writer.put(stream.next_clock(), TokenType::kNewPc, {{FieldId::kError, 1}}));
        break;
    case Fault::kHeaderChanged:
        stream.raw({0x91, 0x01, 0x70, 0x68, 0, 0, 0, 0});
        break;
    default:
        return gfx9_fault(fault);
    }
    return {stream.bytes(), {}};
}

// The immediate of the third line comes before the second one's token.
Made mismatch() {
    Stream stream(Generation::kGfx11);
    sqtt::RdnaWriter& writer = stream.rdna();
    constexpr std::uint64_t kEntry = kBase + 0x100;
    EXPECT_TRUE(writer.reg_cs(stream.next_clock(), 0xC, kEntry >> 8 & 0xFFFFFFFF));
    EXPECT_TRUE(writer.reg_cs(stream.next_clock(), 0xD, kEntry >> 40));
    EXPECT_TRUE(writer.wave_start(stream.next_clock(), {}, 127));
    EXPECT_TRUE(writer.inst(stream.next_clock(), 0, 0));
    EXPECT_TRUE(writer.immediate(stream.next_clock(), 0));
    EXPECT_TRUE(writer.valu(stream.next_clock(), 0));
    EXPECT_TRUE(writer.wave_end(stream.next_clock(), {}));
    constexpr std::uint32_t kWait = 0xBF890000, kEndOfGfx11 = 0xBFB00000;
    return {stream.bytes(), {kScalar, kVector, kWait, kEndOfGfx11}, kGfx1100};
}

/// No default: a fault that is new needs a stream here.
Made stream_with(Fault fault) {
    Stream stream(Generation::kGfx9);
    stream.wave(kBase + 0x100, 2);
    switch (fault) {
    case Fault::kNoCodeObject:
        return {stream.bytes(), {}};
    case Fault::kUnknownInstruction:
        return {stream.bytes(), {kScalar, kNothing, kEnd}};
    case Fault::kStitchIncomplete:
        return {stream.bytes(), {kScalar, kEnd}};
    case Fault::kLinesWithoutToken:
        return {stream.bytes(), {kScalar, kVector, kScalar, kEnd}};
    case Fault::kLineMismatch:
        return mismatch();
    case Fault::kNearestChip:
        return {stream.bytes(), {kScalar, kScalar, kEnd}, kGfx950};
    case Fault::kTooManyObjects:
        for (std::uint64_t id = 1; id <= CodeMap::kMaxObjects + 1; ++id)
            stream.mark({.id = id, .address = id << 16});
        return {stream.bytes(), {}};
    case Fault::kPacketsLost:
    case Fault::kRegistersDropped:
    case Fault::kUnknownToken:
    case Fault::kCutToken:
    case Fault::kEndWithoutStart:
    case Fault::kStartOfLiveWave:
    case Fault::kUnfinishedWave:
    case Fault::kTokenWithoutWave:
    case Fault::kUnknownInstructionCode:
    case Fault::kUnidentifiedIssue:
    case Fault::kUnknownPc:
    case Fault::kQueueOverflow:
    case Fault::kResetWithoutTimestamp:
    case Fault::kTimeBackwards:
    case Fault::kSlotOutOfRange:
    case Fault::kTargetOutOfRange:
    case Fault::kErrorPc:
    case Fault::kHeaderChanged:
        return rdna_fault(fault);
    }
    return {};
}

BlobRecords decode(const Made& made) {
    std::optional<code::CodeObject> object;
    Options options;
    if (!made.code.empty()) {
        object.emplace(object_of(made.mach, made.code));
        options.objects = {{&*object, kBase, 9}};
    }
    auto records = decode_blob(made.bytes, options);
    EXPECT_TRUE(records);
    return records ? *std::move(records) : BlobRecords{};
}

TEST(Faults, EachOfTheTableIsRaisedByAStreamThatHasIt) {
    for (std::size_t i = 0; i < kFaultCount; ++i) {
        const char* const kind = describe(static_cast<Fault>(i)).kind;
        SCOPED_TRACE(kind);
        const Made made = stream_with(static_cast<Fault>(i));
        const BlobRecords records = decode(made);
        const Diagnostic* const found = test::find(records, kind);
        EXPECT_NE(found, nullptr);
        if (found == nullptr) continue;
        EXPECT_GE(found->count, 1U);
        // The chip is known before the first byte and the header is there; all else has a place.
        const auto fault = static_cast<Fault>(i);
        if (fault != Fault::kNearestChip && fault != Fault::kTargetOutOfRange) {
            EXPECT_GT(found->first_offset_bytes, 0U);
        }
        EXPECT_LE(found->first_offset_bytes, made.bytes.size());
        EXPECT_LE(found->first_time, records.last_time);
    }
}

TEST(Faults, NoneIsRaisedByAStreamWithoutFault) {
    for (const Generation generation : {Generation::kGfx9, Generation::kGfx12}) {
        Stream stream(generation);
        stream.wave(kBase + 0x100, 2);
        const bool gfx9 = generation == Generation::kGfx9;
        const code::CodeObject object =
            object_of(gfx9 ? kGfx90a : 0x48, {kScalar, kScalar, gfx9 ? kEnd : 0xBFB00000});
        Options options;
        options.objects = {{&object, kBase, 9}};
        const auto records = decode_blob(stream.bytes(), options);
        ASSERT_TRUE(records);
        EXPECT_TRUE(records->diagnostics.empty())
            << records->diagnostics[0].kind << ": " << records->diagnostics[0].text();
    }
}

class NoCodeObject : public testing::TestWithParam<Generation> {};

// Instructions outside of every object are counted as that, not as a bad fit; the first is located.
TEST_P(NoCodeObject, CountsTheInstructionsThatNoneCovers) {
    const bool gfx9 = GetParam() == Generation::kGfx9;
    Stream stream(GetParam());
    stream.mark({.id = 5, .address = kBase});
    stream.wave(kBase + 0x100, 2);
    const std::size_t covered = stream.bytes().size();
    stream.wave(kBase + 0x100000, 2);
    stream.wave(kBase + 0x200000, 4);
    const code::CodeObject object =
        object_of(gfx9 ? kGfx90a : 0x48, {kScalar, kScalar, gfx9 ? kEnd : 0xBFB00000});
    Options options;
    options.objects = {{&object, 0x1000, 5}};
    for (const unsigned threads : {1U, 3U}) {
        options.threads = threads;
        options.part_bytes = threads == 1 ? 0 : 16;
        const auto records = decode_blob(stream.bytes(), options);
        ASSERT_TRUE(records);
        const Diagnostic* const found = test::find(*records, "no-code-object");
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->count, 8U); // with two s_endpgm
        EXPECT_GE(found->first_offset_bytes, covered);
        EXPECT_LT(found->first_offset_bytes, stream.bytes().size());
        ASSERT_EQ(records->waves.size(), 3U);
        EXPECT_EQ(found->first_time, records->waves[1].start);
        EXPECT_EQ(records->instructions_with_pc + found->count, records->instructions);
        EXPECT_EQ(test::find(*records, "stitch-incomplete"), nullptr);
    }
}

class UnknownInstructions : public testing::TestWithParam<Generation> {};

// Each is counted once, whatever number of waves and threads come to it; its place is the first wave
// that did.
TEST_P(UnknownInstructions, AreTheSameForAnyThreadsPartsAndPieces) {
    const bool gfx9 = GetParam() == Generation::kGfx9;
    std::vector<std::uint32_t> code(0x90, gfx9 ? kEnd : 0xBFB00000);
    code[0x00] = code[0x40] = code[0x80] = kScalar; // at 0x100, 0x200 and 0x300
    code[0x01] = code[0x41] = kNothing;
    const code::CodeObject object = object_of(gfx9                               ? kGfx90a
                                              : GetParam() == Generation::kGfx11 ? kGfx1100
                                                                                 : 0x48,
                                              code);
    Stream stream(GetParam());
    stream.wave(kBase + 0x300, 1);
    const std::size_t sound = stream.bytes().size();
    for (unsigned i = 0; i < 40; ++i)
        stream.wave(kBase + (i % 2 == 0 ? 0x100 : 0x200), 2);
    Options options;
    options.objects = {{&object, kBase, 9}};
    const auto check = [&](const BlobRecords& records) {
        ASSERT_EQ(records.waves.size(), 41U);
        const Diagnostic* const found = test::find(records, "unknown-instruction");
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->count, 2U);
        EXPECT_GE(found->first_offset_bytes, sound);
        EXPECT_LT(found->first_offset_bytes, sound + 40);
        EXPECT_EQ(found->first_time, records.waves[1].start);
    };
    for (const unsigned threads : {1U, 2U, 3U, 4U, 7U}) {
        SCOPED_TRACE(threads);
        options.threads = threads;
        options.part_bytes = threads == 1 ? 0 : 16;
        const auto records = decode_blob(stream.bytes(), options);
        ASSERT_TRUE(records);
        check(*records);
        PieceDecoder pieces(options);
        for (std::size_t at = 0; at < stream.bytes().size(); at += 11)
            ASSERT_TRUE(pieces.feed(
                std::span(stream.bytes())
                    .subspan(at, std::min<std::size_t>(11, stream.bytes().size() - at))));
        ASSERT_TRUE(pieces.finish());
        check(pieces.records());
    }
}

INSTANTIATE_TEST_SUITE_P(Generations, UnknownInstructions,
                         testing::Values(Generation::kGfx9, Generation::kGfx11, Generation::kGfx12),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

// An object that a marker names and nobody gave has no code either: nothing "does not fit".
TEST_P(NoCodeObject, CountsWhatRunsInObjectsWithoutBytes) {
    const bool gfx9 = GetParam() == Generation::kGfx9;
    Stream stream(GetParam());
    stream.mark({.id = 5, .address = kBase});
    stream.mark({.id = 6, .address = kBase + 0x10000});
    stream.wave(kBase + 0x100, 2);
    stream.wave(kBase + 0x10100, 2);
    const code::CodeObject object =
        object_of(gfx9 ? kGfx90a : 0x48, {kScalar, kScalar, gfx9 ? kEnd : 0xBFB00000});
    Options options;
    for (const std::uint64_t count : {6U, 3U}) { // with two s_endpgm, with one
        if (count == 3) options.objects = {{&object, 0x1000, 5}};
        const auto records = decode_blob(stream.bytes(), options);
        ASSERT_TRUE(records);
        const Diagnostic* const found = test::find(*records, "no-code-object");
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->count, count);
        EXPECT_EQ(found->first_time, records->waves[count == 6 ? 0 : 1].start);
        EXPECT_EQ(records->instructions_with_pc + count, records->instructions);
        EXPECT_EQ(test::find(*records, "stitch-incomplete"), nullptr);
    }
}

INSTANTIATE_TEST_SUITE_P(Generations, NoCodeObject,
                         testing::Values(Generation::kGfx9, Generation::kGfx11, Generation::kGfx12,
                                         Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

} // namespace
} // namespace wavetap::decode
