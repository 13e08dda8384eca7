// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine.hpp"
#include "decode/golden.hpp"
#include "decode/stream_scan.hpp"
#include "decode/written_for_test.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>

// Code objects: known through markers in the stream and from files; program counters as
// {object, ELF address, absolute address}; chips whose code LLVM 19 does not know.

namespace wavetap::decode {
namespace {

using sqtt::Generation;
using test::Bytes;
using test::find;
using test::kUserData2;
using test::Marker;
using test::object_of;
using test::Stream;
using test::words_of;

/// Object 5: two scalar lines, then the end. Any other object: three.
class TwoPrograms final : public CodeSource {
  public:
    CodeLine fetch(std::uint64_t id, std::uint64_t address) override {
        const std::uint64_t scalars = id == 5 ? 2 : 3;
        if (address < 0x100 || (address - 0x100) / 4 > scalars) return {};
        return line_from_text((address - 0x100) / 4 < scalars ? "s_mov_b32 s0, s1" : "s_endpgm", 4,
                              false);
    }
    bool knows(std::uint64_t id) const override { return id != 0; }
};

class WaveSink final : public RecordSink {
  public:
    explicit WaveSink(const CodeMap& code) : code_(&code) {}
    void wave(const WaveView& view) override {
        std::string text = view.stitched ? "" : "incomplete: ";
        for (std::size_t i = 0; i < view.pcs.size(); ++i) {
            const Pc pc = code_->pc_of(view.pcs[i]);
            text += view.has_pc[i] == 0
                        ? "? "
                        : std::to_string(pc.code_object) + ":" + std::to_string(pc.elf_address) +
                              "@" + std::to_string(pc.absolute) + " ";
        }
        waves.push_back(text);
    }
    std::vector<std::string> waves;

