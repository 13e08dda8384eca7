// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/blobs_for_test.hpp"
#include "decode/cut.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

namespace wavetap::decode {
namespace {

using test_blobs::TestBlob;
using test_blobs::text_of;

struct Compared {
    std::uint64_t cuts = 0, waves = 0, instructions = 0, others = 0;
};

BlobRecords decode_all(const std::vector<std::byte>& bytes, const TestBlob& blob) {
    Options options;
    options.objects = blob.objects();
    auto records = decode_blob(bytes, options);
    EXPECT_TRUE(records) << blob.name;
    return records ? *std::move(records) : BlobRecords{};
}

/// A wave is in the piece if start and end lie between these byte offsets or clocks.
std::multiset<std::string> whole_waves(const BlobRecords& records, std::uint64_t begin,
                                       std::uint64_t end, Compared* compared) {
    std::multiset<std::string> out;
    for (const WaveRecord& wave : records.waves) {
        if (!wave.start_seen || !wave.complete || wave.start < begin || wave.end >= end) continue;
        out.insert(text_of(wave));
        if (compared == nullptr) continue;
        ++compared->waves;
        compared->instructions += wave.instructions.size();
    }
    return out;
}

template <class Record>
void add_window(std::string& out, const std::vector<Record>& records, std::uint64_t begin,
                std::uint64_t end, std::uint64_t* count) {
    for (const Record& record : records) {
        if (record.time < begin || record.time >= end) continue;
        if constexpr (requires { text_of(record); })
            out += text_of(record) + "\n";
        else if constexpr (requires { record.counter; })
            out += "realtime " + std::to_string(record.time) + " " +
                   std::to_string(record.counter) + "\n";
        else if constexpr (requires { record.reg; })
            out += "write " + std::to_string(record.time) + " " + std::to_string(record.reg) + " " +
                   std::to_string(record.data) + "\n";
        else if constexpr (requires { record.cycles; })
            out += "other " + std::to_string(record.time) + " " + category_name(record.kind) + " " +
                   std::to_string(record.cycles) + "\n";
        else if constexpr (requires { record.value; })
            out += "data " + std::to_string(record.time) + " " + std::to_string(record.value) +
                   " " + std::to_string(record.cu) + "." + std::to_string(record.simd) + "." +
                   std::to_string(record.slot) + "\n";
        else
            out += "perf " + std::to_string(record.time) + " " +
                   std::to_string(record.counters[0]) + "\n";
        ++*count;
    }
}

/// All that belongs to no wave.
std::string others(const BlobRecords& records, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t* count) {
    std::string out;
    add_window(out, records.dispatches, begin, end, count);
    add_window(out, records.events, begin, end, count);
    add_window(out, records.code_objects, begin, end, count);
    add_window(out, records.realtime, begin, end, count);
    add_window(out, records.userdata_writes, begin, end, count);
    add_window(out, records.other_simd, begin, end, count);
    add_window(out, records.shader_data, begin, end, count);
    add_window(out, records.perf, begin, end, count);
    return out;
}

/// On gfx9 the issue phase of a wave depends on all waves of the target before it, so a target wave
/// that the cut's begin divides makes others uncertain by one phase.
bool divides_a_target_wave(const BlobRecords& whole, std::uint64_t clock) {
    return std::any_of(whole.waves.begin(), whole.waves.end(), [clock](const WaveRecord& wave) {
        return wave.on_target && wave.start < clock && wave.end >= clock;
    });
}

void expect_same(const TestBlob& blob, const BlobRecords& whole, const Cut& cut,
                 std::uint64_t begin, std::uint64_t end, Compared& compared) {
    const BlobRecords piece = decode_all(cut.bytes, blob);
    ++compared.cuts;
    if (whole.generation != "gfx9" || !divides_a_target_wave(whole, begin)) {
        EXPECT_EQ(whole_waves(piece, begin, end, nullptr),
                  whole_waves(whole, begin, end, &compared));
    }
    std::uint64_t ignored = 0;
    EXPECT_EQ(others(piece, begin, end, &ignored), others(whole, begin, end, &compared.others));
    if (whole.clock_base && begin > 2048) {
        EXPECT_EQ(piece.clock_base, whole.clock_base);
    }
}

/// The clocks at which something of a wave happens make the hardest cuts.
std::vector<std::uint64_t> interesting_clocks(const BlobRecords& whole) {
    std::set<std::uint64_t> clocks{0, whole.last_time + 1};
    for (std::uint64_t i = 1; i < 8; ++i)
        clocks.insert(whole.last_time * i / 8);
    std::size_t taken = 0;
    for (const WaveRecord& wave : whole.waves) {
        if (!wave.on_target || taken++ >= 6) continue;
        clocks.insert(wave.start);
        clocks.insert(wave.end + 1);
    }
    for (const CodeObjectEvent& object : whole.code_objects)
        clocks.insert(object.time + 1);
    return {clocks.begin(), clocks.end()};
}

TEST(Cut, EveryWindowDecodesAloneToTheSameRecords) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    Compared compared;
    for (const TestBlob& blob : blobs) {
        const BlobRecords whole = decode_all(blob.bytes, blob);
        const auto clocks = interesting_clocks(whole);
        for (std::size_t i = 0; i < clocks.size(); ++i) {
            for (std::size_t j = i + 1; j < clocks.size(); j += 1 + (j - i)) {
                SCOPED_TRACE(blob.name + " clocks " + std::to_string(clocks[i]) + " to " +
                             std::to_string(clocks[j]));
                const auto cut = cut_window(blob.bytes, clocks[i], clocks[j], {});
                if (!cut) {
                    EXPECT_EQ(cut.error().code, ErrorCode::kNotFound);
                    continue;
                }
                expect_same(blob, whole, *cut, clocks[i], clocks[j], compared);
                if (testing::Test::HasFailure()) return;
            }
        }
    }
    std::cout << compared.cuts << " cuts, " << compared.waves << " waves with "
              << compared.instructions << " instructions, " << compared.others
              << " other records equal those of the whole decode\n";
    EXPECT_GT(compared.waves, 1000U);
    EXPECT_GT(compared.instructions, 1000U);
}

TEST(Cut, EveryDispatchDecodesAloneToTheSameRecords) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    Compared compared;
    for (const TestBlob& blob : blobs) {
        const BlobRecords whole = decode_all(blob.bytes, blob);
        const auto scan = scan_blob(blob.bytes, {});
        ASSERT_TRUE(scan);
        for (std::uint64_t i = 0; i < scan->dispatches.size(); ++i) {
            SCOPED_TRACE(blob.name + " dispatch " + std::to_string(i));
            const auto cut = cut_dispatch(blob.bytes, i, {});
            ASSERT_TRUE(cut) << to_string(cut.error());
            const DispatchExtent& extent = scan->dispatches[i];
            const BlobRecords piece = decode_all(cut->bytes, blob);
            ASSERT_FALSE(piece.dispatches.empty());
            EXPECT_EQ(text_of(piece.dispatches[0]), text_of(whole.dispatches[i]));
            EXPECT_EQ(piece.dispatches[0].offset_bytes - cut->slice_offset,
                      whole.dispatches[i].offset_bytes - cut->begin_bits / 8);
            // One past the last clock: the wave that ends last belongs to the dispatch.
            EXPECT_EQ(whole_waves(piece, extent.record.time, extent.end_time + 1, nullptr),
                      whole_waves(whole, extent.record.time, extent.end_time + 1, &compared));
            ++compared.cuts;
            EXPECT_LT(cut->bytes.size(), blob.bytes.size() + 512);
        }
    }
    std::cout << compared.cuts << " dispatches, " << compared.waves << " waves, "
              << compared.instructions << " instructions\n";
    EXPECT_GT(compared.instructions, 1000U);
}

