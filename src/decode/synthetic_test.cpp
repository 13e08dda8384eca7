// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/dispatch_resources.hpp"
#include "decode/engine.hpp"
#include "decode/text_source_for_test.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

// Small hand-made streams for what the real traces lack. What is expected of them was produced by
// AMD's open decoder, so differences of its making are named here.

namespace wavetap::decode {
namespace {

using Json = nlohmann::json;

// Numbers of the drop-in ABI; 0: AMD's decoder has no such event.
int event_number(EventKind kind) {
    switch (kind) {
    case EventKind::kPartialFlush:
        return 1;
    case EventKind::kSaveContext:
        return 3;
    case EventKind::kPacketsLost:
        return 6;
    case EventKind::kCodeObjectLoad:
        return 7;
    case EventKind::kStallBegin:
        return 9;
    case EventKind::kCounterSample:
        return 17;
    default:
        return 0;
    }
}

int category_number(std::uint8_t category) {
    switch (static_cast<Category>(category)) {
    case Category::kSmem:
        return 1;
    case Category::kSalu:
        return 2;
    case Category::kVmem:
        return 3;
    case Category::kFlat:
        return 4;
    case Category::kLds:
        return 5;
    case Category::kValu:
        return 6;
    case Category::kJump:
        return 7;
    case Category::kNext:
        return 8;
    case Category::kImmed:
        return 9;
    case Category::kTrap:
        return 10;
    case Category::kMsg:
        return 11;
    case Category::kBvh:
        return 12;
    }
    return 0;
}

class JsonSink final : public RecordSink {
  public:
    JsonSink(CodeMap& code, const sqtt::Header& header)
        : code_(&code), gfx9_(header.generation == sqtt::Generation::kGfx9),
          version_(gfx9_ ? 0U : header.version), wgp_(header.target_cu) {
        for (const char* key : {"occupancy", "waves", "events", "dispatches", "shaderdata",
                                "realtime", "other_simd", "perf"})
            out[key] = Json::array();
    }
    unsigned cu(std::uint8_t sa, std::uint8_t cu) const { return gfx9_ ? cu : sa << 7 | cu; }
    Json address(PcRef pc) const {
        const Pc full = code_->pc_of(pc.object != 0 ? pc : code_->attribute_late(pc.address));
        return full.code_object != 0 ? Json::array({full.elf_address, full.code_object})
                                     : Json::array({full.absolute, 0});
    }
    void occupancy(const OccupancyRecord& r) override {
        Json row = {r.time, r.start ? 1 : 0, cu(r.sa, r.cu), r.simd, r.slot};
        for (const auto& part : address(r.pc))
            row.push_back(part);
        // AMD's decoder leaves these out of end records.
        if (r.start)
            for (const unsigned v : {unsigned{r.me}, unsigned{r.pipe}, r.is_ext ? 1U : 0U,
                                     unsigned{r.workgroup}, unsigned{r.cluster}})
                row.push_back(v);
        out["occupancy"].push_back(row);
    }
    void wave(const WaveView& view) override {
        const WaveHead& head = view.head;
        if (!head.on_target || !head.start_seen) return;
        Json wave;
        wave["cu"] = cu(head.sa, head.cu);
        wave["simd"] = head.simd;
        wave["wave_id"] = head.slot;
        wave["contexts"] = head.contexts;
        wave["dispatcher"] = head.me << 4 | head.pipe;
        wave["cluster_id"] = head.cluster;
        if (!gfx9_) wave["workgroup_id"] = head.workgroup; // gfx9: AMD's holds the thread count
        wave["begin"] = head.start;
        wave["end"] = gfx9_ ? head.record_end : head.end;
        wave["timeline"] = Json::array();
        for (const TimelinePiece& piece : view.timeline)
            wave["timeline"].push_back({static_cast<int>(piece.state), piece.clocks});
        wave["instructions"] = Json::array();
        const InstructionList& list = view.instructions;
        for (std::size_t i = 0; i < list.size(); ++i) {
            Json row = {category_number(list.categories[i]), list.times[i], list.durations[i],
                        list.stalls[i]};
            const bool known = i < view.has_pc.size() && view.has_pc[i] != 0;
            for (const auto& part : known ? address(view.pcs[i]) : Json::array({0, 0}))
                row.push_back(part);
            wave["instructions"].push_back(row);
        }
        out["waves"].push_back(wave);
    }
    void dispatch(const DispatchRecord& r) override {
        const DispatchResources resources = resources_of(r, version_);
        const Json entry = r.entry.code_object != 0
                               ? Json::array({r.entry.elf_address, r.entry.code_object})
                               : Json::array({r.entry.absolute, 0});
        out["dispatches"].push_back({{"time", r.time},
                                     {"me", r.me},
                                     {"pipe", r.pipe},
                                     {"user_sgprs", resources.user_sgprs},
                                     {"vgprs", resources.vgprs},
                                     {"sgprs", resources.sgprs},
                                     {"lds", resources.lds_bytes},
                                     {"dim", {r.threads[0], r.threads[1], r.threads[2]}},
                                     {"entry", entry}});
    }
    void realtime(const RealtimeRecord& r) override {
        out["realtime"].push_back({r.time, r.counter});
    }
    void event(const EventRecord& r) override {
        out["events"].push_back({r.time, event_number(r.kind), r.me, r.pipe, r.payload});
    }
    void shader_data(const ShaderDataRecord& r) override {
        out["shaderdata"].push_back({r.time, r.value, cu(r.sa, r.cu), r.simd, r.slot,
                                     (r.immediate ? 1 : 0) | (r.privileged ? 2 : 0)});
    }
    void perf(const PerfRecord& r) override {
        out["perf"].push_back(
            {r.time, r.counters[0], r.counters[1], r.counters[2], r.counters[3], r.cu, r.bank});
    }
    void other_simd(const BlobRecords::OtherSimd& r) override {
        out["other_simd"].push_back(
            {r.time, r.cycles, wgp_, category_number(static_cast<std::uint8_t>(r.kind))});
    }
    Json out;

