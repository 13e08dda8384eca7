// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/blobs_for_test.hpp"
#include "decode/golden.hpp"
#include "decode/long_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

// A blob that is decoded piece by piece gives what decode_blob() gives, and can be dropped meanwhile.

namespace wavetap::decode {
namespace {

std::string golden(const BlobRecords& records, std::size_t bytes) {
    std::string text = golden_json(records, {"blob", -1, bytes});
    for (const Diagnostic& fault : records.diagnostics)
        text += std::string(fault.kind) + " " + std::to_string(fault.count) + " " +
                std::to_string(fault.first_offset_bytes) + "\n";
    return text + std::to_string(records.used_bytes);
}

void feed(PieceDecoder& decoder, std::span<const std::byte> bytes, std::size_t piece,
          const std::function<void()>& between) {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        ASSERT_TRUE(decoder.feed(bytes.subspan(at, std::min(piece, bytes.size() - at))));
        between();
    }
    ASSERT_TRUE(decoder.finish());
    between();
}

TEST(PieceDecoder, KeepsWhatADecodeOfTheWholeGives) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    for (const test_blobs::TestBlob& blob : blobs) {
        SCOPED_TRACE(blob.name);
        Options options;
        options.objects = blob.objects();
        const auto whole = decode_blob(blob.bytes, options);
        ASSERT_TRUE(whole);
        for (const std::size_t piece : {std::size_t{3}, std::size_t{1000}, blob.bytes.size()}) {
            PieceDecoder decoder(options);
            feed(decoder, blob.bytes, piece, [] {});
            EXPECT_EQ(golden(decoder.records(), blob.bytes.size()),
                      golden(*whole, blob.bytes.size()));
        }
    }
}

using Key = std::vector<std::uint64_t>;
Key key_of(const WaveRecord& wave) {
    Key key{wave.start,
            wave.end,
            wave.cu,
            wave.simd,
            wave.slot,
            wave.entry.absolute,
            wave.entry.code_object};
    for (const InstructionRecord& each : wave.instructions)
        key.insert(key.end(), {each.time, each.duration, each.pc.elf_address});
    return key;
}

// Dropped after each piece: the same waves, in an order that does not depend on threads.
TEST(PieceDecoder, GivesEveryWaveOnceWhenTheyAreDroppedOnTheWay) {
    for (const std::string arch : {"gfx950", "gfx1100", "gfx1200"}) {
        SCOPED_TRACE(arch);
        const auto blobs = test_blobs::real_blobs(arch);
        WAVETAP_NEED_DATA(blobs);
        const auto blob =
            std::find_if(blobs.begin(), blobs.end(), [](const test_blobs::TestBlob& each) {
                return each.name.find("gemm_0/se0.att") != std::string::npos;
            });
        ASSERT_NE(blob, blobs.end());
        std::uint64_t raw = 0;
        std::memcpy(&raw, blob->bytes.data(), sizeof raw);
        const auto header = sqtt::parse_header(raw);
        ASSERT_TRUE(header);
        const LongTrace trace(header->generation, blob->bytes);
        ASSERT_FALSE(trace.empty());
        std::vector<std::byte> bytes = trace.preamble();
        for (std::uint64_t number = 0; bytes.size() < 2'000'000; ++number)
            trace.append(number, bytes);
        Options options;
        options.objects = blob->objects();
        const auto whole = decode_blob(bytes, options);
        ASSERT_TRUE(whole);
        std::vector<Key> want;
        for (const WaveRecord& wave : whole->waves)
            want.push_back(key_of(wave));
        std::vector<Key> first_order;
        for (const unsigned threads : {1U, 3U}) {
            options.threads = threads;
            options.want_events = threads != 1;
            PieceDecoder decoder(options);
            std::vector<Key> got;
            std::size_t most = 0, events = 0;
            feed(decoder, bytes, 300'000, [&] {
                const BlobRecords& records = decoder.records();
                EXPECT_TRUE(std::is_sorted(
                    records.waves.begin(), records.waves.end(),
                    [](const WaveRecord& a, const WaveRecord& b) { return a.start < b.start; }));
                for (const WaveRecord& wave : records.waves)
                    got.push_back(key_of(wave));
                most = std::max(most, records.waves.size());
                events += records.events.size() + records.realtime.size() +
                          records.userdata_writes.size() + records.dispatches.size();
                decoder.drop();
            });
            EXPECT_LT(most, want.size() / 2) << "they come on the way, not at the end";
            EXPECT_EQ(events != 0, options.want_events);
            if (first_order.empty()) first_order = got;
            EXPECT_EQ(got, first_order) << "the order is the same for every number of threads";
            std::sort(got.begin(), got.end());
            std::sort(want.begin(), want.end());
            EXPECT_EQ(got, want);
            EXPECT_EQ(decoder.records().instructions, whole->instructions);
            EXPECT_EQ(decoder.records().instructions_with_pc, whole->instructions_with_pc);
            EXPECT_EQ(decoder.records().last_time, whole->last_time);
            EXPECT_EQ(decoder.records().token_counts, whole->token_counts);
        }
    }
}

TEST(PieceDecoder, RefusesWhatADecodeRefusesInTheSameWords) {
    for (const std::size_t size : {0UL, 5UL, 64UL}) {
        const std::vector<std::byte> bytes(size);
        const auto whole = decode_blob(bytes, {});
        ASSERT_FALSE(whole);
        PieceDecoder decoder({});
        auto done = decoder.feed(bytes);
        if (done) done = decoder.finish();
        ASSERT_FALSE(done);
        EXPECT_EQ(to_string(done.error()), to_string(whole.error()));
    }
}

} // namespace
} // namespace wavetap::decode
