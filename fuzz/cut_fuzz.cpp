// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/cut.hpp"
#include "decode/decoder.hpp"
#include "fuzz/check.hpp"

#include <cstdint>
#include <vector>

// The first byte chooses the header, two more where to cut, the rest is the stream. What a scan finds
// equals what a decode finds, a stream scanned in two chunks equals the whole, and every cut decodes.

namespace {

using wavetap::fuzz::check;

using namespace wavetap;

class ListSink final : public decode::RecordSink {
  public:
    void dispatch(const decode::DispatchRecord& record) override { add(record.time, 1); }
    void event(const decode::EventRecord& record) override {
        add(record.time, 2 + static_cast<std::uint64_t>(record.kind));
    }
    void code_object(const decode::CodeObjectEvent& record) override {
        add(record.time, record.id);
    }
    std::vector<std::uint64_t> times, kinds;

  private:
    void add(std::uint64_t time, std::uint64_t what) {
        times.push_back(time);
        kinds.push_back(what);
    }
};

void scan_in_chunks(const std::vector<std::byte>& bytes, const sqtt::Header& header,
                    std::size_t middle) {
    const auto fresh = [&header] {
        decode::ScanState state;
        state.header = header;
        return state;
    };
    ListSink whole, parts;
    decode::ScanState one = fresh(), two = fresh();
    decode::scan_chunk(one, bytes, true, whole);
    const std::span all(bytes);
    decode::scan_chunk(two, all.first(middle), true, parts);
    const decode::ScanState::OpenReset open = two.open_reset;
    const std::size_t first = parts.times.size();
    decode::scan_chunk(two, all.subspan(middle), false, parts);
    check(one.time == two.time && one.clock_base == two.clock_base);
    check(one.live.size() == two.live.size());
    check(whole.kinds == parts.kinds);
    // What lies between a reset of gfx9 and its timestamp in the next chunk is told with the time
    // before the reset: all of it by the same number of clocks too early.
    std::uint64_t early = 0;
    bool loose = false, behind = open.left_bytes == 0;
    for (std::size_t i = 0; i < whole.times.size(); ++i) {
        const std::uint64_t difference = whole.times[i] - parts.times[i];
        if (difference == 0) {
            behind = behind || (loose && i >= first);
            continue;
        }
        check(!behind && parts.times[i] >= open.time && (!loose || difference == early));
        loose = true;
        early = difference;
    }
}

void decode_cut(const Result<decode::Cut>& cut, const std::vector<std::byte>& bytes) {
    if (!cut) {
        check(!cut.error().message.empty());
        return;
    }
    check(cut->begin_bits < cut->end_bits && cut->end_bits <= bytes.size() * 8);
    const auto records = decode::decode_blob(cut->bytes, {});
    check(records.has_value());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    const std::vector<std::byte> bytes = fuzz::stream_of(data[0], {data + 3, size - 3});

    const auto records = decode::decode_blob(bytes, {});
    const auto scan = decode::scan_blob(bytes, {});
    check(records.has_value() && scan.has_value());
    check(records->dispatches.size() == scan->dispatches.size());
    check(records->events.size() == scan->events.size());
    check(records->code_objects.size() == scan->code_objects.size());
    check(records->last_time == scan->last_time);
    for (std::size_t i = 0; i < scan->events.size(); ++i)
        check(records->events[i].time == scan->events[i].time &&
              records->events[i].offset_bytes == scan->events[i].offset_bytes);

    const std::size_t middle = 8 + (bytes.size() - 8) * data[1] / 256;
    scan_in_chunks(bytes, scan->header, middle);
    const std::uint64_t begin = scan->last_time * data[1] / 256;
    decode_cut(decode::cut_window(bytes, begin, begin + 1 + scan->last_time * data[2] / 256, {}),
               bytes);
    if (!scan->dispatches.empty())
        decode_cut(decode::cut_dispatch(bytes, data[2] % scan->dispatches.size(), {}), bytes);
    (void)decode::cut_range(bytes, std::uint64_t{data[1]} * 4, std::uint64_t{data[2]} * 4 + 64, {});
    return 0;
}
