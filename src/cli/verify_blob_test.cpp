// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/verify.hpp"
#include "cli/verify_scene.hpp"
#include "code/code_object.hpp"
#include "pm4/thread_trace.hpp"
#include "sqtt/gfx9_writer.hpp"
#include "tests/support/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

// `wavetap verify` on bytes: token streams written for a truth log made by hand, read back by the
// decoder, and spoiled in every way that a fault of the software GPU or of a stream could.

namespace wavetap::cli {
namespace {

using sqtt::Gfx9Inst;
using testing::Scene;

constexpr std::uint64_t kLoadBase = 0x7f0000000000;

/// One executed instruction of a program: how the trace shows it and when it issues.
struct Executed {
    std::uint64_t offset;
    std::optional<Gfx9Inst> type; ///< nothing: an immediate
    std::uint64_t clock;          ///< after the wave's start
};

const std::vector<Executed>& first_program() {
    static const std::vector<Executed> rows = {
        {0, Gfx9Inst::kSmemRead, 64},   {8, std::nullopt, 280},
        {12, Gfx9Inst::kSalu, 288},     {16, Gfx9Inst::kValu, 300},
        {20, Gfx9Inst::kSalu, 308},     {24, Gfx9Inst::kSalu, 316},
        {28, Gfx9Inst::kJump, 324},     {16, Gfx9Inst::kValu, 348},
        {20, Gfx9Inst::kSalu, 356},     {24, Gfx9Inst::kSalu, 364},
        {28, Gfx9Inst::kNext, 372},     {32, Gfx9Inst::kMessage, 388},
        {32, std::nullopt, 444},        {36, Gfx9Inst::kFlatWrite, 460},
        {44, Gfx9Inst::kMessage, 1700},
    };
    return rows;
}

const std::vector<Executed>& second_program() {
    static const std::vector<Executed> rows = {
        {0, std::nullopt, 64}, {4, Gfx9Inst::kValu, 76}, {8, Gfx9Inst::kMessage, 84}};
    return rows;
}

/// Takes a stream; write number `lose` (from 0) is lost on the way.
class Bytes final : public sqtt::TokenSink {
  public:
    explicit Bytes(std::size_t lose = ~std::size_t{0}) : lose_(lose) {}
    bool write(std::span<const std::byte> bytes) override {
        if (writes_++ != lose_) data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    std::size_t writes() const { return writes_; }
    std::vector<std::byte> data;

  private:
    std::size_t lose_;
    std::size_t writes_ = 0;
};

/// What a trace unit was really told to do; the truth and the manifest may say otherwise.
struct Unit {
    std::uint16_t se = 0;
    std::uint16_t cu = 1;
    std::uint32_t simd_mask = 0xf;
};

class Folder {
  public:
    Folder() : object_(code::CodeObject::load(WAVETAP_VERIFY_KERNELS).value()) {
        scene.process.code_objects[0].load_base = kLoadBase;
        scene.process.code_objects[0].load_bytes = object_.memory_bytes();
        for (const code::Symbol& symbol : object_.functions())
            entries_[symbol.name] = kLoadBase + symbol.address;
        add_waves();
    }

    std::uint64_t entry(const std::string& name) const { return entries_.at(name); }
    const code::CodeObject& object() const { return object_; }

    /// A wave of the named program, in truth.
    void add_wave(const std::string& program, std::uint16_t cu, std::uint16_t simd,
                  std::uint64_t start, std::uint16_t se = 0) {
        softgpu::TruthWave& wave = scene.add_wave(
            cu, simd, simd, start, program == "first" ? 1720 : 96, entry(program), se);
        wave.instructions.clear();
        for (const Executed& step : program == "first" ? first_program() : second_program())
            wave.instructions.push_back({entry(program) + step.offset, start + step.clock});
    }

    /// What the unit writes for the truth's waves between the clocks.
    std::vector<std::byte> encode(const Unit& unit, std::uint64_t arm, std::uint64_t disarm,
                                  std::size_t lose = ~std::size_t{0},
                                  std::size_t* writes = nullptr) const;

    std::vector<std::byte> chunk(std::uint32_t run, const Unit& unit,
                                 std::size_t lose = ~std::size_t{0}) const {
        const store::ContextInfo& context = scene.process.contexts[run];
        pm4::TraceConfig config;
        config.target_cu = context.cu;
        config.simd_mask = context.simd_mask;
        const std::uint64_t header = pm4::gfx9_header({"gfx90a", 1, 8, 14}, config, 0);
        std::vector<std::byte> bytes(8);
        std::memcpy(bytes.data(), &header, 8);
        const std::vector<std::byte> stream =
            encode(unit, 10000 + run * 20000, 20000 + run * 20000, lose);
        bytes.insert(bytes.end(), stream.begin(), stream.end());
        bytes.resize((bytes.size() + 31) / 32 * 32 + 8);
        return bytes;
    }

