// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT

// A stand-in for aqlprofile: the same C functions, which replay recorded requests for memory and
// recorded packets (pm4-golden of the test data, read at run time), with addresses moved to what the
// caller gave. Read-back follows docs/aqlprofile.md. What it replays and what goes wrong is said by
// environment variables, read at each call:
//   WAVETAP_STANDIN_CHIP    folder of the recordings (gfx90a)
//   WAVETAP_STANDIN_CASES   beginning of the names of the cases that it knows (aug25_)
//   WAVETAP_STANDIN_FAULT   one of the words in this file
//   WAVETAP_STANDIN_LOG     a file that gets a line for each request and call
// Built with STANDIN_RINGS it has the multi-buffer functions, with STANDIN_NO_MARKER one less, with
// STANDIN_MAJOR another version, with STANDIN_FOUR_NUMBERS the other form of aqlprofile_get_version.

#include "aqlprofile/abi.hpp"
#include "pm4/packets.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#define STANDIN_API extern "C" __attribute__((visibility("default")))

#ifndef STANDIN_MAJOR
#define STANDIN_MAJOR 1
#endif

namespace {

using namespace wavetap::aqlprofile;
using nlohmann::json;
namespace pm4 = wavetap::pm4;

std::string setting(const char* name, const char* fallback) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != '\0' ? text : fallback;
}
bool fault(const char* word) {
    return setting("WAVETAP_STANDIN_FAULT", "") == word;
}
void note(const std::string& line) {
    const std::string path = setting("WAVETAP_STANDIN_LOG", "");
    if (path.empty()) return;
    std::ofstream(path, std::ios::app) << line << "\n";
}
std::uint64_t number(const json& value) {
    if (value.is_number()) return value.get<std::uint64_t>();
    const std::string text = value.get<std::string>();
    return std::stoull(text, nullptr, text.starts_with("0x") ? 0 : 16);
}

std::filesystem::path folder() {
    return std::filesystem::path(setting("WAVETAP_DATA", WAVETAP_DATA_DEFAULT)) / "pm4-golden" /
           setting("WAVETAP_STANDIN_CHIP", "gfx90a");
}

json read(const std::filesystem::path& path) {
    std::ifstream file(path);
    return json::parse(file, nullptr, false);
}

/// The recorded case with these parameters, in any order.
std::optional<json> find_case(const Profile& profile) {
    std::multimap<std::uint64_t, std::uint64_t> wanted;
    for (std::uint32_t i = 0; i < profile.parameter_count; ++i)
        wanted.emplace(profile.parameters[i].name, profile.parameters[i].value);
    const std::string prefix = setting("WAVETAP_STANDIN_CASES", "aug25_");
    std::vector<std::filesystem::path> paths;
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder(), code))
        if (entry.path().extension() == ".json" &&
            entry.path().filename().string().starts_with(prefix))
            paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
        const json object = read(path);
        if (!object.is_object() || !object.contains("params") || object["params"].empty()) continue;
        std::multimap<std::uint64_t, std::uint64_t> recorded;
        for (const json& pair : object["params"])
            recorded.emplace(number(pair[0]), number(pair[1]));
        if (recorded == wanted) return object;
    }
    return std::nullopt;
}

/// Addresses of the recording and what the caller gave instead.
class Moved {
  public:
    void add(std::uint64_t old, std::uint64_t bytes, std::uint64_t fresh) {
        ranges_.push_back({old, bytes, fresh});
    }
    std::uint64_t operator()(std::uint64_t address) const {
        for (const Range& range : ranges_)
            if (address >= range.old && address - range.old < range.bytes)
                return range.fresh + (address - range.old);
        return address;
    }

  private:
    struct Range {
        std::uint64_t old, bytes, fresh;
    };
    std::vector<Range> ranges_;
};

void put_pair(std::vector<std::uint32_t>& words, std::size_t at, std::uint64_t value) {
    words[at] = static_cast<std::uint32_t>(value);
    words[at + 1] = static_cast<std::uint32_t>(value >> 32);
}
std::uint64_t pair_at(const std::vector<std::uint32_t>& words, std::size_t at) {
    return words[at] | std::uint64_t{words[at + 1]} << 32;
}

