// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "stream_gpu.hpp"

#include "base/mutex.hpp"
#include "pm4/packets.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace wavetap::test {

namespace gfx9 = pm4::gfx9;

namespace {

constexpr std::uint32_t kArmedBit = 1U << 21;

Result<void> never(TimePoint deadline) {
    Mutex mutex;
    CondVar condition;
    MutexLock lock(mutex);
    condition.wait_until(mutex, deadline, [] { return false; });
    return Error{ErrorCode::kTimeout, "the GPU did not answer", "", ""};
}

Error injected(const char* what) {
    return Error{ErrorCode::kUnavailable, std::string("injected failure of ") + what, "", ""};
}

} // namespace

void StreamGpu::advance(double nanoseconds) {
    ns += nanoseconds;
    if (!any_armed()) disarmed_ns += nanoseconds;
    const auto now = static_cast<std::uint64_t>(ns * 1.7);
    for (std::uint32_t se = 0; se < kEngines; ++se) {
        if (!units[se]->armed()) continue;
        due_bytes[se] += rate * nanoseconds;
        while (due_bytes[se] >= static_cast<double>(kTokenBytes)) {
            due_bytes[se] -= static_cast<double>(kTokenBytes);
            if (next_token[se] * kTokenBytes >= most_bytes.load()) continue;
            units[se]->user_data(now, {1, 0, 0}, next_token[se]++);
        }
    }
}

std::uint64_t StreamGpu::produced() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t tokens : next_token)
        sum += tokens;
    return sum;
}

bool StreamGpu::any_armed() const {
    return std::any_of(units.begin(), units.end(), [](const auto& unit) { return unit->armed(); });
}

Result<void> StreamBackend::create_queue() {
    if (gpu_.fails()) return injected("queue create");
    if (queue_) return Error{ErrorCode::kInternal, "two queues", "", ""};
    queue_ = true;
    hung_ = false;
    forgiven_.fill(true);
    ++gpu_.queues;
    return {};
}

Result<void> StreamBackend::destroy_queue() {
    if (!queue_) return Error{ErrorCode::kInternal, "no queue", "", ""};
    queue_ = false;
    --gpu_.queues;
    return {};
}

Result<capture::DeviceMemory> StreamBackend::allocate_device(std::uint64_t bytes) {
    if (gpu_.fails()) return injected("device allocation");
    capture::DeviceMemory memory{next_va_, bytes, bytes + 8192, 0};
    next_va_ += (bytes + 0x200000) / 4096 * 4096;
    // Large, and mostly never touched.
    void* host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED) return Error{ErrorCode::kLimit, "no address space", "", ""};
    memory.cookie = reinterpret_cast<std::uint64_t>(host);
    gpu_.space.lend(memory.va, static_cast<std::byte*>(host), bytes);
    ++gpu_.blocks;
    return memory;
}

Result<capture::HostMemory> StreamBackend::allocate_host(std::uint64_t bytes) {
    if (gpu_.fails()) return injected("host allocation");
    // At one address on both sides, as AMD's systems have it.
    void* host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED) return Error{ErrorCode::kLimit, "no address space", "", ""};
    capture::HostMemory memory{static_cast<std::byte*>(host), reinterpret_cast<std::uint64_t>(host),
                               bytes, 0};
    gpu_.space.lend(memory.va, memory.host, bytes);
    ++gpu_.blocks;
    return memory;
}

void StreamBackend::free_device(const capture::DeviceMemory& memory) {
    if (gpu_.any_armed()) ++gpu_.freed_in_use;
    gpu_.space.unmap(memory.va);
    ::munmap(reinterpret_cast<void*>(memory.cookie), memory.bytes);
    --gpu_.blocks;
}

void StreamBackend::free_host(const capture::HostMemory& memory) {
    if (in_use_.count(memory.va) != 0) ++gpu_.freed_in_use;
    gpu_.space.unmap(memory.va);
    ::munmap(memory.host, memory.bytes);
    --gpu_.blocks;
}

std::vector<std::uint32_t> StreamBackend::words_of(const capture::CommandBuffer& buffer) {
    std::vector<std::uint32_t> words(buffer.dwords);
    const std::byte* code = gpu_.memory.at(buffer.va, buffer.dwords * 4ull, softgpu::Access::kRead);
    if (code == nullptr) return {};
    std::memcpy(words.data(), code, buffer.dwords * 4ull);
    return words;
}

// By what only one kind of stream does.
std::uint32_t StreamBackend::kind_of(const std::vector<std::uint32_t>& words) const {
    bool mode = false, on = false, base = false, user_data = false;
    pm4::Parser parser(words);
    for (auto packet = parser.next(); packet && *packet; packet = parser.next()) {
        const pm4::Packet& p = **packet;
        if (p.opcode != pm4::Opcode::kSetUconfigReg) continue;
        const std::uint32_t reg = pm4::kUconfigBase + (p.body[0] & 0xffff);
        mode = mode || reg == gfx9::kSqThreadTraceMode;
        on = on || (reg == gfx9::kSqThreadTraceMode && (p.body[1] & kArmedBit) != 0);
        base = base || reg == gfx9::kSqThreadTraceBase;
        user_data = user_data || reg == gfx9::kSqThreadTraceUserdata2;
    }
    if (on) return StreamGpu::kStart;
    if (mode) return StreamGpu::kStop;
    if (base) return StreamGpu::kSwap;
    if (user_data) return 0;
    return StreamGpu::kQuery;
}

