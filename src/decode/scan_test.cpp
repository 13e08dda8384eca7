// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/blobs_for_test.hpp"
#include "decode/stream_scan.hpp"
#include "decode/written_for_test.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <utility>

namespace wavetap::decode {
namespace {

using test_blobs::TestBlob;
using test_blobs::text_of;

template <class Record> std::string texts(const std::vector<Record>& records) {
    std::string out;
    for (const Record& record : records)
        out += text_of(record) + "\n";
    return out;
}

std::string texts(const BlobScan& scan) {
    std::string out = std::to_string(scan.end_bits) + " " + std::to_string(scan.last_time) + " " +
                      std::to_string(scan.waves_before) + "\n";
    for (const DispatchExtent& extent : scan.dispatches)
        out += text_of(extent.record) + " " + std::to_string(extent.record.offset_bytes) + " " +
               std::to_string(extent.begin_bits) + "-" + std::to_string(extent.end_bits) + " " +
               std::to_string(extent.end_time) + " " + std::to_string(extent.waves) + " " +
               std::to_string(extent.waves_ended) + "\n";
    for (const EventRecord& event : scan.events)
        out += text_of(event) + " " + std::to_string(event.offset_bytes) + "\n";
    return out + texts(scan.code_objects);
}

void expect_same_in_pieces(std::span<const std::byte> bytes, std::size_t size) {
    SCOPED_TRACE("in pieces of " + std::to_string(size));
    const auto whole = scan_blob(bytes, {});
    test_blobs::PiecedSource source(bytes, size);
    const auto pieces = scan_blob(source, {});
    ASSERT_TRUE(whole && pieces);
    EXPECT_EQ(texts(*pieces), texts(*whole));
}

TEST(Scan, FindsWhatADecodeFinds) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    std::uint64_t dispatches = 0, events = 0, waves = 0;
    for (const TestBlob& blob : blobs) {
        SCOPED_TRACE(blob.name);
        Options options;
        options.objects = blob.objects();
        const auto whole = decode_blob(blob.bytes, options);
        ASSERT_TRUE(whole);
        const auto scan = scan_blob(blob.bytes, {blob.objects(), std::nullopt});
        ASSERT_TRUE(scan);
        std::vector<DispatchRecord> found;
        std::uint64_t started = scan->waves_before;
        for (const DispatchExtent& extent : scan->dispatches) {
            found.push_back(extent.record);
            started += extent.waves;
            EXPECT_EQ(extent.begin_bits / 8, extent.record.offset_bytes);
            EXPECT_LT(extent.begin_bits, extent.end_bits);
        }
        EXPECT_EQ(texts(found), texts(whole->dispatches));
        EXPECT_EQ(texts(scan->events), texts(whole->events));
        EXPECT_EQ(texts(scan->code_objects), texts(whole->code_objects));
        for (std::size_t i = 0; i < std::min(found.size(), whole->dispatches.size()); ++i)
            EXPECT_EQ(found[i].offset_bytes, whole->dispatches[i].offset_bytes);
        for (std::size_t i = 0; i < std::min(scan->events.size(), whole->events.size()); ++i)
            EXPECT_EQ(scan->events[i].offset_bytes, whole->events[i].offset_bytes);
        EXPECT_EQ(scan->last_time, whole->last_time);
        if (blob.object) { // real: nothing but plain wave starts
            std::uint64_t seen = 0;
            for (const WaveRecord& wave : whole->waves)
                seen += wave.start_seen ? 1 : 0;
            EXPECT_EQ(started, seen);
        }
        dispatches += found.size();
        events += scan->events.size();
        waves += started;
    }
    std::cout << blobs.size() << " blobs: " << dispatches << " dispatches, " << events
              << " events, " << waves << " wave starts\n";
    EXPECT_GT(dispatches, 0U);
    EXPECT_GT(events, 0U);
}

class Collected final : public RecordSink {
  public:
    void dispatch(const DispatchRecord& record) override { add(record); }
    void event(const EventRecord& record) override { add(record); }
    void code_object(const CodeObjectEvent& record) override { add(record); }
    struct Line {
        std::string text;
        std::uint64_t time = 0;
        bool loose = false; ///< told between a reset and its timestamp in the next chunk
    };
    std::vector<Line> lines;