TEST(Cut, CutsOfCutsAreTheSame) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    std::uint64_t compared = 0;
    for (const TestBlob& blob : blobs) {
        const BlobRecords whole = decode_all(blob.bytes, blob);
        const std::uint64_t end = whole.last_time;
        const auto outer = cut_window(blob.bytes, end / 16, end, {});
        if (!outer) continue;
        for (std::uint64_t i = 2; i < 15; ++i) {
            SCOPED_TRACE(blob.name + " part " + std::to_string(i));
            const auto direct = cut_window(blob.bytes, end * i / 16, end * (i + 1) / 16, {});
            const auto inner = cut_window(outer->bytes, end * i / 16, end * (i + 1) / 16, {});
            ASSERT_EQ(direct.has_value(), inner.has_value());
            if (!direct) continue;
            std::uint64_t ignored = 0;
            EXPECT_EQ(others(decode_all(inner->bytes, blob), 1, end, &compared),
                      others(decode_all(direct->bytes, blob), 1, end, &ignored));
        }
    }
    EXPECT_GT(compared, 1000U);
}

std::vector<std::byte> in_pieces(const TestBlob& blob, std::size_t size, std::uint64_t begin,
                                 std::uint64_t end) {
    test_blobs::PiecedSource source(blob.bytes, size);
    std::vector<std::byte> out;
    const auto plan =
        begin == end ? plan_dispatch(source, begin, {}) : plan_window(source, begin, end, {});
    if (!plan) return out;
    const auto written = write_plan(source, *plan, [&](std::span<const std::byte> bytes) {
        out.insert(out.end(), bytes.begin(), bytes.end());
        return Result<void>();
    });
    EXPECT_TRUE(written);
    EXPECT_EQ(plan->bytes(), out.size());
    return out;
}