/// Moves every address of a gfx9 stream. False: it has a packet that is not understood.
bool relocate(std::vector<std::uint32_t>& words, const Moved& moved) {
    std::vector<pm4::Packet> packets;
    pm4::Parser parser(words);
    for (;;) {
        auto next = parser.next();
        if (!next) return false;
        if (!*next) break;
        packets.push_back(**next);
    }
    std::size_t base = 0; // the value of the last write of BASE, whose BASE2 follows
    for (const pm4::Packet& packet : packets) {
        const std::size_t body = packet.offset_dwords + 1;
        if (packet.opcode == pm4::Opcode::kCopyData) {
            const std::uint32_t control = words[body];
            const std::uint32_t from = control & 0xf, to = control >> 8 & 0xf;
            if (from == 1 || from == 2) put_pair(words, body + 1, moved(pair_at(words, body + 1)));
            if (to == 1 || to == 2 || to == 5)
                put_pair(words, body + 3, moved(pair_at(words, body + 3)));
        } else if (packet.opcode == pm4::Opcode::kAcquireMem) {
            const std::uint64_t old =
                std::uint64_t{words[body + 3]} << 8 | std::uint64_t{words[body + 4] & 0xff} << 40;
            const std::uint64_t fresh = moved(old);
            words[body + 3] = static_cast<std::uint32_t>(fresh >> 8);
            words[body + 4] = static_cast<std::uint32_t>(fresh >> 40 & 0xff);
        } else if (packet.opcode == pm4::Opcode::kSetUconfigReg) {
            const std::uint32_t reg = pm4::kUconfigBase + (words[body] & 0xffff);
            if (reg == pm4::gfx9::kSqThreadTraceBase) base = body + 1;
            if (reg == pm4::gfx9::kSqThreadTraceBase2 && base != 0) {
                const std::uint64_t old =
                    std::uint64_t{words[base]} << 12 | std::uint64_t{words[body + 1] & 0xf} << 44;
                const std::uint64_t fresh = moved(old);
                words[base] = static_cast<std::uint32_t>(fresh >> 12);
                words[body + 1] = static_cast<std::uint32_t>(fresh >> 44 & 0xf);
                base = 0;
            }
        }
    }
    return true;
}

struct Memory {
    AllocateCallback allocate = nullptr;
    FreeCallback free = nullptr;
    CopyCallback copy = nullptr;
    void* user = nullptr;
};

struct Trace {
    Memory memory;
    json recorded;
    Moved moved;
    std::vector<std::pair<void*, std::uint64_t>> blocks; ///< in the order of the requests
    void* control = nullptr;
    std::uint64_t control_bytes = 0;
    std::vector<std::uint64_t> outputs; ///< given addresses: base, then the extra ones
    std::uint64_t output_bytes = 0;
    std::uint64_t se_mask = 1;
    std::uint32_t target_cu = 0;
    std::uint64_t swaps = 0;

    void free_all() {
        for (const auto& block : blocks)
            if (block.first != nullptr) memory.free(block.first, memory.user);
        blocks.clear();
    }
};

std::mutex g_mutex;
std::map<std::uint64_t, std::unique_ptr<Trace>>& traces() {
    static auto* map = new std::map<std::uint64_t, std::unique_ptr<Trace>>;
    return *map;
}
std::uint64_t g_next = 1;

std::uint64_t keep(std::unique_ptr<Trace> trace) {
    const std::lock_guard lock(g_mutex);
    traces().emplace(g_next, std::move(trace));
    note("created " + std::to_string(g_next));
    return g_next++;
}
Trace* find(Handle handle) {
    const std::lock_guard lock(g_mutex);
    const auto found = traces().find(handle.value);
    return found == traces().end() ? nullptr : found->second.get();
}