  private:
    template <class Record> void add(Record record) {
        const std::uint64_t time = std::exchange(record.time, 0);
        lines.push_back({text_of(record), time, false});
    }
};

struct ChunkScan {
    Collected found;
    ScanState end;
    std::size_t chunks = 0;
    std::size_t open_resets = 0; ///< chunks that end between a reset and its timestamp
};

/// `sizes` in turn; the last one for the rest.
ChunkScan scan_in_chunks(std::span<const std::byte> bytes, const std::vector<std::size_t>& sizes) {
    ChunkScan scan;
    scan.end = *state_before(bytes, 0, {});
    for (std::size_t at = 0; at < bytes.size(); ++scan.chunks) {
        const std::size_t size = sizes[std::min(scan.chunks, sizes.size() - 1)];
        const auto chunk = bytes.subspan(at, std::min(size, bytes.size() - at));
        const std::size_t before = scan.found.lines.size();
        const ScanState::OpenReset open = scan.end.open_reset;
        scan_chunk(scan.end, chunk, at == 0, scan.found);
        at += chunk.size();
        const bool ends_open = scan.end.open_reset.left_bytes != 0 && at != bytes.size();
        scan.open_resets += ends_open ? 1 : 0;
        for (std::size_t i = before; i < scan.found.lines.size(); ++i) {
            Collected::Line& line = scan.found.lines[i];
            constexpr std::uint64_t kFewTokens = 64; // clocks
            line.loose = (open.left_bytes != 0 && line.time < open.time + kFewTokens) ||
                         (ends_open && line.time >= scan.end.open_reset.time);
        }
    }
    return scan;
}

void expect_same(const ChunkScan& parts, const ChunkScan& whole) {
    EXPECT_EQ(parts.end.time, whole.end.time);
    EXPECT_EQ(parts.end.clock_base, whole.end.clock_base);
    ASSERT_EQ(parts.found.lines.size(), whole.found.lines.size());
    for (std::size_t i = 0; i < whole.found.lines.size(); ++i) {
        EXPECT_EQ(parts.found.lines[i].text, whole.found.lines[i].text) << i;
        if (parts.found.lines[i].loose) continue;
        EXPECT_EQ(parts.found.lines[i].time, whole.found.lines[i].time) << i;
    }
}

// Also where the joints fall inside tokens.
TEST(Scan, ChunkByChunkEqualsTheWhole) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    std::size_t joints = 0, open_resets = 0, loose = 0, lines = 0;
    for (const TestBlob& blob : blobs) {
        const ChunkScan whole = scan_in_chunks(blob.bytes, {blob.bytes.size()});
        for (const std::size_t size : {9UL, 32UL, 250UL, 1024UL}) {
            SCOPED_TRACE(blob.name + " in chunks of " + std::to_string(size));
            const ChunkScan parts =
                scan_in_chunks(blob.bytes, {std::max<std::size_t>(size, 8), size});
            expect_same(parts, whole);
            joints += parts.chunks;
            open_resets += parts.open_resets;
            lines += parts.found.lines.size();
            for (const Collected::Line& line : parts.found.lines)
                loose += line.loose ? 1 : 0;
        }
    }
    EXPECT_GT(open_resets, 0U);
    EXPECT_LE(loose, lines / 10) << "few records lie between a reset and its timestamp";
    EXPECT_GT(joints, 1000U);
}

/// Events with pauses that the deltas cannot tell, so that there are many resets.
test::Bytes paused_stream() {
    test::Stream stream(sqtt::Generation::kGfx9);
    for (std::uint64_t i = 0; i < 12; ++i) {
        const std::uint64_t clock = 1000 + i * 5000;
        EXPECT_TRUE(stream.gfx9().event(clock, 7));
        EXPECT_TRUE(stream.gfx9().event(clock + 8, 9));
    }
    return stream.bytes();
}

// A joint at every byte: before, inside and behind each reset and each timestamp.
TEST(Scan, ResetsWhoseTimestampIsInTheNextChunkKeepTheClock) {
    const test::Bytes bytes = paused_stream();
    const ChunkScan whole = scan_in_chunks(bytes, {bytes.size()});
    ASSERT_EQ(whole.found.lines.size(), 24U);
    EXPECT_EQ(whole.end.time - whole.found.lines[0].time, 11 * 5000U + 8);
    std::size_t open_resets = 0;
    for (std::size_t middle = 8; middle < bytes.size(); ++middle) {
        SCOPED_TRACE(middle);
        for (const std::size_t rest : {std::size_t{1}, std::size_t{5}, bytes.size()}) {
            const ChunkScan parts = scan_in_chunks(bytes, {middle, rest});
            expect_same(parts, whole);
            open_resets += parts.open_resets;
        }
    }
    EXPECT_GT(open_resets, 100U);
}