std::uint32_t StreamBackend::read(std::uint32_t reg) const {
    const std::uint32_t se = grbm_ >> 16 & 0xff;
    if (se >= StreamGpu::kEngines || !softgpu::ThreadTraceUnit::owns(reg)) return 0;
    return gpu_.units[se]->read_register(reg, clocks());
}

bool StreamBackend::breaks(std::uint32_t se) {
    if (!gpu_.breaks_after_overflow) return false;
    const bool dropped = gpu_.units[se]->read_register(gfx9::kSqThreadTraceCntr, clocks()) != 0;
    if (!dropped) forgiven_[se] = false; // a start has set the counter back
    return dropped && !forgiven_[se];
}

Result<void> StreamBackend::execute(const std::vector<std::uint32_t>& words) {
    pm4::Parser parser(words);
    for (;;) {
        WAVETAP_TRY(const auto packet, parser.next());
        if (!packet) return {};
        gpu_.advance(gpu_.packet_ns);
        if (packet->opcode == pm4::Opcode::kSetUconfigReg) {
            const std::uint32_t reg = pm4::kUconfigBase + (packet->body[0] & 0xffff);
            if (reg == gfx9::kGrbmGfxIndex) grbm_ = packet->body[1];
            if (reg == gfx9::kSqThreadTraceUserdata2) gpu_.markers.push_back(packet->body[1]);
            if (!softgpu::ThreadTraceUnit::owns(reg)) continue;
            for (std::uint32_t se = 0; se < StreamGpu::kEngines; ++se) {
                if (grbm_ != gfx9::kGrbmBroadcast && (grbm_ >> 16 & 0xff) != se) continue;
                hung_ = hung_ || breaks(se);
                if (hung_) return {};
                WAVETAP_CHECK_OK(gpu_.units[se]->write_register(reg, packet->body[1], clocks()));
            }
        }
        if (packet->opcode != pm4::Opcode::kCopyData || (packet->body[0] & 0xf) != 0) continue;
        const std::uint64_t to = packet->body[3] | std::uint64_t{packet->body[4]} << 32;
        if (!gpu_.memory.write(to, read(packet->body[1] & 0x3ffff)))
            return Error{ErrorCode::kInternal, "control memory is gone", "", ""};
    }
}

Result<capture::Ticket> StreamBackend::submit(std::span<const capture::CommandBuffer> buffers,
                                              TimePoint) {
    if (gpu_.fails()) return injected("submit");
    if (!queue_) return Error{ErrorCode::kInternal, "submit without a queue", "", ""};
    ++gpu_.submissions;
    gpu_.advance(gpu_.round_trip_ns / 2);
    for (const capture::CommandBuffer& buffer : buffers) {
        const auto words = words_of(buffer);
        if (words.empty()) return Error{ErrorCode::kInternal, "command memory is gone", "", ""};
        const std::uint32_t kind = kind_of(words);
        if (kind == StreamGpu::kStop) gpu_.stops.add_one();
        if ((gpu_.hang.load() & kind) != 0) hung_ = true;
        if (!hung_) WAVETAP_CHECK_OK(execute(words));
    }
    gpu_.advance(gpu_.round_trip_ns / 2);
    return capture::Ticket{next_ticket_++};
}

Result<void> StreamBackend::wait(capture::Ticket, TimePoint deadline) {
    if (gpu_.fails()) return injected("wait");
    return hung_ ? never(deadline) : Result<void>();
}

Result<void> StreamBackend::copy_to_host(const capture::HostMemory& to, std::uint64_t offset,
                                         std::uint64_t from_va, std::uint64_t bytes,
                                         TimePoint deadline) {
    if (gpu_.fails()) return injected("copy");
    ++gpu_.copies;
    if ((gpu_.hang.load() & StreamGpu::kCopy) != 0) {
        in_use_.insert(to.va);
        return never(deadline);
    }
    // In pieces, since the units go on meanwhile: a copy of what they write would show.
    constexpr std::uint64_t kPiece = 64 * 1024;
    gpu_.advance(gpu_.copy_start_ns);
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t size = std::min(kPiece, bytes - done);
        const std::byte* from = gpu_.memory.at(from_va + done, size, softgpu::Access::kRead);
        if (from == nullptr || offset + done + size > to.bytes)
            return Error{ErrorCode::kInternal, "copy out of bounds", "", ""};
        std::memcpy(to.host + offset + done, from, size);
        gpu_.advance(static_cast<double>(size) / gpu_.copy_rate);
        done += size;
    }
    gpu_.copied_bytes += bytes;
    return {};
}

} // namespace wavetap::test