    std::vector<std::vector<std::byte>> good_chunks() const {
        return {chunk(0, {0, 1, 0xf}), chunk(1, {0, 2, 0x3})};
    }

    VerifyReport verify(const std::vector<std::vector<std::byte>>& chunks) const {
        testing::WholeSegments segments;
        segments.read = [&](const store::ChunkInfo& info) -> Result<std::vector<std::byte>> {
            return chunks.at(info.run);
        };
        segments.decode = [&](std::span<const std::byte> bytes, std::uint32_t) {
            decode::Options options;
            options.gfx = "gfx90a";
            options.objects.push_back({&object_, kLoadBase, 1});
            return decode::decode_blob(bytes, options);
        };
        VerifyReport report;
        EXPECT_TRUE(verify_process(scene.process, softgpu::TruthLog(scene.truth),
                                   segments.sources(), report));
        return report;
    }

    Scene scene;

  private:
    void add_waves() {
        for (const std::uint64_t start : {11000U, 31000U}) {
            bool odd = false;
            for (std::uint16_t cu = 0; cu < 3; ++cu) {
                for (std::uint16_t simd = 0; simd < 4; ++simd) {
                    add_wave(odd ? "second" : "first", cu, simd,
                             start + 2000ULL * cu + 104ULL * simd);
                    odd = !odd;
                }
            }
        }
        add_wave("first", 1, 0, 14000, 3); // an engine that nobody asked for
    }

