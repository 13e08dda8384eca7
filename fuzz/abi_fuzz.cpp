// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/abi.hpp"
#include "fuzz/check.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

// The drop-in decoder as a program calls it that loads it by name. The first byte chooses the header,
// the second and third what the caller does, the rest is trace data. Nothing may be thrown through the ABI,
// every status is one of the documented ones, every record can be read.

using namespace wavetap::compat;

extern "C" {
Status rocprof_trace_decoder_parse_data(SeDataCallback, RecordCallback, IsaCallback, void*);
const char* rocprof_trace_decoder_get_info_string(Info);
const char* rocprof_trace_decoder_get_status_string(Status);
Status rocprof_trace_decoder_create_handle(Handle*);
Status rocprof_trace_decoder_destroy_handle(Handle);
Status rocprof_trace_decoder_set_isa_callback(Handle, IsaCallback, void*);
Status rocprof_trace_decoder_set_se_data_callback(Handle, SeDataCallback, void*);
Status rocprof_trace_decoder_codeobj_load(Handle, std::uint64_t id, std::uint64_t load_address,
                                          std::uint64_t load_size, const void*, std::uint64_t size);
Status rocprof_trace_decoder_codeobj_unload(Handle, std::uint64_t id);
Status rocprof_trace_decoder_set_analysis(Handle, std::uint64_t flags);
Status rocprof_trace_decoder_set_record_filter(Handle, const RecordFilter*);
Status rocprof_trace_decoder_quick_scan(Handle, std::uint64_t chunk, const void*,
                                        std::uint64_t size, RecordCallback, void*);
Status rocprof_trace_decoder_build_standalone(Handle, std::uint64_t chunk, const void*,
                                              std::uint64_t size, std::uint64_t begin,
                                              std::uint64_t end, void* out,
                                              std::uint64_t* size_out);
Status rocprof_trace_decoder_parse(Handle, const void*, std::uint64_t size, RecordCallback, void*);
}