  private:
    CodeMap* code_;
    bool gfx9_;
    unsigned version_, wgp_;
};

// AMD's decoder takes the word "x" of the gfx10 listings for a memory line.
void drop_pcs(Json& waves) {
    for (Json& wave : waves)
        for (Json& row : wave["instructions"])
            row[4] = 0;
}

// AMD's decoder reports a loss on gfx12 with the time of the token after it.
void drop_loss_times(Json& events) {
    for (Json& row : events)
        if (row[1] == 6) row[0] = 0;
}

// Brings the expected file to what is compared.
Json expected(const Json& file, bool gfx9) {
    Json out;
    for (const char* key : {"shaderdata", "realtime", "other_simd", "perf"})
        out[key] = file[key];
    out["occupancy"] = Json::array();
    for (Json row : file["occupancy"]) {
        if (row[1] == 0) row.erase(row.begin() + 7, row.end());
        out["occupancy"].push_back(row);
    }
    out["waves"] = Json::array();
    for (Json wave : file["waves"]) {
        if (gfx9) wave.erase("workgroup_id");
        out["waves"].push_back(wave);
    }
    out["events"] = Json::array();
    for (const Json& row : file["events"])
        out["events"].push_back({row[0], row[1], row[2], row[3], row[5]});
    out["dispatches"] = Json::array();
    for (Json dispatch : file["dispatches"]) {
        dispatch.erase("pkt"); // AMD's decoder leaves it 0
        dispatch.erase("flags");
        out["dispatches"].push_back(dispatch);
    }
    return out;
}

class Synthetic : public testing::TestWithParam<const char*> {};

TEST_P(Synthetic, EqualsWhatAmdsDecoderMakesOfIt) {
    const auto folder = test::data_folder() / "traces" / "synthetic";
    const auto att = folder / (std::string(GetParam()) + ".att");
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(att)) files.push_back(att);
    WAVETAP_NEED_DATA(files);
    const auto bytes = test::read_bytes(att);
    std::uint64_t raw = 0;
    std::memcpy(&raw, bytes.data(), 8);
    const auto header = sqtt::parse_header(raw);
    ASSERT_TRUE(header);
    TextSource source(folder / (std::string(GetParam()) + ".isa.txt"), header->version >= 4);
    CodeMap code(&source, {});
    Diagnostics diagnostics;
    JsonSink sink(code, *header);
    StreamOptions options;
    options.insert_barrier_waits = true;
    const auto totals = decode_stream(bytes, options, code, sink, diagnostics);
    ASSERT_TRUE(totals);
    const Json file =
        Json::parse(std::ifstream(folder / (std::string(GetParam()) + ".expected.json")));
    Json want = expected(file, header->generation == sqtt::Generation::kGfx9);
    if (header->generation == sqtt::Generation::kGfx10) {
        drop_pcs(want["waves"]);
        drop_pcs(sink.out["waves"]);
    }
    if (header->generation == sqtt::Generation::kGfx12) {
        drop_loss_times(want["events"]);
        drop_loss_times(sink.out["events"]);
    }
    for (const auto& [key, value] : want.items())
        EXPECT_EQ(sink.out[key].dump(), value.dump()) << key;
    EXPECT_EQ(totals->counter_frequency_khz * 1000ULL, file["rt_frequency"]);
    const auto says = [&file](int info) {
        return std::find(file["info"].begin(), file["info"].end(), info) != file["info"].end();
    };
    EXPECT_EQ(diagnostics.count(Fault::kPacketsLost) != 0, says(1));
    EXPECT_EQ(diagnostics.count(Fault::kUnfinishedWave) != 0, says(3));
}

INSTANTIATE_TEST_SUITE_P(Streams, Synthetic,
                         testing::Values("gfx10_v1", "gfx10_v2", "gfx11_jump_trap", "gfx12_ext",
                                         "gfx9_a", "gfx9_ctx", "mi400_b", "vec_gfx11", "vec_gfx12",
                                         "vec_gfx9", "vec_mi400"),
                         [](const auto& param) { return std::string(param.param); });

} // namespace
} // namespace wavetap::decode
