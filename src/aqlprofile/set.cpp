// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile/set.hpp"

#include "base/mutex.hpp"
#include "pm4/packets.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace wavetap::aqlprofile {

namespace {

constexpr const char* kAllocating = "aqlprofile's request for memory";
constexpr const char* kCopying = "aqlprofile's copy";
constexpr const char* kReading = "aqlprofile's data";
constexpr std::uint64_t kHeaderBytes = 8;
constexpr std::uint64_t kPage = 4096;

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

Error unsupported(std::string message, const char* where) {
    return Error{ErrorCode::kUnsupported, std::move(message), where, kOwnPacketsHint};
}

} // namespace

Result<void> outcome_of(std::int32_t status, const char* call,
                        const std::optional<Error>& failure) {
    if (failure) return *failure;
    if (status == kSuccess) return {};
    ErrorCode code = ErrorCode::kUnavailable;
    if (status == kInvalidArgument) code = ErrorCode::kInvalidArgument;
    if (status == kOutOfResources) code = ErrorCode::kLimit;
    return Error{code, "aqlprofile answered " + status_text(status), call,
                 std::string("change the trace's parameters, or ") + kOwnPacketsHint};
}

Result<capture::CommandBuffer> parse_packet(const AqlPacket& packet) {
    constexpr std::uint32_t kPolicyShift = 28;
    const std::uint32_t control = packet.words[4];
    capture::CommandBuffer buffer;
    buffer.va = packet.words[2] | std::uint64_t{packet.words[3]} << 32;
    buffer.dwords = control & 0xFFFFF;
    buffer.cache_policy = static_cast<std::int8_t>(control >> kPolicyShift & 3);
    std::uint32_t expected[16];
    pm4::fill_vendor_packet(expected, buffer.va, buffer.dwords,
                            static_cast<std::uint32_t>(buffer.cache_policy));
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        if (packet.words[i] == expected[i]) continue;
        char words[64];
        (void)std::snprintf(words, sizeof words, "word %zu is %#x, not %#x", i, packet.words[i],
                            expected[i]);
        return unsupported(std::string("aqlprofile made a packet of a form that is not known: ") +
                               words,
                           "AQL packet");
    }
    if (buffer.dwords == 0) return unsupported("aqlprofile made an empty packet", "AQL packet");
    return buffer;
}

void Packets::Set::drop() {
    if (made) library->delete_packets(handle);
    made = false;
    for (const capture::HostMemory& memory : host)
        backend->free_host(memory);
    host.clear();
}

void keep_for_ever(std::unique_ptr<Packets::Set> set) {
    static auto* mutex = new Mutex;
    static auto* kept = new std::vector<std::unique_ptr<Packets::Set>>;
    set->backend = nullptr;
    set->made = false;
    set->host.clear();
    MutexLock lock(*mutex);
    kept->push_back(std::move(set));
}

std::uint64_t Packets::Set::host_bytes() const {
    std::uint64_t sum = 0;
    for (const capture::HostMemory& memory : host)
        sum += memory.bytes;
    return sum;
}

std::int32_t Packets::Set::fail(Error error) {
    const std::int32_t status = error.code == ErrorCode::kLimit ? kOutOfResources : kError;
    if (!failure) failure = std::move(error);
    return status;
}

Result<void> Packets::Set::outcome(std::int32_t status, const char* call) {
    auto result = outcome_of(status, call, failure);
    failure.reset();
    return result;
}

bool Packets::Set::in_slot(std::uint64_t va, std::uint64_t bytes) const {
    for (std::size_t i = 0; i < slots.count; ++i) {
        const std::uint64_t room = std::min(slots.slots[i].bytes, config.buffer_bytes);
        if (va >= slots.va(i) && va - slots.va(i) <= room && bytes <= room - (va - slots.va(i)))
            return true;
    }
    return false;
}