TEST(Cut, PieceByPieceGivesTheSameBytes) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    std::size_t cuts = 0;
    for (const TestBlob& blob : blobs) {
        const auto scan = scan_blob(blob.bytes, {});
        ASSERT_TRUE(scan);
        for (const std::size_t size : {4001UL, 70'001UL}) {
            SCOPED_TRACE(blob.name + " in pieces of " + std::to_string(size));
            const std::uint64_t end = scan->last_time;
            if (const auto cut = cut_window(blob.bytes, end / 3, end / 2, {})) {
                EXPECT_EQ(in_pieces(blob, size, end / 3, end / 2), cut->bytes);
                ++cuts;
            }
            if (scan->dispatches.empty()) continue;
            const std::uint64_t last = scan->dispatches.size() - 1;
            EXPECT_EQ(in_pieces(blob, size, last, last), cut_dispatch(blob.bytes, last, {})->bytes);
            ++cuts;
        }
    }
    EXPECT_GT(cuts, 2 * blobs.size());
}

std::vector<std::byte> with_phase(std::vector<std::byte> bytes, unsigned phase) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, bytes.data(), sizeof raw);
    raw = sqtt::with_issue_phase(raw, phase);
    std::memcpy(bytes.data(), &raw, sizeof raw);
    return bytes;
}

// gfx9 durations depend on a counter of issue phases that runs through the whole blob. Here a kernel
// runs twice, the second run is cut out, and the counter begins with each of its four values.
TEST(Cut, TheSecondRunOfAKernelKeepsItsIssuePhases) {
    auto blobs = test_blobs::synthetic_blobs();
    std::erase_if(blobs,
                  [](const TestBlob& blob) { return blob.name.find("_gfx9") == blob.name.npos; });
    for (TestBlob& blob : test_blobs::real_blobs("gfx950"))
        blobs.push_back(std::move(blob));
    WAVETAP_NEED_DATA(blobs);
    const std::uint64_t ever = ~std::uint64_t{0};
    std::set<std::multiset<std::string>> outcomes;
    for (const TestBlob& blob : blobs) {
        const auto scan = scan_blob(blob.bytes, {});
        ASSERT_TRUE(scan);
        ASSERT_FALSE(scan->dispatches.empty()) << blob.name;
        const DispatchExtent& run = scan->dispatches[0];
        const auto begin = blob.bytes.begin() + static_cast<std::ptrdiff_t>(run.begin_bits / 8);
        const auto end = blob.bytes.begin() + static_cast<std::ptrdiff_t>(run.end_bits / 8);
        for (unsigned phase = 0; phase < 4; ++phase) {
            SCOPED_TRACE(blob.name + " phase " + std::to_string(phase));
            const auto once = with_phase({blob.bytes.begin(), end}, phase);
            auto twice = once;
            twice.insert(twice.end(), begin, end);
            Compared compared;
            const auto first = whole_waves(decode_all(once, blob), 0, ever, &compared);
            if (compared.instructions == 0) continue; // only the target has phases
            outcomes.insert(first);
            const auto second = cut_range(twice, once.size() * 8, twice.size() * 8, {});
            ASSERT_TRUE(second) << to_string(second.error());
            auto sum = whole_waves(decode_all(second->bytes, blob), 0, ever, nullptr);
            sum.insert(first.begin(), first.end());
            EXPECT_EQ(whole_waves(decode_all(twice, blob), 0, ever, nullptr), sum);
        }
    }
    EXPECT_GT(outcomes.size(), 1U) << "the phase changed nothing: nothing was tested";
}

TEST(Cut, RefusesWhatIsNotThere) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    const std::vector<std::byte>& bytes = blobs.front().bytes;
    EXPECT_EQ(cut_dispatch(bytes, 1000, {}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(cut_window(bytes, std::uint64_t{1} << 60, ~std::uint64_t{0}, {}).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(cut_window(bytes, 20, 10, {}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(cut_range(bytes, 128, 64, {}).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(cut_range(bytes, 64, bytes.size() * 8 + 1, {}).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_FALSE(cut_dispatch({}, 0, {}));
}

} // namespace
} // namespace wavetap::decode