namespace {

using wavetap::fuzz::check;

enum Behaviour : unsigned {
    kIsaThrows = 1,
    kIsaWantsRoom = 2,
    kRecordThrows = 4,
    kRecordFails = 8,
    kByHandle = 16,
    kTwoBuffers = 32,
    kHandlesCode = 64,
    kUnaligned = 128,
};

enum More : unsigned {
    kFilter = 1,
    kImmediately = 2,
    kScan = 4,
    kStandalone = 8,
};

struct Caller {
    unsigned behaviour = 0;
    std::vector<std::vector<std::uint8_t>> buffers;
    std::size_t next = 0;
    std::uint64_t calls = 0;
    std::uint64_t sum = 0; ///< keeps the reads below
};

void touch(Caller& caller, const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    for (std::size_t i = 0; i < size; ++i)
        caller.sum += bytes[i];
}

std::size_t size_of(RecordType type) {
    switch (type) {
    case kOccupancy:
        return sizeof(Occupancy);
    case kPerf:
        return sizeof(Perf);
    case kWave:
        return sizeof(Wave);
    case kInfo:
        return sizeof(Info);
    case kEvent:
        return sizeof(Event);
    case kShaderData:
        return sizeof(ShaderData);
    case kRealtime:
        return sizeof(Realtime);
    case kFrequency:
        return sizeof(std::uint64_t);
    case kOtherSimd:
        return sizeof(OtherSimd);
    case kDispatch:
        return sizeof(Dispatch);
    case kHiddenLatency:
        return sizeof(HiddenLatencyRecord);
    case kGfxip:
        break;
    }
    return 0;
}

Status on_record(RecordType type, void* records, std::uint64_t count, void* user) {
    auto& caller = *static_cast<Caller*>(user);
    check(type >= kGfxip && type < kRecordTypes);
    if (type != kGfxip) {
        check(records != nullptr && count > 0);
        touch(caller, records, size_of(type) * static_cast<std::size_t>(count));
    }
    if (type == kWave) {
        const auto* waves = static_cast<const Wave*>(records);
        for (std::uint64_t i = 0; i < count; ++i) {
            touch(caller, waves[i].timeline, waves[i].timeline_count * sizeof(WaveState));
            touch(caller, waves[i].instructions, waves[i].instruction_count * sizeof(Instruction));
        }
    }
    ++caller.calls;
    if ((caller.behaviour & kRecordThrows) != 0 && caller.calls % 5 == 0)
        throw std::runtime_error("record");
    return (caller.behaviour & kRecordFails) != 0 ? kError : kSuccess;
}

Status on_isa(char* text, std::uint64_t* size_bytes, std::uint64_t* text_size, Pc pc, void* user) {
    static constexpr const char* kText[] = {"s_mov_b32 s0, s1",
                                            "v_add_f32 v0, v1, v2",
                                            "s_cbranch_scc0 65500",
                                            "s_branch 3",
                                            "s_waitcnt vmcnt(0)",
                                            "global_load_dword v0, v[0:1], off",
                                            "ds_read_b32 v0, v1",
                                            "s_barrier_wait 0xffff",
                                            "s_delay_alu 0",
                                            "s_endpgm",
                                            "",
                                            "unknown_thing",
                                            "s_branch 99999999999999999999"};
    auto& caller = *static_cast<Caller*>(user);
    const std::uint64_t mixed = (pc.address / 4 + pc.id) * 0x9E3779B97F4A7C15ULL >> 32;
    if ((caller.behaviour & kIsaThrows) != 0 && mixed % 7 == 0) throw 7;
    if (mixed % 31 == 0) return kError;
    const char* line = kText[mixed % std::size(kText)];
    const std::uint64_t length = std::strlen(line);
    if ((caller.behaviour & kIsaWantsRoom) != 0 && *text_size < 200) {
        *text_size = 200;
        return kOutOfResources;
    }
    if (length > *text_size) {
        *text_size = length;
        return kOutOfResources;
    }
    std::memcpy(text, line, static_cast<std::size_t>(length));
    *text_size = length;
    *size_bytes = mixed % 16;
    return kSuccess;
}

std::uint64_t on_data(std::uint8_t** data, std::uint64_t* size, void* user) {
    auto& caller = *static_cast<Caller*>(user);
    if (caller.next == caller.buffers.size()) return 0;
    std::vector<std::uint8_t>& buffer = caller.buffers[caller.next++];
    const std::size_t skip = (caller.behaviour & kUnaligned) != 0 && !buffer.empty() ? 1 : 0;
    *data = buffer.data() + skip;
    *size = buffer.size() - skip;
    return caller.buffers.size() - caller.next + 1;
}

void check_status(Status status) {
    check(status >= kSuccess && status <= kNotImplemented);
    check(rocprof_trace_decoder_get_status_string(status) != nullptr);
}

std::vector<std::uint8_t> buffer_of(unsigned choice, const std::uint8_t* data, std::size_t size,
                                    bool unaligned) {
    static constexpr std::uint64_t kHeaders[] = {0x00000000000FC011, 0x0000000000000091,
                                                 0x0000000000000111, 0x0000000068900191,
                                                 0x0913100868700211, 0x0800000000000291};
    const std::size_t skip = unaligned ? 1 : 0;
    const std::size_t header = choice % 7 < 6 ? 8 : 0;
    std::vector<std::uint8_t> bytes(skip + header + size);
    if (header != 0) std::memcpy(bytes.data() + skip, &kHeaders[choice % 7], header);
    if (size != 0) std::memcpy(bytes.data() + skip + header, data, size);
    return bytes;
}

void set_filter(Handle handle, unsigned more) {
    std::array<RecordRequest, 3> requests{};
    for (std::size_t i = 0; i < requests.size(); ++i) {
        requests[i] = {sizeof(RecordRequest), static_cast<std::int32_t>((more >> 2) + i * 5) % 13,
                       (more & kImmediately) != 0 ? kImmediate : 0U};
    }
    const RecordFilter filter{sizeof(RecordFilter), requests.data(), requests.size()};
    check_status(rocprof_trace_decoder_set_record_filter(handle, &filter));
}

/// The buffers as chunks of one stream.
void scan(Handle handle, Caller& caller, unsigned more) {
    for (std::size_t i = 0; i < caller.buffers.size(); ++i) {
        const auto& chunk = caller.buffers[i];
        const Status status = rocprof_trace_decoder_quick_scan(handle, i, chunk.data(),
                                                               chunk.size(), on_record, &caller);
        check_status(status);
        // One that failed leaves the next to wait for it.
        if (status != kSuccess) return;
        if ((more & kStandalone) == 0 || chunk.empty()) continue;
        const std::uint64_t begin = (more >> 4) * chunk.size() / 16;
        std::uint64_t size_out = 0;
        std::uint8_t small = 0;
        const Status room = rocprof_trace_decoder_build_standalone(
            handle, i, chunk.data(), chunk.size(), begin, chunk.size(), &small, &size_out);
        check_status(room);
        if (room != kOutOfResources) continue;
        check(size_out > 1 && size_out <= chunk.size() + (1U << 20));
        std::vector<std::uint8_t> out(static_cast<std::size_t>(size_out));
        check(rocprof_trace_decoder_build_standalone(handle, i, chunk.data(), chunk.size(), begin,
                                                     chunk.size(), out.data(),
                                                     &size_out) == kSuccess);
        check(size_out == out.size());
        check_status(
            rocprof_trace_decoder_parse(handle, out.data(), out.size(), on_record, &caller));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) return 0;
    Caller caller;
    caller.behaviour = data[1];
    const bool unaligned = (caller.behaviour & kUnaligned) != 0;
    const unsigned more = data[2];
    const std::uint8_t* rest = data + 3;
    const std::size_t length = size - 3;
    const std::size_t first = (caller.behaviour & kTwoBuffers) != 0 ? length / 2 : length;
    caller.buffers.push_back(buffer_of(data[0], rest, first, unaligned));
    if (first != length)
        caller.buffers.push_back(buffer_of(data[0] / 7, rest + first, length - first, unaligned));

    if ((caller.behaviour & kByHandle) == 0) {
        check_status(rocprof_trace_decoder_parse_data(on_data, on_record, on_isa, &caller));
        return 0;
    }
    Handle handle;
    check(rocprof_trace_decoder_create_handle(&handle) == kSuccess);
    check_status(rocprof_trace_decoder_set_analysis(handle, data[0] & 3U));
    if ((more & kFilter) != 0) set_filter(handle, more);
    if ((caller.behaviour & kHandlesCode) != 0) {
        check_status(rocprof_trace_decoder_codeobj_load(handle, 5, 0x1000, length, rest, length));
    } else {
        check(rocprof_trace_decoder_set_isa_callback(handle, on_isa, &caller) == kSuccess);
    }
    if ((more & kScan) != 0) scan(handle, caller, more);
    if ((caller.behaviour & kTwoBuffers) != 0) {
        check(rocprof_trace_decoder_set_se_data_callback(handle, on_data, &caller) == kSuccess);
        check_status(rocprof_trace_decoder_parse(handle, nullptr, 0, on_record, &caller));
    } else {
        check_status(rocprof_trace_decoder_parse(handle, caller.buffers[0].data(),
                                                 caller.buffers[0].size(), on_record, &caller));
    }
    check_status(rocprof_trace_decoder_codeobj_unload(handle, 5));
    check(rocprof_trace_decoder_destroy_handle(handle) == kSuccess);
    check(rocprof_trace_decoder_destroy_handle(handle) == kInvalidArgument);
    return 0;
}