bool Packets::Set::in_host(std::uint64_t va, std::uint64_t bytes) const {
    return std::any_of(host.begin(), host.end(), [&](const capture::HostMemory& memory) {
        return va >= memory.va && va - memory.va <= memory.bytes &&
               bytes <= memory.bytes - (va - memory.va);
    });
}

Result<capture::CommandBuffer> Packets::Set::command_of(const AqlPacket& packet) const {
    WAVETAP_TRY(const capture::CommandBuffer buffer, parse_packet(packet));
    if (!in_host(buffer.va, buffer.dwords * 4ull))
        return unsupported("aqlprofile's packet runs memory that it did not ask for", "AQL packet");
    return buffer;
}

std::int32_t Packets::Set::give_host(void** pointer, std::uint64_t bytes) {
    if (bytes == 0 || bytes > kMostHostBytes || host_bytes() > kMostHostBytes - bytes)
        return fail({ErrorCode::kLimit,
                     "aqlprofile asks for " + std::to_string(bytes) + " bytes of host memory; " +
                         std::to_string(kMostHostBytes) + " in all are the most for one trace",
                     kAllocating, kOwnPacketsHint});
    host.reserve(host.size() + 1);
    auto memory = backend->allocate_host((bytes + kPage - 1) / kPage * kPage);
    if (!memory) {
        memory.error().where = kAllocating;
        return fail(std::move(memory.error()));
    }
    if (memory->va != address(memory->host)) {
        backend->free_host(*memory);
        return fail(unsupported("host memory has another address on the GPU here", kAllocating));
    }
    std::memset(memory->host, 0, memory->bytes);
    host.push_back(*memory);
    *pointer = memory->host;
    return kSuccess;
}

std::int32_t Packets::Set::give(void** pointer, std::uint64_t bytes, BufferFlags flags) {
    if (flags.host()) return give_host(pointer, bytes);
    if (!flags.device())
        return fail(
            unsupported("aqlprofile asks for memory that neither side may use", kAllocating));
    const std::uint32_t slot = device_requests++;
    if (slot >= slots.count)
        return fail(unsupported("aqlprofile asks for output slot " + std::to_string(slot + 1) +
                                    " of a trace with " + std::to_string(slots.count),
                                kAllocating));
    if (bytes > slots.slots[slot].bytes)
        return fail({ErrorCode::kLimit,
                     "aqlprofile asks for " + std::to_string(bytes) + " bytes of output slot " +
                         std::to_string(slot) + ", which has " +
                         std::to_string(slots.slots[slot].bytes),
                     kAllocating, kOwnPacketsHint});
    *pointer = reinterpret_cast<void*>(slots.va(slot));
    return kSuccess;
}

std::int32_t Packets::Set::copy_bytes(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return kSuccess;
    if (reading && in_slot(address(from), bytes)) {
        // The hub fetches them itself, piece by piece and with a deadline.
        pieces.push_back({address(from), bytes});
        return kSuccess;
    }
    const bool from_host = !in_slot(address(from), 1);
    if (reading || !from_host || !in_host(address(to), bytes))
        return fail(unsupported("aqlprofile copies " + std::to_string(bytes) +
                                    " bytes from or to memory that it did not ask for",
                                kCopying));
    std::memcpy(to, from, bytes);
    return kSuccess;
}

void Packets::Set::begin_reading(bool with_header) {
    pieces.clear();
    parts.clear();
    next_piece = 0;
    headed = with_header && slots.count == 1;
    reading = true;
}

