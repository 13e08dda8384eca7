// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/blobs_for_test.hpp"
#include "decode/stream_scan.hpp"

#include <gtest/gtest.h>

#include <iostream>

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
    void dispatch(const DispatchRecord& record) override { text += text_of(record) + "\n"; }
    void event(const EventRecord& record) override { text += text_of(record) + "\n"; }
    void code_object(const CodeObjectEvent& record) override { text += text_of(record) + "\n"; }
    std::string text;
};

// Also where the joints fall inside tokens. gfx9 times need the timestamp behind a reset, which may
// stand in the next chunk, so times are left out there.
TEST(Scan, ChunkByChunkEqualsTheWhole) {
    const auto blobs = test_blobs::all_blobs();
    WAVETAP_NEED_DATA(blobs);
    std::size_t joints = 0;
    for (const TestBlob& blob : blobs) {
        std::uint64_t raw = 0;
        std::memcpy(&raw, blob.bytes.data(), 8);
        const auto header = sqtt::parse_header(raw);
        ASSERT_TRUE(header);
        const auto fresh = state_before(blob.bytes, 0, {});
        ASSERT_TRUE(fresh);
        const std::span<const std::byte> bytes(blob.bytes);
        Collected whole;
        ScanState end = *fresh;
        scan_chunk(end, bytes, true, whole);
        for (const std::size_t size : {9UL, 32UL, 250UL, 1024UL}) {
            SCOPED_TRACE(blob.name + " in chunks of " + std::to_string(size));
            Collected parts;
            ScanState state = *fresh;
            for (std::size_t at = 0; at < bytes.size(); at += size) {
                scan_chunk(state, bytes.subspan(at, std::min(size, bytes.size() - at)), at == 0,
                           parts);
                ++joints;
            }
            if (header->generation == sqtt::Generation::kGfx9) {
                EXPECT_EQ(std::count(parts.text.begin(), parts.text.end(), '\n'),
                          std::count(whole.text.begin(), whole.text.end(), '\n'));
            } else {
                EXPECT_EQ(parts.text, whole.text);
                EXPECT_EQ(state.time, end.time);
            }
        }
    }
    EXPECT_GT(joints, 1000U);
}

TEST(Scan, WhatIsNoTraceIsAnError) {
    const std::vector<std::byte> nothing;
    EXPECT_FALSE(scan_blob(nothing, {}));
    const std::vector<std::byte> noise(64, std::byte{0xFF});
    EXPECT_FALSE(scan_blob(noise, {}));
}

} // namespace
} // namespace wavetap::decode