std::int32_t request(Trace& trace, std::uint64_t bytes, std::uint32_t flags, void** pointer) {
    const std::int32_t status =
        trace.memory.allocate(pointer, bytes, BufferFlags{flags}, trace.memory.user);
    note("allocate " + std::to_string(bytes) + " flags " + std::to_string(flags) + " -> " +
         std::to_string(status));
    if (status == kSuccess) trace.blocks.emplace_back(*pointer, bytes);
    return status;
}

void fill(AqlPacket& packet, const json& recorded, std::uint64_t va) {
    for (std::size_t i = 0; i < 16; ++i)
        packet.words[i] = static_cast<std::uint32_t>(number(recorded["aql"][i]));
    packet.words[2] = static_cast<std::uint32_t>(va);
    packet.words[3] = static_cast<std::uint32_t>(va >> 32);
    if (fault("odd_packet")) packet.words[5] = 11;
    if (fault("foreign_packet")) packet.words[3] += 1;
}

const json* packet_named(const json& recorded, const std::string& name) {
    for (const json& packet : recorded["packets"])
        if (packet["name"] == name) return &packet;
    return nullptr;
}

/// The recorded stream with moved addresses; empty: it is not understood.
std::vector<std::uint32_t> stream_of(const json& packet, const Moved& moved) {
    std::vector<std::uint32_t> words;
    for (const json& word : packet["ib"])
        words.push_back(static_cast<std::uint32_t>(number(word)));
    if (!relocate(words, moved)) words.clear();
    return words;
}

/// Start and stop, each in its place of the command memory.
std::int32_t write_commands(Trace& trace, ControlPackets& packets) {
    const std::pair<const char*, AqlPacket*> both[] = {{"start", &packets.start},
                                                       {"stop", &packets.stop}};
    for (const auto& [name, packet] : both) {
        const json* recorded = packet_named(trace.recorded, name);
        if (recorded == nullptr) return kError;
        const std::vector<std::uint32_t> words = stream_of(*recorded, trace.moved);
        if (words.empty()) return kError;
        const std::uint64_t at = trace.moved(number((*recorded)["ib_addr"]));
        void* to = reinterpret_cast<void*>(fault("wild_copy") ? at + (1ull << 40) : at);
        const std::int32_t status =
            trace.memory.copy(to, words.data(), words.size() * 4, trace.memory.user);
        if (status != kSuccess) return status;
        fill(*packet, *recorded, at);
    }
    return kSuccess;
}

std::int32_t make_requests(Trace& trace) {
    std::size_t request_number = 0;
    for (const json& wanted : trace.recorded["allocs"]) {
        const std::string kind = wanted["kind"];
        std::uint64_t bytes = number(wanted["size"]);
        std::uint32_t flags = static_cast<std::uint32_t>(number(wanted["flags"]));
        if (kind == "output" && fault("big_device")) bytes *= 2;
        if (kind == "cmd" && fault("big_host")) bytes = 1ull << 30;
        if (kind == "cmd" && fault("no_flags")) flags = 0;
        void* pointer = nullptr;
        if (kind == "cmd" && fault("extra_device")) {
            void* extra = nullptr;
            const std::int32_t status = request(trace, trace.output_bytes, 0x11, &extra);
            if (status != kSuccess) return status;
        }
        const std::int32_t status = request(trace, bytes, flags, &pointer);
        if (status != kSuccess) return status;
        trace.moved.add(number(wanted["addr"]), bytes, reinterpret_cast<std::uint64_t>(pointer));
        if (kind == "control") {
            trace.control = pointer;
            trace.control_bytes = bytes;
        } else if (kind == "output") {
            trace.outputs.push_back(reinterpret_cast<std::uint64_t>(pointer));
            trace.output_bytes = bytes;
        }
        ++request_number;
    }
    return request_number >= 3 ? kSuccess : kError;
}

std::uint32_t engines_of_chip() {
    return setting("WAVETAP_STANDIN_CHIP", "gfx90a") == "gfx90a" ? 8 : 32;
}