std::int32_t Packets::Set::take(std::uint32_t engine, const void* bytes, std::uint64_t count) {
    Part part;
    part.engine = engine;
    if (slots.count > 1) { // a ring: its data are where the hardware wrote them
        part.va = address(bytes);
        part.bytes = count;
        if (!in_slot(part.va, count))
            return fail(unsupported("aqlprofile's data are not in an output slot", kReading));
        parts.push_back(part);
        return kSuccess;
    }
    if (headed) {
        if (bytes == nullptr || count < kHeaderBytes)
            return fail(unsupported("aqlprofile's data have no header", kReading));
        std::memcpy(&part.header, bytes, kHeaderBytes);
    }
    part.bytes = count - (headed ? kHeaderBytes : 0);
    if (part.bytes != 0) {
        if (next_piece >= pieces.size() || pieces[next_piece].bytes != part.bytes)
            return fail(unsupported("aqlprofile gives " + std::to_string(part.bytes) +
                                        " bytes that it did not copy",
                                    kReading));
        part.va = pieces[next_piece++].va;
    }
    parts.push_back(part);
    return kSuccess;
}

// The library is C: nothing may be thrown through it.

std::int32_t Packets::Set::allocate(void** pointer, std::uint64_t bytes, BufferFlags flags,
                                    void* user) noexcept try {
    auto* set = static_cast<Set*>(user);
    if (set == nullptr || set->backend == nullptr || pointer == nullptr) return kError;
    *pointer = nullptr;
    return set->give(pointer, bytes, flags);
} catch (...) {
    return kError;
}

void Packets::Set::free(void* pointer, void* user) noexcept {
    auto* set = static_cast<Set*>(user);
    if (set == nullptr || set->backend == nullptr) return;
    const auto found =
        std::find_if(set->host.begin(), set->host.end(), [&](const capture::HostMemory& memory) {
            return memory.va == address(pointer);
        });
    if (found == set->host.end()) return; // an output slot
    set->backend->free_host(*found);
    set->host.erase(found);
}

std::int32_t Packets::Set::copy(void* to, const void* from, std::size_t bytes, void* user) noexcept
    try {
    auto* set = static_cast<Set*>(user);
    if (set == nullptr || set->backend == nullptr) return kError;
    return set->copy_bytes(to, from, bytes);
} catch (...) {
    return kError;
}

std::int32_t Packets::Set::data(std::uint32_t engine, void* bytes, std::uint64_t count,
                                void* user) noexcept try {
    auto* set = static_cast<Set*>(user);
    if (set == nullptr || set->backend == nullptr) return kError;
    return set->take(engine, bytes, count);
} catch (...) {
    return kError;
}

std::int32_t Packets::Scratch::allocate(void** pointer, std::uint64_t bytes, BufferFlags flags,
                                        void* user) noexcept try {
    auto* scratch = static_cast<Scratch*>(user);
    if (scratch == nullptr || pointer == nullptr) return kError;
    *pointer = nullptr;
    if (flags.host() && bytes != 0 && bytes <= kBytes - scratch->used) {
        *pointer = scratch->memory.data() + scratch->used;
        scratch->used += (bytes + 255) / 256 * 256;
        scratch->used = std::min(scratch->used, kBytes);
        return kSuccess;
    }
    scratch->failure = Error{ErrorCode::kLimit,
                             "aqlprofile asks for " + std::to_string(bytes) +
                                 " bytes for a code-object marker; the most are " +
                                 std::to_string(kBytes) + " that the host sees",
                             kAllocating, kOwnPacketsHint};
    return kOutOfResources;
} catch (...) {
    return kError;
}

void Packets::Scratch::free(void*, void*) noexcept {}

Result<void> Packets::Scratch::append(const AqlPacket& packet,
                                      std::vector<std::uint32_t>& words) const {
    WAVETAP_TRY(const capture::CommandBuffer buffer, parse_packet(packet));
    const std::uint64_t begin = address(memory.data());
    if (buffer.va < begin || buffer.va + buffer.dwords * 4ull > begin + kBytes)
        return unsupported("aqlprofile's packet runs memory that it did not ask for", "AQL packet");
    const std::size_t old = words.size();
    words.resize(old + buffer.dwords);
    std::memcpy(words.data() + old, memory.data() + (buffer.va - begin), buffer.dwords * 4ull);
    return {};
}

} // namespace wavetap::aqlprofile
