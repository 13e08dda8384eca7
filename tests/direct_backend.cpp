// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "direct_backend.hpp"

#include "pm4/thread_trace.hpp"

#include <atomic>
#include <chrono>

namespace wavetap::test {

namespace {

constexpr std::uint64_t kFirstMapping = 0x7f5000000000;
std::atomic<std::uint64_t> g_next_mapping{kFirstMapping};

} // namespace

LiveChip::~LiveChip() {
    engine_.request_stop();
    with([](softgpu::Rig&) {});
}

void LiveChip::run(std::stop_token token) {
    while (!token.stop_requested()) {
        MutexLock lock(mutex_);
        awake_ = false;
        const auto progress = rig_.chip->step(2000);
        changed_.notify_all();
        if (progress == softgpu::Chip::Progress::kRunning) continue;
        const auto limit = progress == softgpu::Chip::Progress::kPolling
                               ? std::chrono::milliseconds(1)
                               : std::chrono::milliseconds(20);
        changed_.wait_until(
            mutex_, std::chrono::steady_clock::now() + limit,
            [&]() WAVETAP_REQUIRES(mutex_) { return awake_ || token.stop_requested(); });
    }
}

DirectBackend::~DirectBackend() {
    (void)destroy_queue();
}

Result<void> DirectBackend::create_queue() {
    queue_ = chip_.with([](softgpu::Rig& rig) { return rig.add_queue(99); });
    taken_ = {};
    return {};
}

Result<void> DirectBackend::destroy_queue() {
    if (!queue_) return {};
    const softgpu::QueueId id = queue_->id;
    chip_.with([id](softgpu::Rig& rig) { rig.chip->destroy_queue(id); });
    queue_.reset();
    return {};
}

std::uint64_t DirectBackend::map(std::uint64_t bytes, std::byte** host) {
    const std::uint64_t va = g_next_mapping.fetch_add((bytes + 0x11000) / 4096 * 4096);
    std::byte* at = chip_.with([va, bytes](softgpu::Rig& rig) { return rig.space.map(va, bytes); });
    if (host != nullptr) *host = at;
    return va;
}

Result<capture::DeviceMemory> DirectBackend::allocate_device(std::uint64_t bytes) {
    return capture::DeviceMemory{map(bytes, nullptr), bytes, bytes, 0};
}

Result<capture::HostMemory> DirectBackend::allocate_host(std::uint64_t bytes) {
    capture::HostMemory memory;
    memory.bytes = bytes;
    memory.va = map(bytes, &memory.host);
    return memory;
}

void DirectBackend::free_device(const capture::DeviceMemory& memory) {
    chip_.with([&](softgpu::Rig& rig) { rig.space.unmap(memory.va); });
}

void DirectBackend::free_host(const capture::HostMemory& memory) {
    chip_.with([&](softgpu::Rig& rig) { rig.space.unmap(memory.va); });
}

Result<capture::Ticket> DirectBackend::submit(std::span<const capture::CommandBuffer> buffers,
                                              TimePoint) {
    std::size_t slot = 0;
    while (slot < taken_.size() && taken_[slot])
        ++slot;
    if (!queue_ || slot == taken_.size())
        return Error{ErrorCode::kTimeout, "the queue does not answer", "", ""};
    taken_[slot] = true;
    chip_.with([&](softgpu::Rig& rig) {
        if (signals_[slot] == 0) signals_[slot] = rig.add_signal(1);
        rig.write(signals_[slot] + 8, std::int64_t{1});
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            std::uint32_t words[16];
            pm4::fill_vendor_packet(words, buffers[i].va, buffers[i].dwords);
            std::array<std::uint32_t, 16> packet;
            std::copy(std::begin(words), std::end(words), packet.begin());
            packet[0] |= 0x100;
            const std::uint64_t signal = i + 1 == buffers.size() ? signals_[slot] : 0;
            packet[14] = static_cast<std::uint32_t>(signal);
            packet[15] = static_cast<std::uint32_t>(signal >> 32);
            rig.submit(*queue_, packet);
        }
    });
    return capture::Ticket{slot};
}

Result<void> DirectBackend::wait(capture::Ticket ticket, TimePoint deadline) {
    const std::uint64_t signal = signals_[ticket.value];
    if (!chip_.wait(deadline, [signal](softgpu::Rig& rig) { return rig.value(signal) == 0; }))
        return Error{ErrorCode::kTimeout, "the chip did not answer in time", "", ""};
    taken_[ticket.value] = false;
    return {};
}

Result<void> DirectBackend::copy_to_host(const capture::HostMemory& to, std::uint64_t offset,
                                         std::uint64_t from_va, std::uint64_t bytes, TimePoint) {
    return chip_.with([&](softgpu::Rig& rig) -> Result<void> {
        const auto window = rig.space.find(from_va);
        if (window.size == 0 || from_va + bytes > window.va + window.size)
            return Error{ErrorCode::kInternal, "copy from an unmapped address", "", ""};
        std::memcpy(to.host + offset, window.host + (from_va - window.va), bytes);
        return {};
    });
}

std::uint64_t DirectBackend::counter() {
    return chip_.with([](softgpu::Rig& rig) { return rig.chip->counter(); });
}

std::optional<softgpu::QueueId> DirectBackend::queue_for_test() const {
    if (!queue_) return std::nullopt;
    return queue_->id;
}

} // namespace wavetap::test
