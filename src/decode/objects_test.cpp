// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/engine.hpp"
#include "decode/golden.hpp"
#include "sqtt/gfx9_writer.hpp"
#include "sqtt/rdna_writer.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

// Code objects: known through markers in the stream and from files; program counters as
// {object, ELF address, absolute address}; chips whose code LLVM 19 does not know.

namespace wavetap::decode {
namespace {

using Bytes = std::vector<std::byte>;
using sqtt::Generation;

constexpr std::uint16_t kUserData2 = 0xC342;

struct Marker {
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0x1000;
    bool unload = false, from_start = false;
    bool wide = false; ///< the id as two words, not in the last one
};

/// The words that ROCm writes into USERDATA_2 for one code object.
std::vector<std::uint32_t> words_of(const Marker& marker) {
    std::vector<std::uint32_t> words{0x434F5200};
    const auto pair = [&words](std::uint32_t type, std::uint64_t value) {
        words.push_back(4 | type << 8);
        words.push_back(static_cast<std::uint32_t>(value));
    };
    if (!marker.unload) {
        pair(1, marker.size);
        pair(4, marker.size >> 32);
        pair(2, marker.address);
        pair(3, marker.address >> 32);
    }
    if (marker.wide) {
        pair(5, marker.id);
        pair(6, marker.id >> 32);
    }
    pair(0, (marker.wide ? 0 : marker.id << 2) | (marker.from_start ? 2 : 0) |
                (marker.unload ? 1 : 0));
    return words;
}

class VectorSink final : public sqtt::TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    Bytes data;
};

/// A stream of one wave after another on the target, of any generation.
class Stream {
  public:
    explicit Stream(Generation generation) : generation_(generation) {
        static constexpr std::uint64_t kHeaders[] = {sqtt::Gfx9Header{}.encode(), 0x111, 0x68900191,
                                                     0x0113100868700211, 0x0000000000000291};
        const std::uint64_t header = kHeaders[static_cast<std::size_t>(generation)];
        if (generation == Generation::kGfx9) {
            sink_.data.resize(8);
            std::memcpy(sink_.data.data(), &header, 8);
            gfx9_.emplace(sink_);
        } else {
            rdna_.emplace(generation, sink_);
            EXPECT_TRUE(rdna_->header(header));
        }
    }
    void mark(const Marker& marker) {
        for (const std::uint32_t word : words_of(marker)) {
            clock_ += 4;
            if (gfx9_)
                EXPECT_TRUE(gfx9_->reg_write(clock_, kUserData2, word));
            else
                EXPECT_TRUE(rdna_->reg_write(clock_, kUserData2, word));
        }
    }
    /// A wave that runs `scalars` scalar instructions from `pc` on, then ends.
    void wave(std::uint64_t pc, unsigned scalars, bool exec_tokens = false) {
        const auto low = static_cast<std::uint32_t>(pc >> 8);
        const auto high = static_cast<std::uint32_t>(pc >> 40);
        clock_ += 40;
        if (gfx9_) {
            EXPECT_TRUE(gfx9_->reg_cs(clock_, 0xC, low) && gfx9_->reg_cs(clock_, 0xD, high));
            EXPECT_TRUE(gfx9_->wave_start(clock_, {}));
            for (unsigned i = 0; i < scalars; ++i)
                issue(sqtt::Gfx9Inst::kSalu);
            issue(sqtt::Gfx9Inst::kMessage);
            EXPECT_TRUE(gfx9_->wave_end(clock_ += 40, {}));
            return;
        }
        EXPECT_TRUE(rdna_->reg_cs(clock_, 0xC, low));
        EXPECT_TRUE(rdna_->reg_cs(clock_, 0xD, high));
        EXPECT_TRUE(rdna_->wave_start(clock_, {}, 127));
        for (unsigned i = 0; i < scalars; ++i) {
            EXPECT_TRUE(rdna_->inst(clock_ += 8, 0, 0));
            if (exec_tokens) exec(clock_ + 4);
        }
        EXPECT_TRUE(rdna_->wave_end(clock_ += 40, {}));
    }
    void exec(std::uint64_t clock) {
        EXPECT_TRUE(
            rdna_->put(clock, sqtt::TokenType::kAluExec, {{sqtt::FieldId::kSaluExecuted, 1}}));
        EXPECT_TRUE(
            rdna_->put(clock + 1, sqtt::TokenType::kVmemExec, {{sqtt::FieldId::kIsVmem, 1}}));
    }
    const Bytes& bytes() const { return sink_.data; }
    bool has_exec() const {
        return rdna_ && sqtt::find_row(generation_, sqtt::TokenType::kAluExec) != nullptr;
    }

  private:
    void issue(sqtt::Gfx9Inst type) {
        std::array<sqtt::Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
        states[0] = sqtt::Gfx9Issue::kInstruction;
        EXPECT_TRUE(gfx9_->issue(clock_ += 40, 0, states));
        EXPECT_TRUE(gfx9_->inst(clock_ + 4, 0, 0, type));
    }
    Generation generation_;
    VectorSink sink_;
    std::optional<sqtt::Gfx9Writer> gfx9_;
    std::optional<sqtt::RdnaWriter> rdna_;
    std::uint64_t clock_ = 1000;
};

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

INSTANTIATE_TEST_SUITE_P(Generations, Objects,
                         testing::Values(Generation::kGfx9, Generation::kGfx10, Generation::kGfx11,
                                         Generation::kGfx12, Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

/// An ELF file of a chip with code at 0x100.
code::CodeObject object_of(std::uint8_t mach, const std::vector<std::uint32_t>& code) {
    constexpr std::size_t kOffset = 0x100;
    Bytes bytes(kOffset + code.size() * 4);
    const auto put = [&bytes](std::size_t at, auto value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    };
    put(0, std::uint32_t{0x464C457F});
    put(4, std::uint32_t{0x40010102}); // 64 bit, little endian, version 1, OS ABI amdhsa
    put(8, std::uint8_t{2});
    put(16, std::uint16_t{3});
    put(18, std::uint16_t{224});
    put(20, std::uint32_t{1});
    put(32, std::uint64_t{64}); // program headers
    put(48, std::uint32_t{mach});
    put(52, std::uint16_t{64});
    put(54, std::uint16_t{56});
    put(56, std::uint16_t{1});
    put(58, std::uint16_t{64});
    put(64, std::uint32_t{1}); // PT_LOAD
    put(68, std::uint32_t{5});
    put(96, std::uint64_t{bytes.size()});
    put(104, std::uint64_t{bytes.size()});
    put(112, std::uint64_t{4096});
    std::memcpy(bytes.data() + kOffset, code.data(), code.size() * 4);
    auto object = code::CodeObject::parse(std::move(bytes));
    EXPECT_TRUE(object) << to_string(object.error());
    return *std::move(object);
}

const Diagnostic* find(const BlobRecords& records, const std::string& kind) {
    for (const Diagnostic& diagnostic : records.diagnostics) {
        if (diagnostic.kind == kind) return &diagnostic;
    }
    return nullptr;
}

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
            for (const char* key : {"waves", "dispatches", "realtime", "other_simd", "last_time"}) {
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