/// One engine's entry of the control block; its size is that of the recording.
struct Entry {
    std::uint32_t status = 0, wptr = 0, query_status = 0, query_wptr = 0;
};
Entry entry_of(const Trace& trace, std::uint32_t engine) {
    const std::uint64_t size = (trace.control_bytes - 0x100) / engines_of_chip();
    const auto* at = static_cast<const std::byte*>(trace.control) + engine * size;
    Entry entry;
    std::memcpy(&entry.status, at, 4);
    std::memcpy(&entry.wptr, at + 8, 4);
    if (size >= 40) {
        std::memcpy(&entry.query_status, at + 32, 4);
        std::memcpy(&entry.query_wptr, at + 36, 4);
    }
    return entry;
}

constexpr std::uint32_t kFullBit = 0x80000000, kWriteErrorBit = 0x10000000;

/// Of one selected engine: libraries of 2025 take a page off for each that is not.
std::uint64_t capacity_of(const Trace& trace) {
    const auto selected = static_cast<std::uint64_t>(__builtin_popcountll(trace.se_mask));
    const bool old = setting("WAVETAP_STANDIN_CASES", "aug25_").find("25") != std::string::npos;
    const std::uint64_t off = old ? (64 - selected) * 4096 : 0;
    return (trace.output_bytes - off) / selected / 4096 * 4096;
}
std::uint64_t start_of(const Trace& trace, std::uint32_t engine) {
    const bool old = setting("WAVETAP_STANDIN_CASES", "aug25_").find("25") != std::string::npos;
    std::uint64_t at = trace.outputs.front();
    for (std::uint32_t before = 0; before < engine; ++before) {
        if ((trace.se_mask >> before & 1) != 0)
            at += capacity_of(trace);
        else if (old)
            at += 4096;
    }
    return at;
}

std::uint64_t header_of(const Trace& trace, std::uint32_t engine, bool ring) {
    return 0x11ull | 4ull << 13 | 0xFull << 16 | std::uint64_t{trace.target_cu & 0x1f} << 20 |
           std::uint64_t{engine & 0x3f} << 26 | (ring ? 1ull << 32 : 0);
}

std::int32_t give_ring_data(Trace& trace, std::uint32_t engine, std::uint64_t bytes,
                            DataCallback callback, void* user) {
    const std::size_t count = trace.outputs.size();
    const std::uint64_t slot = fault("wrong_buffer") ? trace.swaps + 1 : trace.swaps;
    trace.swaps = 0;
    return callback(engine, reinterpret_cast<void*>(trace.outputs[slot % count]), bytes, user);
}

std::int32_t iterate(Trace& trace, DataCallback callback, void* user) {
    std::int32_t status = kSuccess;
    for (std::uint32_t engine = 0; engine < engines_of_chip(); ++engine) {
        if ((trace.se_mask >> engine & 1) == 0) continue;
        const Entry entry = entry_of(trace, engine);
        if ((entry.status & kWriteErrorBit) != 0) status = kException;
        if ((entry.status & kFullBit) != 0 && status == kSuccess) status = kOutOfResources;
        std::uint64_t bytes = std::uint64_t{entry.wptr & 0x3FFFFFFF} * 32;
        if (bytes >= capacity_of(trace)) {
            bytes = capacity_of(trace);
            if (status == kSuccess) status = kOutOfResources;
        }
        if (trace.outputs.size() > 1) {
            (void)give_ring_data(trace, engine, bytes, callback, user);
            return status;
        }
        if (fault("silent_engine")) continue;
        std::vector<std::byte> host(bytes + 8);
        const std::uint64_t header = header_of(trace, engine, false);
        std::memcpy(host.data(), &header, 8);
        const std::uint64_t shift = fault("wild_read") ? 1ull << 40 : 0;
        (void)trace.memory.copy(host.data() + 8,
                                reinterpret_cast<void*>(start_of(trace, engine) + shift), bytes,
                                trace.memory.user);
        (void)callback(engine, host.data(), bytes + (fault("wrong_size") ? 40 : 8), user);
    }
    trace.swaps = 0;
    return status;
}

} // namespace

