// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/long_trace.hpp"
#include "decode/mutate_for_test.hpp"
#include "decode/stream.hpp"
#include "decode/text_source_for_test.hpp"
#include "decode/written_for_test.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/test_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

// One stream, decoded whole, in pieces and by several threads: the same records.

namespace wavetap::decode {
namespace {

using Bytes = std::vector<std::byte>;

/// Keeps every field of every record as text, one for each kind.
class TextSink final : public RecordSink {
  public:
    explicit TextSink(const CodeMap& code) : code_(&code) {}

    void wave(const WaveView& view) override {
        EXPECT_EQ(view.digest, view.instructions.empty() ? WaveDigest{} : digest(view));
        add(waves, view);
    }
    WaveDigest digest(const WaveView& view) const override {
        WaveDigest sums{view.instructions.size(), view.head.start, 0, 0};
        for (std::size_t i = 0; i < view.has_pc.size(); ++i) {
            sums[2] += view.has_pc[i];
            sums[3] += view.instructions.stalls[i];
        }
        return sums;
    }
    void waves_without_detail(std::span<const WaveHead> heads) override {
        const InstructionList none;
        for (const WaveHead& head : heads)
            add(plain_waves, {head, none, {}, {}, {}, {}, false, 0});
    }
    void occupancy(const OccupancyRecord& r) override {
        add(occupancies_, {r.time, r.start, r.is_ext, r.sa, r.cu, r.simd, r.slot, r.me, r.pipe,
                           r.workgroup, r.cluster});
        add_pc(occupancies_, r.pc);
    }
    void dispatch(const DispatchRecord& r) override {
        add(rest, {1, r.time, r.me, r.pipe, r.initiator, r.entry.absolute, r.entry.code_object,
                   r.threads[0], r.threads[1], r.threads[2], r.rsrc1, r.rsrc2, r.packet_va,
                   r.offset_bytes});
    }
    void realtime(const RealtimeRecord& r) override { add(rest, {2, r.time, r.counter}); }
    void register_write(const RegisterWrite& r) override { add(rest, {3, r.time, r.reg, r.data}); }
    void code_object(const CodeObjectEvent& r) override {
        add(rest, {4, r.time, r.id, r.address, r.size, r.unload, r.from_start});
    }
    void event(const EventRecord& r) override {
        add(rest, {5, r.time, static_cast<std::uint64_t>(r.kind), r.me, r.pipe, r.from_start,
                   r.payload, r.offset_bytes});
    }
    void shader_data(const ShaderDataRecord& r) override {
        add(rest, {6, r.time, r.value, r.sa, r.cu, r.simd, r.slot, r.immediate, r.privileged});
    }
    void perf(const PerfRecord& r) override {
        add(rest,
            {7, r.time, r.cu, r.bank, r.counters[0], r.counters[1], r.counters[2], r.counters[3]});
    }
    void other_simd(const BlobRecords::OtherSimd& r) override {
        add(others_, {r.time, static_cast<std::uint64_t>(r.kind), r.cycles});
    }

    bool operator==(const TextSink& other) const {
        return waves == other.waves && plain_waves == other.plain_waves &&
               occupancies_ == other.occupancies_ && rest == other.rest && others_ == other.others_;
    }
    /// Which kinds differ, and where first.
    std::string difference(const TextSink& other) const {
        std::string out;
        const auto compare = [&out](const char* name, const std::string& a, const std::string& b) {
            if (a == b) return;
            const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
            out += std::string(name) + " of " + std::to_string(a.size()) + " and " +
                   std::to_string(b.size()) + " bytes, from byte " + std::to_string(at) + "; ";
        };
        compare("waves", waves, other.waves);
        compare("waves without instructions", plain_waves, other.plain_waves);
        compare("occupancy", occupancies_, other.occupancies_);
        compare("rest", rest, other.rest);
        compare("other SIMD", others_, other.others_);
        return out;
    }
    std::string waves, plain_waves, rest;
    std::uint64_t count = 0;

