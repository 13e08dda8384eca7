// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/fake_backend.hpp"

#include "base/mutex.hpp"
#include "pm4/packets.hpp"

#include <cstring>

namespace wavetap::capture {

namespace {

Error injected(const char* what) {
    return Error{ErrorCode::kUnavailable, std::string("injected failure of ") + what, "", ""};
}

Result<void> never(TimePoint deadline) {
    Mutex mutex;
    CondVar condition;
    MutexLock lock(mutex);
    condition.wait_until(mutex, deadline, [] { return false; });
    return Error{ErrorCode::kTimeout, "the GPU did not answer", "", ""};
}

} // namespace

FakeBackend::~FakeBackend() {
    if (queue_) --gpu_.queues;
}

Result<void> FakeBackend::create_queue() {
    if (gpu_.fails(FakeGpu::kCreateQueue)) return injected("queue create");
    if (queue_) return Error{ErrorCode::kInternal, "two queues", "", ""};
    queue_ = true;
    hung_ = false;
    ++gpu_.queues;
    return {};
}

Result<void> FakeBackend::destroy_queue() {
    if (gpu_.fails(FakeGpu::kDestroyQueue)) return injected("queue destroy");
    if (!queue_) return Error{ErrorCode::kInternal, "no queue", "", ""};
    queue_ = false;
    --gpu_.queues;
    return {};
}

Result<DeviceMemory> FakeBackend::allocate_device(std::uint64_t bytes) {
    if (gpu_.fails(FakeGpu::kDevice)) return injected("device allocation");
    if (gpu_.device_bytes.load() + static_cast<std::int64_t>(bytes) > gpu_.device_limit.load())
        return Error{ErrorCode::kLimit, "out of device memory", "", ""};
    DeviceMemory memory{next_va_, bytes, bytes + 8192, 0};
    next_va_ += (bytes + 0x10000) / 4096 * 4096;
    device_[memory.va] = bytes;
    ++gpu_.device_blocks;
    gpu_.device_bytes += static_cast<std::int64_t>(bytes);
    return memory;
}

Result<HostMemory> FakeBackend::allocate_host(std::uint64_t bytes) {
    if (gpu_.fails(FakeGpu::kHost)) return injected("host allocation");
    HostBlock block{std::make_unique<std::byte[]>(bytes + 4096), bytes};
    const auto begin = reinterpret_cast<std::uint64_t>(block.bytes.get());
    HostMemory memory{nullptr, (begin + 4095) / 4096 * 4096, bytes, 0};
    memory.host = reinterpret_cast<std::byte*>(memory.va);
    host_.emplace(memory.va, std::move(block));
    ++gpu_.host_blocks;
    return memory;
}

void FakeBackend::free_device(const DeviceMemory& memory) {
    if (gpu_.armed) ++gpu_.freed_while_armed;
    gpu_.device_bytes -= static_cast<std::int64_t>(device_.at(memory.va));
    device_.erase(memory.va);
    --gpu_.device_blocks;
}

void FakeBackend::free_host(const HostMemory& memory) {
    host_.erase(memory.va);
    --gpu_.host_blocks;
}

Result<Ticket> FakeBackend::submit(std::span<const CommandBuffer> buffers, TimePoint) {
    if (gpu_.fails(FakeGpu::kSubmit)) return injected("submit");
    if (!queue_) return Error{ErrorCode::kInternal, "submit without a queue", "", ""};
    if (gpu_.hang) hung_ = true;
    if (!hung_)
        for (const CommandBuffer& buffer : buffers)
            WAVETAP_CHECK_OK(execute(buffer));
    return Ticket{next_ticket_++};
}

Result<void> FakeBackend::wait(Ticket, TimePoint deadline) {
    if (gpu_.fails(FakeGpu::kWait)) return injected("wait");
    if (hung_) return never(deadline);
    return {};
}

Result<void> FakeBackend::copy_to_host(const HostMemory& to, std::uint64_t offset,
                                       std::uint64_t from_va, std::uint64_t bytes,
                                       TimePoint deadline) {
    if (gpu_.fails(FakeGpu::kCopy)) return injected("copy");
    if (gpu_.hang_copies) return never(deadline);
    auto block = device_.upper_bound(from_va);
    if (block == device_.begin() || offset + bytes > to.bytes)
        return Error{ErrorCode::kInternal, "copy out of bounds", "", ""};
    --block;
    if (from_va + bytes > block->first + block->second)
        return Error{ErrorCode::kInternal, "copy out of bounds", "", ""};
    // Byte i of a device block is a function of its offset.
    for (std::uint64_t i = 0; i < bytes; ++i)
        to.host[offset + i] = static_cast<std::byte>((from_va + i - block->first) * 131 >> 3);
    return {};
}

std::byte* FakeBackend::host_at(std::uint64_t va, std::uint64_t bytes) {
    auto block = host_.upper_bound(va);
    if (block == host_.begin()) return nullptr;
    --block;
    if (va + bytes > block->first + block->second.size) return nullptr;
    return reinterpret_cast<std::byte*>(va);
}

Result<void> FakeBackend::execute(const CommandBuffer& buffer) {
    const std::byte* code = host_at(buffer.va, buffer.dwords * 4ull);
    if (code == nullptr) return Error{ErrorCode::kInternal, "command memory is gone", "", ""};
    std::vector<std::uint32_t> words(buffer.dwords);
    std::memcpy(words.data(), code, buffer.dwords * 4ull);
    pm4::Parser parser(words);
    for (;;) {
        WAVETAP_TRY(const auto packet, parser.next());
        if (!packet) return {};
        if (packet->opcode == pm4::Opcode::kSetUconfigReg) {
            const std::uint32_t reg = pm4::kUconfigBase + (packet->body[0] & 0xffff);
            if (reg == pm4::gfx9::kSqThreadTraceUserdata2) ++gpu_.user_data_words;
            if (reg == pm4::gfx9::kSqThreadTraceMode)
                gpu_.armed = !gpu_.stays_off && (packet->body[1] >> 21 & 3) != 0;
        }
        if (packet->opcode != pm4::Opcode::kCopyData || (packet->body[0] & 0xf) != 0) continue;
        const std::uint32_t reg = packet->body[1] & 0x3ffff;
        const std::uint64_t to = packet->body[3] | std::uint64_t{packet->body[4]} << 32;
        std::uint32_t value = 0;
        if (reg == pm4::gfx9::kSqThreadTraceWptr) value = gpu_.wptr;
        if (reg == pm4::gfx9::kSqThreadTraceStatus)
            value = gpu_.status | (gpu_.armed ? 1u << 30 : 0u); // BUSY
        std::byte* target = host_at(to, 4);
        if (target == nullptr) return Error{ErrorCode::kInternal, "control memory is gone", "", ""};
        std::memcpy(target, &value, 4);
    }
}

} // namespace wavetap::capture