#ifdef STANDIN_FOUR_NUMBERS
STANDIN_API std::int32_t aqlprofile_get_version(std::uint32_t* major, std::uint32_t* minor,
                                                std::uint32_t* patch, std::uint32_t* npi) {
    *major = STANDIN_MAJOR;
    *minor = *patch = *npi = 0;
    return kSuccess;
}
#else
STANDIN_API std::int32_t aqlprofile_get_version(Version* version) {
    if (version == nullptr) return kInvalidArgument;
    if (fault("version")) return kError;
    *version = {STANDIN_MAJOR, 0, 0};
    return kSuccess;
}
#endif

STANDIN_API std::int32_t aqlprofile_att_create_packets(Handle* handle, ControlPackets* packets,
                                                       Profile profile, AllocateCallback allocate,
                                                       FreeCallback free, CopyCallback copy,
                                                       void* user) {
    if (fault("create")) return kError;
    auto recorded = find_case(profile);
    if (!recorded) {
        std::string text = "no recording of";
        for (std::uint32_t i = 0; i < profile.parameter_count; ++i)
            text += " " + std::to_string(profile.parameters[i].name) + "=" +
                    std::to_string(profile.parameters[i].value);
        note(text);
        return kInvalidArgument;
    }
    auto trace = std::make_unique<Trace>();
    trace->memory = {allocate, free, copy, user};
    trace->recorded = std::move(*recorded);
    for (std::uint32_t i = 0; i < profile.parameter_count; ++i) {
        if (profile.parameters[i].name == kSeMask) trace->se_mask = profile.parameters[i].value;
        if (profile.parameters[i].name == kTargetCu) trace->target_cu = profile.parameters[i].value;
    }
    std::int32_t status = make_requests(*trace);
    if (status == kSuccess) status = write_commands(*trace, *packets);
    if (status != kSuccess) {
        if (!fault("leak_on_failure")) trace->free_all();
        return status;
    }
    handle->value = keep(std::move(trace));
    return fault("late_failure") ? kError : kSuccess;
}

STANDIN_API void aqlprofile_att_delete_packets(Handle handle) {
    std::unique_ptr<Trace> gone;
    {
        const std::lock_guard lock(g_mutex);
        const auto found = traces().find(handle.value);
        if (found == traces().end()) return;
        gone = std::move(found->second);
        traces().erase(found);
    }
    gone->free_all();
    note("deleted " + std::to_string(handle.value));
}

STANDIN_API std::int32_t aqlprofile_att_iterate_data(Handle handle, DataCallback callback,
                                                     void* user) {
    if (fault("iterate")) return kError;
    Trace* trace = find(handle);
    return trace == nullptr ? static_cast<std::int32_t>(kInvalidArgument)
                            : iterate(*trace, callback, user);
}

#ifndef STANDIN_NO_MARKER
STANDIN_API std::int32_t aqlprofile_att_codeobj_marker(AqlPacket* packet, Handle* handle,
                                                       CodeObjectData data,
                                                       AllocateCallback allocate, FreeCallback free,
                                                       void* user) {
    if (fault("marker")) return kError;
    const bool unload = (data.flags & 1) != 0, big = data.id >= 1ull << 30;
    const json recorded = read(folder() / (unload ? "aug25_marker_unload.json"
                                           : big  ? "aug25_marker_load_bigid.json"
                                                  : "aug25_marker_load.json"));
    const json* marker = recorded.is_object() ? packet_named(recorded, "marker") : nullptr;
    if (marker == nullptr || (unload && big)) return kError;
    std::vector<std::uint32_t> words = stream_of(*marker, {});
    // Each payload is the last word of its nine: address, size (of a load), id (a large one), tail.
    std::vector<std::uint32_t> payload;
    if (!unload)
        for (const std::uint64_t value : {data.address, data.size}) {
            payload.push_back(static_cast<std::uint32_t>(value));
            payload.push_back(static_cast<std::uint32_t>(value >> 32));
        }
    if (big) {
        payload.push_back(static_cast<std::uint32_t>(data.id));
        payload.push_back(static_cast<std::uint32_t>(data.id >> 32));
    }
    payload.push_back((data.flags & 3) | (big ? 0 : static_cast<std::uint32_t>(data.id) << 2));
    if (words.size() != payload.size() * 9) return kError;
    for (std::size_t i = 0; i < payload.size(); ++i)
        words[i * 9 + 8] = payload[i];
    auto trace = std::make_unique<Trace>();
    trace->memory = {allocate, free, nullptr, user};
    void* memory = nullptr;
    const std::uint64_t bytes =
        fault("big_marker") ? 1ull << 20 : (words.size() * 4 + 255) / 256 * 256;
    const std::int32_t status = request(*trace, bytes, 0x13, &memory);
    if (status != kSuccess) return status;
    std::memcpy(memory, words.data(), words.size() * 4);
    fill(*packet, *marker, reinterpret_cast<std::uint64_t>(memory));
    handle->value = keep(std::move(trace));
    return kSuccess;
}
#endif