// Bytes that extend a token may be many, and lie in several chunks (found by cut_fuzz).
TEST(Scan, RunsOfExtensionBytesMayLieAcrossChunks) {
    for (const sqtt::Generation generation :
         {sqtt::Generation::kGfx12, sqtt::Generation::kGfx1250}) {
        test::Stream stream(generation);
        EXPECT_TRUE(stream.rdna().event(stream.next_clock(), 7));
        test::Bytes bytes = stream.bytes();
        for (const unsigned byte : {0x1CU, 0U, 0U, 0U, 0U}) // a wave start that may be extended
            bytes.push_back(static_cast<std::byte>(byte));
        // What each of them would be if it stood alone takes several bytes.
        for (unsigned i = 0; i < 200; ++i)
            bytes.push_back(static_cast<std::byte>(i % 2 == 0 ? 0x49 : 0xFF));
        test::Stream behind(generation);
        EXPECT_TRUE(behind.rdna().event(behind.next_clock(), 9));
        const test::Bytes tail = behind.bytes();
        bytes.insert(bytes.end(), tail.begin() + 8, tail.end());
        const ChunkScan whole = scan_in_chunks(bytes, {bytes.size()});
        ASSERT_EQ(whole.found.lines.size(), 2U);
        for (std::size_t middle = 8; middle < bytes.size(); ++middle) {
            SCOPED_TRACE(middle);
            for (const std::size_t rest : {std::size_t{1}, std::size_t{7}, bytes.size()})
                expect_same(scan_in_chunks(bytes, {middle, rest}), whole);
        }
        for (std::size_t size = 1; size < 80; ++size)
            expect_same_in_pieces(bytes, size);
    }
}

// The timestamp of a reset is looked for over 64 KiB: in one chunk, in several, and by the decoder.
TEST(Scan, LooksAsFarForATimestampAsTheDecoder) {
    for (const std::size_t between : {65'526UL, 65'528UL, 65'530UL, 65'600UL}) {
        SCOPED_TRACE(between);
        test::Bytes bytes = paused_stream();
        for (const unsigned byte : {0x00U, 0x20U}) // a reset
            bytes.push_back(static_cast<std::byte>(byte));
        for (std::size_t i = 0; i < between; i += 2) // tokens that only carry a little time
            for (const unsigned byte : {0x10U, 0x00U})
                bytes.push_back(static_cast<std::byte>(byte));
        for (const unsigned byte : {0x11U, 0U, 0U, 0U, 0x10U, 0U, 0U, 0U})
            bytes.push_back(static_cast<std::byte>(byte)); // the time 2^20
        const auto records = decode_blob(bytes, {});
        ASSERT_TRUE(records);
        const ChunkScan whole = scan_in_chunks(bytes, {bytes.size()});
        EXPECT_EQ(whole.end.time, records->last_time);
        EXPECT_EQ(records->last_time > 300'000 + between * 2, between <= 65'528);
        for (const std::size_t size : {8UL, 1000UL, 65'537UL, 100'000UL})
            expect_same(scan_in_chunks(bytes, {size}), whole);
    }
}

TEST(Scan, PieceByPieceEqualsTheWhole) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    for (const TestBlob& blob : blobs) {
        SCOPED_TRACE(blob.name);
        for (const std::size_t size : {4001UL, 70'001UL})
            expect_same_in_pieces(blob.bytes, size);
    }
    // Resets whose timestamps lie more than a piece ahead.
    const test::Bytes paused = paused_stream();
    test::Bytes much(paused);
    for (int i = 0; i < 600; ++i)
        much.insert(much.end(), paused.begin() + 8, paused.end());
    for (const std::size_t size : {1001UL, 65'537UL})
        expect_same_in_pieces(much, size);
}

// Windows together list what one scan lists, each dispatch with its waves to the end of the blob.
TEST(Scan, WindowsTogetherAreTheWhole) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    std::size_t windows = 0;
    for (const TestBlob& blob : blobs) {
        SCOPED_TRACE(blob.name);
        const auto whole = scan_blob(blob.bytes, {});
        ASSERT_TRUE(whole);
        BlobScan sum;
        const std::uint64_t records = whole->dispatches.size() + whole->events.size();
        for (ScanWindow window{0, records / 3 + 1}; window.first < records;
             window.first += window.most, ++windows) {
            test_blobs::PiecedSource source(blob.bytes, 50'000);
            const auto part = scan_blob(source, {}, window);
            ASSERT_TRUE(part);
            EXPECT_EQ(part->dispatches_total, whole->dispatches.size());
            EXPECT_EQ(part->events_total, whole->events.size());
            EXPECT_LE(part->dispatches.size() + part->events.size(), window.most);
            if (!part->dispatches.empty()) {
                EXPECT_EQ(part->first_dispatch, sum.dispatches.size());
            }
            const auto add = [](auto& to, const auto& from) {
                to.insert(to.end(), from.begin(), from.end());
            };
            add(sum.dispatches, part->dispatches);
            add(sum.events, part->events);
            sum.end_bits = part->end_bits;
            sum.last_time = part->last_time;
            sum.waves_before = part->waves_before;
        }
        sum.code_objects = whole->code_objects;
        if (records != 0) {
            EXPECT_EQ(texts(sum), texts(*whole));
        }
    }
    EXPECT_GT(windows, blobs.size());
}

TEST(Scan, WhatIsNoTraceIsAnError) {
    const std::vector<std::byte> nothing;
    EXPECT_FALSE(scan_blob(nothing, {}));
    const std::vector<std::byte> noise(64, std::byte{0xFF});
    EXPECT_FALSE(scan_blob(noise, {}));
}

} // namespace
} // namespace wavetap::decode