  private:
    void add(std::string& out, const WaveView& view) {
        const WaveHead& h = view.head;
        add(out, {h.ordinal, h.start, h.end, h.record_end, h.sa, h.cu, h.simd, h.slot, h.me, h.pipe,
                  h.count, h.contexts, h.workgroup, h.cluster, h.complete, h.on_target,
                  h.start_seen, view.stitched, view.lines_without_token});
        add_pc(out, h.entry);
        for (std::size_t i = 0; i < view.instructions.size(); ++i) {
            add(out, {view.instructions.times[i], view.instructions.durations[i],
                      view.instructions.stalls[i], view.instructions.categories[i]});
            if (i < view.has_pc.size() && view.has_pc[i] != 0) add_pc(out, view.pcs[i]);
        }
        for (const TimelinePiece& piece : view.timeline)
            add(out, {static_cast<std::uint64_t>(piece.state), piece.clocks});
        for (const auto& wait : view.excluded_barrier_waits)
            add(out, {wait.index, wait.pc});
        ++count;
    }
    static void add(std::string& out, std::initializer_list<std::uint64_t> values) {
        for (const std::uint64_t value : values)
            out.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void add_pc(std::string& out, PcRef ref) {
        const Pc pc = code_->pc_of(ref);
        add(out, {pc.absolute, pc.elf_address, pc.code_object});
    }
    const CodeMap* code_;
    std::string occupancies_, others_;
};

struct Outcome {
    std::string totals, diagnostics;
    std::unique_ptr<CodeMap> code;
    std::unique_ptr<TextSink> sink;
};

std::string text_of(const BlobTotals& totals) {
    std::string out;
    for (const std::uint64_t count : totals.tokens)
        out += std::to_string(count) + " ";
    for (const std::uint64_t value :
         {totals.cut_tokens, totals.first_time, totals.last_time, totals.clock_base.value_or(77),
          totals.instructions, totals.instructions_with_pc, totals.instruction_tokens,
          totals.wave_end_without_start, totals.tokens_without_wave,
          std::uint64_t{totals.counter_frequency_khz}})
        out += std::to_string(value) + " ";
    return out;
}

std::string text_of(const Diagnostics& diagnostics) {
    std::string out;
    for (const Diagnostic& d : diagnostics.list())
        out += std::string(d.kind) + " " + std::to_string(d.count) + " " +
               std::to_string(d.first_offset_bytes) + " " + std::to_string(d.first_time) + "\n";
    return out;
}

struct Way {
    unsigned threads = 1;
    std::size_t part_bytes = 0;
    std::size_t piece_bytes = 0; ///< of a feed; 0: all at once, by decode_stream()
};

struct Subject {
    std::string name;
    Bytes bytes;
    std::vector<code::CodeObject> object;
    std::vector<LoadedObject> objects;
    std::unique_ptr<CodeSource> source;
};

Outcome nothing_yet(const Subject& subject) {
    Outcome out;
    out.code = std::make_unique<CodeMap>(subject.source.get(), subject.objects);
    out.sink = std::make_unique<TextSink>(*out.code);
    return out;
}

StreamOptions options_of(Way way) {
    StreamOptions options;
    options.threads = way.threads;
    options.part_bytes = way.part_bytes;
    return options;
}

Outcome decode_so(Subject& subject, Way way) {
    Outcome out = nothing_yet(subject);
    Diagnostics diagnostics;
    const StreamOptions options = options_of(way);
    if (way.piece_bytes == 0) {
        const auto totals =
            decode_stream(subject.bytes, options, *out.code, *out.sink, diagnostics);
        EXPECT_TRUE(totals) << subject.name;
        if (totals) out.totals = text_of(*totals);
    } else {
        StreamDecoder decoder(options, *out.code, *out.sink, diagnostics);
        const std::span<const std::byte> all(subject.bytes);
        for (std::size_t at = 0; at < all.size(); at += way.piece_bytes) {
            // A copy of the exact size: the decoder must not look behind a piece.
            const auto piece = all.subspan(at, std::min(way.piece_bytes, all.size() - at));
            const Bytes copy(piece.begin(), piece.end());
            EXPECT_TRUE(decoder.feed(copy)) << subject.name;
        }
        const auto totals = decoder.finish();
        EXPECT_TRUE(totals) << subject.name;
        if (totals) out.totals = text_of(*totals);
    }
    out.diagnostics = text_of(diagnostics);
    return out;
}

void expect_same(Subject& subject, const Outcome& want, Way way) {
    const Outcome got = decode_so(subject, way);
    const std::string how = subject.name + ": " + std::to_string(way.threads) +
                            " threads, parts of " + std::to_string(way.part_bytes) +
                            ", pieces of " + std::to_string(way.piece_bytes);
    EXPECT_EQ(got.totals, want.totals) << how;
    EXPECT_EQ(got.diagnostics, want.diagnostics) << how;
    EXPECT_TRUE(*got.sink == *want.sink) << how << ": " << got.sink->difference(*want.sink);
}

Subject subject_of(const std::filesystem::path& path) {
    Subject subject;
    subject.name = path.parent_path().filename().string() + "/" + path.filename().string();
    subject.bytes = test::read_bytes(path);
    auto listing = path;
    if (listing.replace_extension(".isa.txt"); std::filesystem::exists(listing)) {
        std::uint64_t raw = 0;
        std::memcpy(&raw, subject.bytes.data(), sizeof raw);
        const auto header = sqtt::parse_header(raw);
        subject.source = std::make_unique<TextSource>(listing, header && header->version >= 4);
        return subject;
    }
    auto object = code::CodeObject::load(path.parent_path() / "code.elf");
    if (!object) return subject;
    const auto meta = nlohmann::json::parse(std::ifstream(path.parent_path() / "meta.json"));
    const std::uint64_t base = std::stoull(meta["load_base"].get<std::string>(), nullptr, 16);
    subject.object.push_back(std::move(*object));
    subject.objects.push_back({subject.object.data(), base, 0});
    auto source = ElfSource::create(subject.object[0].gfx(), subject.objects);
    if (source) subject.source = std::make_unique<ElfSource>(std::move(*source));
    return subject;
}

std::vector<std::filesystem::path> files_of(const std::string& arch) {
    if (arch != "synthetic") return test::trace_files(arch, ".att");
    std::vector<std::filesystem::path> files;
    const auto root = test::data_folder() / "traces" / arch;
    if (!std::filesystem::exists(root)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(root))
        if (entry.path().extension() == ".att") files.push_back(entry.path());
    return files;
}

constexpr Way kWays[] = {{1, 1, 0},    {1, 7, 0},    {1, 333, 0},  {2, 2, 0},   {2, 61, 0},
                         {2, 1000, 0}, {3, 5, 0},    {3, 127, 0},  {3, 511, 0}, {8, 17, 0},
                         {8, 64, 0},   {8, 1023, 0}, {1, 0, 1},    {1, 0, 7},   {1, 50, 1000},
                         {2, 33, 501}, {3, 100, 64}, {8, 13, 2047}};

/// Of the blobs of one chip. ThreadSanitizer looks at the threads, for which some are enough; the
/// records of all are compared by every other build.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t kEveryNthBlob = 3;
constexpr unsigned kMixedSteps = 10'000, kMixedStreams = 1;
constexpr std::size_t kLongWays = 3;
#else
constexpr std::size_t kEveryNthBlob = 1;
constexpr unsigned kMixedSteps = 40'000, kMixedStreams = 3;
constexpr std::size_t kLongWays = 7;
#endif

class EveryWay : public testing::TestWithParam<const char*> {};

TEST_P(EveryWay, OfCuttingABlobGivesTheSameRecords) {
    const auto files = files_of(GetParam());
    WAVETAP_NEED_DATA(files);
    std::uint64_t waves = 0;
    for (std::size_t i = 0; i < files.size(); i += kEveryNthBlob) {
        const auto& path = files[i];
        Subject subject = subject_of(path);
        if (std::string(GetParam()) != "synthetic") {
            ASSERT_TRUE(subject.source) << path;
        }
        const Outcome want = decode_so(subject, {});
        waves += want.sink->count;
        for (const Way way : kWays)
            expect_same(subject, want, way);
    }
    EXPECT_GT(waves, 0U);
}

INSTANTIATE_TEST_SUITE_P(Blobs, EveryWay,
                         testing::Values("gfx950", "gfx1100", "gfx1200", "synthetic"),
                         [](const auto& param) { return std::string(param.param); });

struct Body {
    const char* arch;
    sqtt::Generation generation;
    bool only_target = false;
};
constexpr Body kBodies[] = {{"gfx950", sqtt::Generation::kGfx9},
                            {"gfx1100", sqtt::Generation::kGfx11},
                            {"gfx1200", sqtt::Generation::kGfx12},
                            {"gfx1100", sqtt::Generation::kGfx11, true},
                            {"gfx1200", sqtt::Generation::kGfx12, true}};

class Long : public testing::TestWithParam<Body> {
  protected:
    std::filesystem::path path() const {
        return test::data_folder() / "traces" / GetParam().arch / "gemm_0" / "se0.att";
    }
};

// Long enough that several walks go side by side in each part. Damage in the middle, so that
// guessed entries are wrong there and faults are counted.
TEST_P(Long, TracesGiveTheSameRecordsEveryWay) {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(path())) files.push_back(path());
    WAVETAP_NEED_DATA(files);
    Subject subject = subject_of(path());
    const LongTrace trace(GetParam().generation, subject.bytes, GetParam().only_target);
    subject.bytes = trace.make(1'500'000);
    const Outcome sound = decode_so(subject, {});
    EXPECT_GT(sound.sink->count, 1000U);
    static constexpr Way kSound[] = {Way{2, 0, 0},       Way{3, 0, 0},      Way{8, 0, 0},
                                     Way{1, 100'003, 0}, Way{2, 40'001, 0}, Way{3, 9'999, 300'001},
                                     Way{8, 20'000, 0}};
    for (const Way way : std::span(kSound).first(kLongWays))
        expect_same(subject, sound, way);
    test::Random random(1);
    for (std::size_t i = 700'000; i < 760'000; ++i) {
        const std::uint64_t number = random.next();
        if (i < 720'000 || i % 1000 == 0) subject.bytes[i] = static_cast<std::byte>(number >> 32);
        if (i > 730'000 && i < 740'000) subject.bytes[i] = static_cast<std::byte>(i % 8 ? 0x99 : 9);
    }
    const Outcome damaged = decode_so(subject, {});
    EXPECT_NE(damaged.diagnostics, sound.diagnostics);
    static constexpr Way kDamaged[] = {Way{2, 0, 0},       Way{3, 0, 0},     Way{8, 0, 0},
                                       Way{1, 100'003, 0}, Way{2, 4'001, 0}, Way{3, 9'999, 300'001},
                                       Way{8, 1'000, 0}};
    for (const Way way : std::span(kDamaged).first(kLongWays))
        expect_same(subject, damaged, way);
}

INSTANTIATE_TEST_SUITE_P(Bodies, Long, testing::ValuesIn(kBodies), [](const auto& param) {
    return std::string(param.param.arch) + (param.param.only_target ? "_long_waves" : "");
});

/// Numbers for the streams below.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    std::uint32_t operator()(std::uint64_t below) {
        return static_cast<std::uint32_t>((random_.next() >> 32) % below);
    }

  private:
    test::Random random_;
};

/// A stream of everything that the parts of a stream must tell each other, in random order: waves
/// that start twice or end without a start, instructions of slots without a wave, many tokens in one
/// clock, program counters, entries that change; now and then losses, context switches and code
/// that is loaded or unloaded.
Bytes mixed(sqtt::Generation generation, std::uint64_t seed, unsigned steps) {
    Dice random(seed);
    const auto small = [&random](std::uint64_t below) {
        return static_cast<std::uint8_t>(random(below));
    };
    test::Stream stream(generation);
    sqtt::RdnaWriter& writer = stream.rdna();
    std::uint64_t clock = stream.next_clock();
    bool fine = true;
    for (unsigned i = 0; i < steps; ++i) {
        clock += random(3) == 0 ? random(9) : random(400) == 0 ? 5000 : 0;
        sqtt::RdnaWave off;
        off.wgp = static_cast<std::uint8_t>(1 + random(3));
        off.slot = small(16);
        sqtt::RdnaWave on;
        on.slot = small(6);
        const std::uint32_t what = random(40);
        if (what < 3)
            fine &= writer.wave_start(clock, on, 64).has_value();
        else if (what < 6)
            fine &= writer.wave_end(clock, on).has_value();
        else if (what < 11)
            fine &= writer.wave_start(clock, off, small(65)).has_value();
        else if (what < 16)
            fine &= writer.wave_end(clock, off).has_value();
        else if (what < 26)
            fine &= writer.inst(clock, small(7), random(8) == 0 ? 5 : 0).has_value();
        else if (what < 31)
            fine &= writer.immediates(clock, static_cast<std::uint16_t>(random(64))).has_value();
        else if (what < 35)
            fine &= writer.wave_ready(clock, static_cast<std::uint16_t>(random(64))).has_value();
        else if (what == 35)
            fine &= writer.new_pc(clock, small(6), 0x10000 + random(1000) * 4).has_value();
        else if (what == 36)
            fine &= writer.reg_cs(clock, 0xC, random(1000)).has_value();
        else if (what == 37)
            fine &= writer.shader_data(clock, on, random(1000)).has_value();
        else if (what == 38)
            fine &= writer.realtime(clock, i).has_value();
        else
            fine &= writer.dispatch(clock, 1).has_value();
        if (i % 5000 < 3000) continue; // in peace
        const std::uint32_t rare = random(1500);
        if (rare == 0) fine &= writer.packets_lost(clock).has_value();
        if (rare == 1) fine &= writer.misc(clock, 1 << sqtt::kMiscSaveContext).has_value();
        if (rare == 2) fine &= writer.wave_start(clock, on, 66).has_value();
        if (rare == 3) fine &= writer.wave_start(clock, off, 68).has_value();
        if (rare != 4) continue;
        test::Marker marker;
        marker.id = 1 + random(4);
        marker.address = 0x10000 + random(4) * 0x1000;
        marker.unload = random(3) == 0;
        for (const std::uint32_t word : test::words_of(marker))
            fine &= writer.reg_write(clock, test::kUserData2, word).has_value();
    }
    fine &= writer.finish().has_value();
    EXPECT_TRUE(fine);
    return stream.bytes();
}

/// The same for gfx9: waves whose instructions are issued and named in random order, now and then
/// with what only the whole stream can take. The smaller `calm`, the closer together they are and the
/// more often the counter of issue phases moves.
Bytes mixed_gfx9(std::uint64_t seed, unsigned steps, unsigned calm) {
    Dice random(seed);
    const auto small = [&random](std::uint64_t below) {
        return static_cast<std::uint8_t>(random(below));
    };
    using sqtt::Gfx9Inst;
    using sqtt::Gfx9Issue;
    test::Stream stream(sqtt::Generation::kGfx9);
    sqtt::Gfx9Writer& writer = stream.gfx9();
    std::uint64_t clock = stream.next_clock();
    constexpr unsigned kSlots = 8;
    std::array<bool, kSlots> live{};
    std::array<unsigned, kSlots> waiting{};
    bool fine = true;
    for (unsigned i = 0; i < steps; ++i) {
        clock += random(calm * 8) == 0 ? 0 : random(900) == 0 ? 8000 : 4 + 4 * random(3);
        const unsigned slot = random(kSlots);
        sqtt::Gfx9Wave on;
        on.simd = static_cast<std::uint8_t>(slot % 4);
        on.slot = static_cast<std::uint8_t>(slot / 4);
        sqtt::Gfx9Wave off = on;
        off.cu = static_cast<std::uint8_t>(1 + random(3));
        const std::uint32_t what = random(1000);
        std::array<Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
        if (what < 60 || (!live[slot] && what < 400)) {
            if (live[slot] && random(30) != 0) continue;
            fine &= writer.wave_start(clock, {on, 0, 0, small(65), small(8), true});
            live[slot] = true;
            waiting[slot] = 0;
        } else if (what < 64 && live[slot]) {
            fine &= writer.wave_end(clock, on);
            live[slot] = false;
        } else if (what < 200) {
            fine &= writer.wave_start(clock, {off, 0, 0, small(65), small(8), true});
        } else if (what < 330) {
            fine &= writer.wave_end(clock, off);
        } else if (what < 340) {
            fine &= writer.reg_cs(clock, random(2) == 0 ? 0xC : 0, random(1000));
        } else if (what < 350) {
            fine &= writer.userdata(clock, on, i);
        } else if (what < 360) {
            fine &= writer.misc(clock, sqtt::Gfx9Misc::kSurfaceSync);
        } else if (what < 365) {
            fine &= writer.inst_pc(clock, on.simd, on.slot, 0x10000 + random(1000) * 4);
        } else if ((live[slot] || random(300) == 0) && (waiting[slot] == 0 || random(calm) == 0)) {
            for (unsigned other = 0; other < 2; ++other)
                if (waiting[other * 4 + slot % 4] == 0 && random(3) == 0 &&
                    (live[other * 4 + slot % 4] || random(1000) == 0))
                    states[other] = static_cast<Gfx9Issue>(random(4));
            states[on.slot] = random(5) == 0 ? Gfx9Issue::kImmediate : Gfx9Issue::kInstruction;
            fine &= writer.issue(clock, on.simd, states);
            for (unsigned other = 0; other < 2; ++other)
                if (states[other] == Gfx9Issue::kInstruction) ++waiting[other * 4 + slot % 4];
        }
        for (unsigned named = 0; named < kSlots; ++named) {
            if (waiting[named] == 0 ? random(2000) != 0 : random(calm) == 0) continue;
            static constexpr Gfx9Inst kOften[] = {Gfx9Inst::kSmemRead, Gfx9Inst::kSalu,
                                                  Gfx9Inst::kValu,     Gfx9Inst::kLds,
                                                  Gfx9Inst::kFlatRead, Gfx9Inst::kNext};
            const std::uint32_t rare = random(2000);
            const Gfx9Inst type = rare == 0   ? static_cast<Gfx9Inst>(random(32))
                                  : rare < 20 ? Gfx9Inst::kPc
                                  : rare < 22 ? Gfx9Inst::kVmemReadReplay
                                              : kOften[random(std::size(kOften))];
            if (type == Gfx9Inst::kTrap && i % 10'000 < 8000) continue;
            const auto simd = static_cast<std::uint8_t>(named % 4);
            const auto number = static_cast<std::uint8_t>(named / 4);
            clock += 4;
            fine &= writer.inst(clock, simd, number, type);
            waiting[named] -= waiting[named] != 0 ? 1 : 0;
            if (type == Gfx9Inst::kPc && random(40) != 0)
                fine &= writer.inst_pc(clock, simd, number, 0x10000 + random(1000) * 4);
        }
        if (i % 10'000 < 8000) continue; // in peace
        const std::uint32_t rare = random(3000);
        if (rare == 0) fine &= writer.misc(clock, sqtt::Gfx9Misc::kPacketLost);
        if (rare == 1) fine &= writer.misc(clock, sqtt::Gfx9Misc::kSaveContext);
        if (rare == 2) fine &= writer.wave_start(clock, {on, 0, 0, 70, 0, true});
        if (rare == 3) fine &= writer.wave_start(clock, {off, 0, 0, 70, 0, true});
        if (rare == 4) fine &= writer.wave_end(clock, on);
        if (rare != 5) continue;
        test::Marker marker;
        marker.id = 1 + random(4);
        marker.address = 0x10000 + random(4) * 0x1000;
        marker.unload = random(3) == 0;
        for (const std::uint32_t word : test::words_of(marker))
            fine &= writer.reg_write(clock, test::kUserData2, word);
    }
    EXPECT_TRUE(fine);
    return stream.bytes();
}

class Mixed : public testing::TestWithParam<sqtt::Generation> {};

TEST_P(Mixed, StreamsGiveTheSameRecordsEveryWay) {
    for (std::uint64_t seed = 1; seed <= kMixedStreams; ++seed) {
        Subject subject;
        subject.name = "seed " + std::to_string(seed);
        subject.bytes = GetParam() == sqtt::Generation::kGfx9
                            ? mixed_gfx9(seed, kMixedSteps / 2, 64U >> (2 * seed))
                            : mixed(GetParam(), seed, kMixedSteps);
        const Outcome want = decode_so(subject, {});
        EXPECT_GT(want.sink->count, 100U);
        EXPECT_FALSE(want.diagnostics.empty());
        for (const Way way :
             {Way{2, 64, 0}, Way{2, 300, 0}, Way{2, 4000, 0}, Way{3, 1000, 0}, Way{3, 2001, 7001},
              Way{8, 129, 0}, Way{8, 600, 0}, Way{8, 2000, 0}, Way{16, 1000, 0}})
            expect_same(subject, want, way);
    }
}

INSTANTIATE_TEST_SUITE_P(Generations, Mixed,
                         testing::Values(sqtt::Generation::kGfx9, sqtt::Generation::kGfx10,
                                         sqtt::Generation::kGfx11, sqtt::Generation::kGfx12,
                                         sqtt::Generation::kGfx1250),
                         [](const auto& param) {
                             return std::string(sqtt::generation_name(param.param));
                         });

/// Where the tokens of a subject begin, in bytes; those that begin between two bytes are left out.
std::vector<std::size_t> token_starts(const Bytes& bytes, sqtt::Generation generation) {
    std::vector<std::size_t> starts;
    sqtt::TokenReader reader(generation, bytes, generation == sqtt::Generation::kGfx9 ? 64 : 0);
    for (sqtt::Token token; reader.next(token);)
        if (token.offset_bits % 8 == 0)
            starts.push_back(static_cast<std::size_t>(token.offset_bits / 8));
    return starts;
}
std::filesystem::path largest(const std::vector<std::filesystem::path>& files) {
    return *std::max_element(files.begin(), files.end(), [](const auto& a, const auto& b) {
        return std::filesystem::file_size(a) < std::filesystem::file_size(b);
    });
}
std::size_t next_start(const std::vector<std::size_t>& starts, std::size_t at) {
    return *std::lower_bound(starts.begin(), starts.end(), at);
}
std::span<const std::byte> between(const Bytes& bytes, std::size_t begin, std::size_t end) {
    return std::span(bytes).subspan(begin, end - begin);
}

TEST(Stream, ATokenThatTwoChunksShareIsWhole) {
    const auto files = test::trace_files("gfx950", ".att");
    WAVETAP_NEED_DATA(files);
    Subject subject = subject_of(largest(files));
    const Outcome want = decode_so(subject, {});
    const auto starts = token_starts(subject.bytes, sqtt::Generation::kGfx9);
    CodeMap code(subject.source.get(), subject.objects);
    TextSink sink(code);
    Diagnostics diagnostics;
    StreamDecoder decoder({}, code, sink, diagnostics);
    EXPECT_TRUE(decoder.feed_chunk(between(subject.bytes, 0, 8), 0));
    ASSERT_NE(decoder.header(), nullptr);
    EXPECT_EQ(decoder.header()->generation, sqtt::Generation::kGfx9);
    std::size_t cut = 0;
    for (std::size_t at = 8; at < starts.back();) {
        const std::size_t end = std::min(at + 54, subject.bytes.size());
        const std::size_t offset = next_start(starts, at) - at;
        cut += offset != 0 ? 1 : 0;
        const auto chunk = between(subject.bytes, at, end);
        ASSERT_TRUE(decoder.feed_chunk(Bytes(chunk.begin(), chunk.end()), offset));
        at = end;
    }
    EXPECT_GT(cut, 10U);
    EXPECT_EQ(decoder.bytes(), subject.bytes.size());
    const auto refused = decoder.feed_chunk(between(subject.bytes, 0, 4), 6);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    const auto totals = decoder.finish();
    ASSERT_TRUE(totals);
    EXPECT_EQ(text_of(*totals), want.totals);
    EXPECT_EQ(text_of(diagnostics), want.diagnostics);
    EXPECT_TRUE(sink == *want.sink) << sink.difference(*want.sink);
}

/// How a missing chunk is told to a decoder.
enum class Gap { kMissing, kNewSegment };

/// A stream of which `bytes` came and then what is behind the gap: `rest`, in a chunk that begins with
/// four bytes of another token, or in a segment of its own.
Outcome decode_with_gap(Subject& subject, Way way, Gap gap, const Bytes& bytes, const Bytes& rest) {
    Outcome out = nothing_yet(subject);
    Diagnostics diagnostics;
    const StreamOptions options = options_of(way);
    StreamDecoder decoder(options, *out.code, *out.sink, diagnostics);
    EXPECT_TRUE(decoder.feed_chunk(bytes, 0));
    if (gap == Gap::kMissing) {
        Bytes chunk(4, std::byte{0xEE});
        chunk.insert(chunk.end(), rest.begin(), rest.end());
        EXPECT_TRUE(decoder.feed_chunk(chunk, 4, true));
    } else {
        Bytes header(bytes.begin(), bytes.begin() + 8);
        header.resize(32);
        EXPECT_TRUE(decoder.feed_chunk(header, 0));
        EXPECT_TRUE(decoder.feed_chunk(rest, 0));
    }
    EXPECT_EQ(decoder.bytes(), bytes.size() + rest.size());
    const auto totals = decoder.finish();
    EXPECT_TRUE(totals);
    if (totals) {
        EXPECT_EQ(totals->cut_tokens, diagnostics.count(Fault::kCutToken));
    }
    out.diagnostics = text_of(diagnostics);
    return out;
}

/// Without the line of that kind, which is put into `line`.
std::string without(const std::string& kind, const std::string& diagnostics, std::string& line) {
    const std::size_t at = diagnostics.find(kind + " ");
    if (at == std::string::npos) return diagnostics;
    const std::size_t end = diagnostics.find('\n', at) + 1;
    line = diagnostics.substr(at, end - at);
    return diagnostics.substr(0, at) + diagnostics.substr(end);
}

/// The token with which the trace unit itself says that it lost some.
Bytes loss_token(sqtt::Generation generation) {
    if (generation == sqtt::Generation::kGfx9) return {std::byte{0}, std::byte{2 << 5}};
    const sqtt::TokenRow& row = *sqtt::find_row(generation, sqtt::TokenType::kTimestamp);
    const std::uint64_t bits = row.pattern | std::uint64_t{1}
                                                 << row.find(sqtt::FieldId::kPacketsLost).bits.lo;
    Bytes token(sizeof bits);
    std::memcpy(token.data(), &bits, sizeof bits);
    return token;
}

// A missing chunk is as a loss of the trace unit in the place of the token that was cut, of which two
// bytes came. Padding behind it makes both equally long, so that everything is in the same place, too.
TEST(Stream, BehindAMissingChunkTokensBeginAtTheReadOffset) {
    for (const char* arch : {"gfx950", "gfx1100", "gfx1200"}) {
        const auto files = test::trace_files(arch, ".att");
        WAVETAP_NEED_DATA(files);
        Subject subject = subject_of(largest(files));
        const auto generation = StreamDecoder::read_header(subject.bytes)->generation;
        const auto starts = token_starts(subject.bytes, generation);
        const Bytes loss = loss_token(generation);
        std::size_t places = 0;
        for (std::size_t at = starts.size() / 9; at + 300 < starts.size();
             at += starts.size() / 7) {
            std::size_t cut = at;
            while (starts[cut + 1] - starts[cut] < 4)
                ++cut;
            const auto here = subject.bytes.begin() + static_cast<std::ptrdiff_t>(starts[cut]);
            Bytes fed(subject.bytes.begin(), here);
            Bytes rest(loss.size() - 2);
            rest.insert(rest.end(),
                        subject.bytes.begin() + static_cast<std::ptrdiff_t>(starts[cut + 200]),
                        subject.bytes.end());
            Subject same = subject_of(largest(files));
            same.bytes = fed;
            same.bytes.insert(same.bytes.end(), loss.begin(), loss.end());
            same.bytes.insert(same.bytes.end(),
                              rest.begin() + static_cast<std::ptrdiff_t>(loss.size() - 2),
                              rest.end());
            fed.insert(fed.end(), here, here + 2);
            const Outcome want = decode_so(same, {});
            for (const Way way : {Way{}, Way{3, 1000, 0}}) {
                for (const Gap gap : {Gap::kMissing, Gap::kNewSegment}) {
                    const Outcome got = decode_with_gap(subject, way, gap, fed, rest);
                    std::string cut_here, cut_at_end;
                    EXPECT_EQ(without("cut-token", got.diagnostics, cut_here),
                              without("cut-token", want.diagnostics, cut_at_end));
                    const std::string count = cut_at_end.empty() ? " 1 " : " 2 ";
                    EXPECT_THAT(cut_here, testing::StartsWith("cut-token" + count +
                                                              std::to_string(starts[cut]) + " "));
                    EXPECT_TRUE(*got.sink == *want.sink)
                        << arch << " at " << starts[cut] << ", " << way.threads
                        << " threads: " << got.sink->difference(*want.sink);
                }
            }
            ++places;
        }
        EXPECT_GT(places, 3U) << arch;
    }
}

TEST(Stream, AStreamWithoutAHeaderIsRefusedInWords) {
    CodeMap code(nullptr, {});
    RecordSink sink;
    Diagnostics diagnostics;
    StreamDecoder decoder({}, code, sink, diagnostics);
    const Bytes three(3, std::byte{0x11});
    EXPECT_TRUE(decoder.feed(three));
    const auto totals = decoder.finish();
    ASSERT_FALSE(totals);
    EXPECT_EQ(totals.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(totals.error().message.find('3'), std::string::npos);
}

} // namespace
} // namespace wavetap::decode