#ifdef STANDIN_RINGS
STANDIN_API std::int32_t aqlprofile_att_get_buffer_packets(std::uint64_t* header, AqlPacket* query,
                                                           AqlPacket** swaps, std::uint64_t* count,
                                                           Handle handle, int engine, int flags) {
    if (fault("buffer_packets")) return kError;
    Trace* trace = find(handle);
    if (trace == nullptr || flags != 0 || trace->outputs.size() < 2) return kInvalidArgument;
    std::uint64_t made = 0;
    const auto write = [&](const json& recorded, AqlPacket& packet) -> std::int32_t {
        const std::vector<std::uint32_t> words = stream_of(recorded, trace->moved);
        if (words.empty()) return kError;
        void* memory = nullptr;
        const std::int32_t status =
            request(*trace, (words.size() * 4 + 255) / 256 * 256, 0x13, &memory);
        if (status != kSuccess) return status;
        std::memcpy(memory, words.data(), words.size() * 4);
        fill(packet, recorded, reinterpret_cast<std::uint64_t>(memory));
        return kSuccess;
    };
    while (const json* swap = packet_named(trace->recorded, "swap" + std::to_string(made))) {
        if (made == *count) return kOutOfResources;
        if (const std::int32_t status = write(*swap, *swaps[made]); status != kSuccess)
            return status;
        ++made;
    }
    const json* recorded = packet_named(trace->recorded, "query_status");
    if (recorded == nullptr) return kError;
    *count = fault("odd_swaps") ? 2 : made;
    *header = header_of(*trace, static_cast<std::uint32_t>(engine), true);
    return write(*recorded, *query);
}

STANDIN_API std::int32_t aqlprofile_att_update_buffer_status(BufferStatus* status, Handle handle,
                                                             int engine, int) {
    if (fault("buffer_status")) return kError;
    Trace* trace = find(handle);
    if (trace == nullptr || status->struct_bytes < 40) return kInvalidArgument;
    const Entry entry = entry_of(*trace, static_cast<std::uint32_t>(engine));
    status->too_late = status->error = false;
    status->needs_swap = (entry.query_status & kFullBit) != 0;
    if (!status->needs_swap) return kSuccess;
    status->read_bytes = capacity_of(*trace);
    status->swaps = trace->swaps++;
    status->data = reinterpret_cast<void*>(
        trace->outputs[(status->swaps + (fault("wrong_order") ? 1 : 0)) % trace->outputs.size()]);
    status->read_offset = 2 * (entry.query_wptr >> 30);
    return kSuccess;
}
#endif

// As the library's own destructors do: what was not deleted is given back when the process ends.
__attribute__((destructor)) void give_back_at_the_end() {
    auto* all = &traces();
    for (auto& [handle, trace] : *all)
        trace->free_all();
    delete all;
}

/// For tests: handles that were not deleted.
STANDIN_API std::uint64_t wavetap_standin_live() {
    const std::lock_guard lock(g_mutex);
    return traces().size();
}