  private:
    const CodeMap* code_;
};

std::vector<std::string> waves_of(const Stream& stream) {
    TwoPrograms source;
    CodeMap code(&source, {});
    Diagnostics diagnostics;
    WaveSink sink(code);
    EXPECT_TRUE(decode_stream(stream.bytes(), {}, code, sink, diagnostics));
    return sink.waves;
}

std::string at(std::uint64_t id, std::uint64_t base, unsigned lines) {
    std::string text;
    for (std::uint64_t i = 0; i < lines; ++i)
        text += std::to_string(id) + ":" + std::to_string(0x100 + 4 * i) + "@" +
                std::to_string(base + 0x100 + 4 * i) + " ";
    return text;
}

class Objects : public testing::TestWithParam<Generation> {};

constexpr std::uint64_t kBase = 0x7F1200003000;
constexpr std::uint64_t kWideId = 0x123456789AB;

TEST_P(Objects, AreKnownFromMarkersWithShortAndWideIds) {
    Stream stream(GetParam());
    stream.mark({.id = 5, .address = kBase});
    stream.mark({.id = kWideId, .address = kBase + 0x10000, .wide = true});
    stream.wave(kBase + 0x100, 2);
    stream.wave(kBase + 0x10100, 3);
    EXPECT_EQ(waves_of(stream), (std::vector{at(5, kBase, 3), at(kWideId, kBase + 0x10000, 4)}));
}

TEST_P(Objects, AtAnAddressThatIsUsedAgainAreToldApart) {
    Stream stream(GetParam());
    stream.mark({.id = 5, .address = kBase});
    stream.wave(kBase + 0x100, 2);
    stream.mark({.id = 5, .unload = true});
    stream.mark({.id = kWideId, .address = kBase, .wide = true});
    stream.wave(kBase + 0x100, 3);
    stream.mark({.id = kWideId, .unload = true, .wide = true});
    stream.mark({.id = 5, .address = kBase});
    stream.wave(kBase + 0x100, 2);
    EXPECT_EQ(waves_of(stream),
              (std::vector{at(5, kBase, 3), at(kWideId, kBase, 4), at(5, kBase, 3)}));
}

TEST_P(Objects, ThatAreUnloadedGiveNoAddresses) {
    Stream stream(GetParam());
    stream.mark({.id = 5, .address = kBase});
    stream.mark({.id = 5, .unload = true});
    stream.wave(kBase + 0x100, 2);
    EXPECT_EQ(waves_of(stream), std::vector<std::string>{"incomplete: ? ? ? "});
}

TEST_P(Objects, LoadedBeforeTheTraceMayBeNamedLate) {
    Stream stream(GetParam());
    stream.wave(kBase + 0x100, 2);
    stream.mark({.id = 5, .address = kBase, .from_start = true});
    stream.wave(kBase + 0x100, 2);
    const auto records = decode_blob(stream.bytes(), {});
    ASSERT_TRUE(records);
    ASSERT_EQ(records->waves.size(), 2U);
    for (const WaveRecord& wave : records->waves) {
        EXPECT_EQ(wave.entry.code_object, 5U);
        EXPECT_EQ(wave.entry.elf_address, 0x100U);
        EXPECT_EQ(wave.entry.absolute, kBase + 0x100);
    }
    ASSERT_EQ(records->code_objects.size(), 1U);
    EXPECT_TRUE(records->code_objects[0].from_start);
    ASSERT_EQ(records->events.size(), 1U);
    EXPECT_EQ(records->events[0].kind, EventKind::kCodeObjectLoad);
    EXPECT_EQ(records->events[0].payload, 5U);
}

TEST_P(Objects, LoadedAfterAWaveAreNotItsCode) {
    Stream stream(GetParam());
    stream.wave(kBase + 0x100, 2);
    stream.mark({.id = 5, .address = kBase});
    const auto records = decode_blob(stream.bytes(), {});
    ASSERT_TRUE(records);
    ASSERT_EQ(records->waves.size(), 1U);
    EXPECT_EQ(records->waves[0].entry.code_object, 0U);
    EXPECT_EQ(records->waves[0].entry.absolute, kBase + 0x100);
    EXPECT_EQ(waves_of(stream), std::vector<std::string>{"incomplete: ? ? ? "});
}

TEST_P(Objects, ExecTokensChangeNothing) {
    Stream plain(GetParam()), with(GetParam());
    if (!plain.has_exec()) return; // gfx9 and gfx1250 have no such tokens
    for (Stream* stream : {&plain, &with}) {
        stream->mark({.id = 5, .address = kBase});
        stream->wave(kBase + 0x100, 2, stream == &with);
    }
    EXPECT_LT(plain.bytes().size(), with.bytes().size());
    EXPECT_EQ(waves_of(with), waves_of(plain));
    EXPECT_EQ(waves_of(with), std::vector{at(5, kBase, 3)});
    const auto records = decode_blob(with.bytes(), {});
    ASSERT_TRUE(records);
    EXPECT_EQ(records->token_counts.at("ALUEXEC"), 2U);
    EXPECT_EQ(records->token_counts.at("VMEMEXEC"), 2U);
}

// One more than are kept is counted and located; what was unloaded and comes again counts once.
TEST(ManyObjects, AreKeptUpToALimitAndThenCounted) {
    constexpr std::uint64_t kLimit = CodeMap::kMaxObjects;
    const auto base_of = [](std::uint64_t id) { return kBase + (id << 16); };
    Stream stream(Generation::kGfx12);
    for (std::uint64_t id = 1; id < kLimit; ++id)
        stream.mark({.id = id, .address = base_of(id)});
    for (unsigned again = 0; again < 3; ++again) {
        stream.mark({.id = 1, .unload = true});
        stream.mark({.id = 1, .address = base_of(1)});
    }
    stream.mark({.id = kLimit, .address = base_of(kLimit)});
    stream.wave(base_of(1) + 0x100, 1);
    stream.wave(base_of(kLimit) + 0x100, 1);
    auto records = decode_blob(stream.bytes(), {});
    ASSERT_TRUE(records);
    EXPECT_EQ(find(*records, "too-many-code-objects"), nullptr);
    EXPECT_EQ(records->waves[0].entry.code_object, 1U);
    EXPECT_EQ(records->waves[1].entry.code_object, kLimit);

    const std::size_t sound = stream.bytes().size();
    for (const std::uint64_t id : {kLimit + 1, kLimit + 2})
        stream.mark({.id = id, .address = base_of(id)});
    stream.mark({.id = kLimit + 1, .unload = true});
    stream.mark({.id = 2, .unload = true});
    stream.mark({.id = 2, .address = base_of(2)});
    stream.wave(base_of(kLimit + 1) + 0x100, 1);
    stream.wave(base_of(2) + 0x100, 1);
    records = decode_blob(stream.bytes(), {});
    ASSERT_TRUE(records);
    const Diagnostic* const found = find(*records, "too-many-code-objects");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->count, 2U);
    EXPECT_GE(found->first_offset_bytes, sound);
    EXPECT_LT(found->first_time, records->waves[2].start);
    ASSERT_EQ(records->waves.size(), 4U);
    EXPECT_EQ(records->waves[2].entry.code_object, 0U);
    EXPECT_EQ(records->waves[2].entry.absolute, base_of(kLimit + 1) + 0x100);
    EXPECT_EQ(records->waves[3].entry.code_object, 2U);
    const auto scan = scan_blob(stream.bytes(), {});
    ASSERT_TRUE(scan);
    EXPECT_EQ(scan->code_objects.size(), records->code_objects.size());
}

INSTANTIATE_TEST_SUITE_P(Generations, Objects,
                         testing::Values(Generation::kGfx9, Generation::kGfx10, Generation::kGfx11,
                                         Generation::kGfx12, Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

struct Lacking {
    const char* gfx;
    std::uint8_t mach;
    Generation generation;
    std::uint32_t mov, end;
};

// Chips that LLVM 19 lacks: the nearest chip's tables, and each instruction that they do not hold is
// counted. The third word is none of either chip.
TEST(NearestChip, CountsTheInstructionsThatItsTablesLack) {
    constexpr std::uint32_t kNothing = 0xFFFFFFFF;
    for (const Lacking& chip :
         {Lacking{"gfx950", 0x4F, Generation::kGfx9, 0xBE800001, 0xBF810000},
          Lacking{"gfx1250", 0x49, Generation::kGfx1250, 0xBE800001, 0xBFB00000}}) {
        const code::CodeObject good = object_of(chip.mach, {chip.mov, chip.mov, chip.end});
        const code::CodeObject odd = object_of(chip.mach, {chip.mov, kNothing, chip.end});
        ASSERT_EQ(good.gfx(), chip.gfx);
        Stream stream(chip.generation);
        stream.wave(kBase + 0x100, 2);
        stream.wave(kBase + 0x100, 2);
        Options options;
        options.objects = {{&good, kBase, 9}};
        auto records = decode_blob(stream.bytes(), options);
        ASSERT_TRUE(records);
        EXPECT_EQ(records->instructions, 6U) << chip.gfx;
        EXPECT_EQ(records->instructions_with_pc, 6U) << chip.gfx;
        EXPECT_NE(find(*records, "nearest-chip"), nullptr);
        EXPECT_EQ(find(*records, "unknown-instruction"), nullptr);
        options.objects = {{&odd, kBase, 9}};
        records = decode_blob(stream.bytes(), options);
        ASSERT_TRUE(records);
        EXPECT_EQ(records->instructions_with_pc, 2U) << "one a wave, then nothing is known";
        const Diagnostic* unknown = find(*records, "unknown-instruction");
        ASSERT_NE(unknown, nullptr);
        EXPECT_EQ(unknown->count, 1U);
        const Pc pc = records->waves[0].instructions[0].pc;
        EXPECT_EQ(pc.code_object, 9U);
        EXPECT_EQ(pc.elf_address, 0x100U);
        EXPECT_EQ(pc.absolute, kBase + 0x100);
    }
}

/// Register writes of a marker right behind the header, without time.
Bytes with_marker(const Bytes& blob, const Marker& marker) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, blob.data(), 8);
    const auto header = sqtt::parse_header(raw);
    EXPECT_TRUE(header);
    sqtt::TokenPacker packer;
    for (const std::uint32_t word : words_of(marker)) {
        const auto& row = *sqtt::find_row(header->generation, sqtt::TokenType::kReg);
        sqtt::TokenBits bits{row.pattern, 0};
        if (header->generation == Generation::kGfx9)
            sqtt::insert(bits, row.find(sqtt::FieldId::kOp).bits, 1);
        sqtt::insert(bits, row.find(sqtt::FieldId::kMe).bits, 1);
        sqtt::insert(bits, row.find(sqtt::FieldId::kAddress).bits, kUserData2);
        sqtt::insert(bits, row.find(sqtt::FieldId::kData).bits, word);
        packer.put(bits, row.bits);
    }
    Bytes out(blob.size() + packer.bytes().size());
    const auto behind = std::copy_n(blob.begin(), 8, out.begin());
    const auto rest = std::copy(packer.bytes().begin(), packer.bytes().end(), behind);
    std::copy(blob.begin() + 8, blob.end(), rest);
    return out;
}

class MarkedBlobs : public testing::TestWithParam<const char*> {};

// The object's address comes from the marker only: the caller has the file, and no address of it.
TEST_P(MarkedBlobs, EqualTheirGoldenFiles) {
    using Json = nlohmann::json;
    const auto files = test::trace_files(GetParam(), ".att");
    WAVETAP_NEED_DATA(files);
    std::size_t with_instructions = 0;
    for (const auto& path : files) {
        const Json meta = Json::parse(std::ifstream(path.parent_path() / "meta.json"));
        const auto object = code::CodeObject::load(path.parent_path() / "code.elf");
        ASSERT_TRUE(object);
        const std::uint64_t base = std::stoull(meta["load_base"].get<std::string>(), nullptr, 16);
        auto golden_path = path;
        golden_path.replace_extension(".golden.json");
        const Json want = Json::parse(std::ifstream(golden_path));
        for (const Marker& marker :
             {Marker{.id = 7, .address = base, .size = object->memory_bytes()},
              Marker{
                  .id = kWideId, .address = base, .size = object->memory_bytes(), .wide = true}}) {
            Options options;
            options.objects = {{&*object, 0x1000, marker.id}};
            const Bytes bytes = with_marker(test::read_bytes(path), marker);
            const auto records = decode_blob(bytes, options);
            ASSERT_TRUE(records) << path;
            const Json got =
                Json::parse(golden_json(*records, {path.filename(), -1, bytes.size()}));
            // All but what the marker's own register writes add to.
            for (const char* key :
                 {"generation", "header", "waves", "dispatches", "realtime", "other_simd",
                  "last_time", "instruction_tokens", "waves_total", "waves_with_instructions",
                  "waves_unfinished", "wave_end_without_start", "tokens_without_wave"}) {
                if (!want.contains(key)) continue;
                EXPECT_EQ(got[key], want[key]) << path << " " << key;
            }
            ASSERT_EQ(records->code_objects.size(), 1U) << path;
            EXPECT_EQ(records->code_objects[0].id, marker.id);
            for (const WaveRecord& wave : records->waves) {
                for (const InstructionRecord& instruction : wave.instructions) {
                    if (instruction.pc.absolute == 0) continue;
                    EXPECT_EQ(instruction.pc.code_object, marker.id);
                    ++with_instructions;
                }
            }
        }
    }
    EXPECT_GT(with_instructions, 100U);
}

INSTANTIATE_TEST_SUITE_P(Silicon, MarkedBlobs, testing::Values("gfx950", "gfx1100", "gfx1200"));

} // namespace
} // namespace wavetap::decode