    code::CodeObject object_;
    std::map<std::string, std::uint64_t> entries_;
};

std::vector<std::byte> Folder::encode(const Unit& unit, std::uint64_t arm, std::uint64_t disarm,
                                      std::size_t lose, std::size_t* writes) const {
    std::multimap<std::uint64_t, std::function<void(sqtt::Gfx9Writer&)>> events; // by clock
    bool named_high = false;
    for (const softgpu::TruthWave& wave : scene.truth.waves) {
        if (wave.se != unit.se || wave.start < arm || wave.end >= disarm) continue;
        const auto low = static_cast<std::uint32_t>(wave.entry_pc >> 8);
        const auto high = static_cast<std::uint32_t>(wave.entry_pc >> 40);
        const std::uint64_t dispatched = wave.start - 100;
        events.emplace(dispatched, [=](auto& w) { w.reg_cs(dispatched, 0x0C, low); });
        if (!std::exchange(named_high, true))
            events.emplace(dispatched, [=](auto& w) { w.reg_cs(dispatched, 0x0D, high); });
        const sqtt::Gfx9Wave place{static_cast<std::uint8_t>(wave.cu),
                                   static_cast<std::uint8_t>(wave.simd),
                                   static_cast<std::uint8_t>(wave.slot), 0};
        events.emplace(wave.start, [=, start = wave.start,
                                    count = static_cast<std::uint8_t>(wave.threads)](auto& w) {
            w.wave_start(start, {place, 0, 0, count, 0, false});
        });
        events.emplace(wave.end, [=, end = wave.end](auto& w) { w.wave_end(end, place); });
        if (wave.cu != unit.cu || (unit.simd_mask >> wave.simd & 1) == 0) continue;
        const bool first = wave.entry_pc == entry("first");
        for (const Executed& step : first ? first_program() : second_program()) {
            const std::uint64_t clock = wave.start + step.clock;
            std::array<sqtt::Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
            states[wave.slot] =
                step.type ? sqtt::Gfx9Issue::kInstruction : sqtt::Gfx9Issue::kImmediate;
            events.emplace(clock, [=](auto& w) { w.issue(clock, place.simd, states); });
            if (step.type)
                events.emplace(clock + 4, [=, type = *step.type](auto& w) {
                    w.inst(clock + 4, place.simd, place.slot, type);
                });
        }
    }
    Bytes bytes(lose);
    sqtt::Gfx9Writer writer(bytes);
    writer.begin(arm);
    for (const auto& [clock, write] : events)
        write(writer);
    if (writes != nullptr) *writes = bytes.writes();
    return bytes.data;
}

TEST(VerifyBlobTest, HonestBytes_EverythingMatches) {
    const Folder folder;
    const VerifyReport report = folder.verify(folder.good_chunks());
    EXPECT_TRUE(report.good()) << verify_text(report);
    EXPECT_EQ(report.contexts[0].waves.matched, 12U);
    EXPECT_EQ(report.contexts[0].instructions.matched, 2U * 15 + 2 * 3);
    EXPECT_EQ(report.contexts[1].instructions.matched, 15U + 3);
}

struct BlobSpoiling {
    const char* name;
    std::function<std::vector<std::vector<std::byte>>(Folder&)> spoil;
};

void PrintTo(const BlobSpoiling& row, std::ostream* out) {
    *out << row.name;
}

class SpoiledBlobTest : public ::testing::TestWithParam<BlobSpoiling> {};

TEST_P(SpoiledBlobTest, Fails) {
    Folder folder;
    const auto chunks = GetParam().spoil(folder);
    const VerifyReport report = folder.verify(chunks);
    EXPECT_FALSE(report.good()) << verify_text(report);
    EXPECT_FALSE(report.contexts[0].good()) << verify_text(report);
    EXPECT_NE(report.failed(), 0U);
    EXPECT_EQ(report.passed() + report.failed(), report.expected());
    EXPECT_FALSE(report.contexts[0].faults.empty());
}

/// Chunks written while one wave of the truth is otherwise; the truth is restored.
std::vector<std::vector<std::byte>>
with_changed_wave(Folder& folder, const std::function<void(softgpu::TruthWave&)>& change,
                  std::uint16_t cu) {
    const auto saved = folder.scene.truth.waves;
    for (softgpu::TruthWave& wave : folder.scene.truth.waves) {
        if (wave.cu != cu || wave.start > 20000) continue;
        change(wave);
        break;
    }
    auto chunks = folder.good_chunks();
    folder.scene.truth.waves = saved;
    return chunks;
}

const std::vector<BlobSpoiling>& blob_spoilings() {
    static const std::vector<BlobSpoiling> rows = {
        {"target_wave_removed",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.se = 7; }, 1);
         }},
        {"other_wave_removed",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.se = 7; }, 0);
         }},
        {"wave_on_another_simd",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.simd = 3; }, 0);
         }},
        {"target_wave_on_another_simd",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.simd = 3; }, 1);
         }},
        {"wave_on_another_cu",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.cu = 5; }, 0);
         }},
        {"wave_on_another_slot",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.slot = 6; }, 0);
         }},
        {"wave_ends_late",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.end += 4; }, 0);
         }},
        {"fewer_threads",
         [](Folder& f) {
             return with_changed_wave(
                 f, [](auto& wave) { wave.threads = 3; }, 0);
         }},
        {"entry_of_another_program",
         [](Folder& f) {
             const std::uint64_t second = f.entry("second");
             return with_changed_wave(
                 f, [=](auto& wave) { wave.entry_pc = second; }, 0);
         }},
        {"pcs_shifted",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             for (softgpu::TruthWave& wave : f.scene.truth.waves)
                 if (wave.cu == 1) wave.instructions[1].pc += 4;
             return chunks;
         }},
        {"instruction_issued_late",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             for (softgpu::TruthWave& wave : f.scene.truth.waves)
                 if (wave.cu == 1) wave.instructions.back().time += 4;
             return chunks;
         }},
        {"contexts_swapped",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             std::swap(chunks[0], chunks[1]);
             return chunks;
         }},
        {"contexts_swapped_in_manifest",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             std::swap(f.scene.process.runs[0].info.context, f.scene.process.runs[1].info.context);
             return chunks;
         }},
        {"header_only",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             chunks[0].resize(8);
             return chunks;
         }},
        {"no_bytes",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             chunks[0].clear();
             return chunks;
         }},
        {"half_a_header",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             chunks[0].resize(4);
             return chunks;
         }},
        {"zeros_for_bytes",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             std::fill(chunks[0].begin() + 8, chunks[0].end(), std::byte{0});
             return chunks;
         }},
        {"second_half_missing",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             chunks[0].resize(chunks[0].size() / 2);
             return chunks;
         }},
        {"wrong_cu_in_mask_register",
         [](Folder& f) {
             return std::vector{f.chunk(0, {0, 2, 0xf}), f.chunk(1, {0, 2, 0x3})};
         }},
        {"wrong_cu_that_is_idle",
         [](Folder& f) {
             return std::vector{f.chunk(0, {0, 9, 0xf}), f.chunk(1, {0, 2, 0x3})};
         }},
        {"wrong_simds_in_mask_register",
         [](Folder& f) {
             return std::vector{f.chunk(0, {0, 1, 0x7}), f.chunk(1, {0, 2, 0x3})};
         }},
        {"more_simds_than_asked",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             f.scene.process.contexts[0].simd_mask = 0x1;
             return chunks;
         }},
        {"wrong_se_in_grbm",
         [](Folder& f) {
             f.scene.truth.trace_events[0].se = 3;
             f.scene.truth.trace_events[1].se = 3;
             return std::vector{f.chunk(0, {3, 1, 0xf}), f.chunk(1, {0, 2, 0x3})};
         }},
        {"bytes_of_another_se",
         [](Folder& f) {
             return std::vector{f.chunk(0, {3, 1, 0xf}), f.chunk(1, {0, 2, 0x3})};
         }},
        {"code_object_at_wrong_base",
         [](Folder& f) {
             auto chunks = f.good_chunks();
             for (softgpu::TruthWave& wave : f.scene.truth.waves) {
                 wave.entry_pc += 0x1000;
                 for (softgpu::TruthInstruction& i : wave.instructions)
                     i.pc += 0x1000;
             }
             f.scene.process.code_objects[0].load_base += 0x1000;
             return chunks;
         }},
    };
    return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, SpoiledBlobTest, ::testing::ValuesIn(blob_spoilings()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(VerifyBlobTest, AnyOneTokenLost_Fails) {
    const Folder folder;
    std::size_t writes = 0;
    folder.encode({0, 1, 0xf}, 10000, 20000, ~std::size_t{0}, &writes);
    ASSERT_GT(writes, 80U);
    for (std::size_t lost = 0; lost < writes; ++lost) {
        const VerifyReport report =
            folder.verify({folder.chunk(0, {0, 1, 0xf}, lost), folder.chunk(1, {0, 2, 0x3})});
        EXPECT_FALSE(report.contexts[0].good()) << "write " << lost << " of " << writes;
        EXPECT_TRUE(report.contexts[1].good()) << "write " << lost;
    }
}

// ---- a real folder ----

class VerifyFolderTest : public ::testing::Test {
  protected:
    void SetUp() override { write_trace(); }

    void write_trace() {
        auto writer = std::move(store::FolderWriter::create(dir_, 42)).value();
        const store::ProcessTrace& process = folder_.scene.process;
        ASSERT_TRUE(writer->agent(process.agents[0]));
        for (const store::ContextInfo& context : process.contexts)
            ASSERT_TRUE(writer->context(context));
        ASSERT_TRUE(writer->code_object(process.code_objects[0], folder_.object().file_bytes()));
        const auto chunks = folder_.good_chunks();
        for (const store::Run& run : process.runs) {
            ASSERT_TRUE(writer->begin_run(run.info));
            store::ChunkInfo info = run.chunks[0];
            info.bytes = chunks[run.info.id].size();
            info.capacity_bytes = 1 << 20;
            ASSERT_TRUE(writer->chunk(info, chunks[run.info.id]));
            ASSERT_TRUE(writer->end_run(run.info));
        }
        ASSERT_TRUE(writer->finish());
        write_truth();
    }

    void write_truth() const {
        auto truth = std::move(softgpu::TruthWriter::create(truth_file())).value();
        truth->chip(0, "gfx90a");
        for (const auto& dispatch : folder_.scene.truth.dispatches)
            truth->dispatch(dispatch);
        for (const auto& event : folder_.scene.truth.trace_events)
            truth->trace_event(event);
        for (const auto& wave : folder_.scene.truth.waves)
            truth->wave(wave);
    }

    std::string truth_file() const { return dir_ + "/truth-42.bin"; }
    std::string chunk_file() const { return dir_ + "/proc-42/runs/0/se0.att"; }
    Result<VerifyReport> verify() const {
        WAVETAP_TRY(const store::TraceFolder opened, store::open_folder(dir_));
        return verify_folder(opened);
    }

    Folder folder_;
    const test::TempFolder folder_of_test_;
    const std::string& dir_ = folder_of_test_.path();
};

TEST_F(VerifyFolderTest, AsWritten_Good) {
    const auto report = verify();
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_TRUE(report->good()) << verify_text(*report);
    EXPECT_EQ(report->expected(), 24U + 36 + 18);
    EXPECT_EQ(report->dir, dir_);
}

TEST_F(VerifyFolderTest, OneByteOfTheStreamChanged_Fails) {
    std::fstream file(chunk_file(), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(chunk_file()) / 2));
    file.put('\x5a');
    file.close();
    const auto report = verify();
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->good());
}

TEST_F(VerifyFolderTest, FileCutOff_FailsWithWords) {
    std::filesystem::resize_file(chunk_file(), 100);
    const auto report = verify();
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->good());
    EXPECT_TRUE(report->contexts[0].broken);
    EXPECT_EQ(report->contexts[0].waves.missing, 12U);
    EXPECT_TRUE(report->contexts[1].good());
}

TEST_F(VerifyFolderTest, WithoutTruth_WordedError) {
    std::filesystem::remove(truth_file());
    const auto report = verify();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kNotFound);
    EXPECT_NE(report.error().hint.find("--truth"), std::string::npos);
}

TEST_F(VerifyFolderTest, TruthOfAnotherVersion_WordedError) {
    std::ofstream(truth_file(), std::ios::binary) << "WTTRUTH\x09";
    const auto report = verify();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kCorrupt);
}

TEST_F(VerifyFolderTest, EmptyTruth_Fails) {
    folder_.scene.truth = {};
    write_truth();
    const auto report = verify();
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->good());
    EXPECT_NE(verify_text(*report).find("never armed"), std::string::npos);
}

} // namespace
} // namespace wavetap::cli
