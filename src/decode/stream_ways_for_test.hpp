// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/stream.hpp"
#include "decode/text_source_for_test.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

// For tests: a stream, the ways in which it can be decoded, and all that came of it as text.

namespace wavetap::decode::test_ways {

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

inline std::string text_of(const BlobTotals& totals) {
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

inline std::string text_of(const Diagnostics& diagnostics) {
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

inline Outcome nothing_yet(const Subject& subject) {
    Outcome out;
    out.code = std::make_unique<CodeMap>(subject.source.get(), subject.objects);
    out.sink = std::make_unique<TextSink>(*out.code);
    return out;
}

inline StreamOptions options_of(Way way) {
    StreamOptions options;
    options.threads = way.threads;
    options.part_bytes = way.part_bytes;
    return options;
}

inline Outcome decode_so(Subject& subject, Way way) {
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

inline void expect_same(Subject& subject, const Outcome& want, Way way) {
    const Outcome got = decode_so(subject, way);
    const std::string how = subject.name + ": " + std::to_string(way.threads) +
                            " threads, parts of " + std::to_string(way.part_bytes) +
                            ", pieces of " + std::to_string(way.piece_bytes);
    EXPECT_EQ(got.totals, want.totals) << how;
    EXPECT_EQ(got.diagnostics, want.diagnostics) << how;
    EXPECT_TRUE(*got.sink == *want.sink) << how << ": " << got.sink->difference(*want.sink);
}

inline Subject subject_of(const std::filesystem::path& path) {
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

inline std::vector<std::filesystem::path> files_of(const std::string& arch) {
    if (arch != "synthetic") return test::trace_files(arch, ".att");
    std::vector<std::filesystem::path> files;
    const auto root = test::data_folder() / "traces" / arch;
    if (!std::filesystem::exists(root)) return files;
    for (const auto& entry : std::filesystem::directory_iterator(root))
        if (entry.path().extension() == ".att") files.push_back(entry.path());
    return files;
}

} // namespace wavetap::decode::test_ways
