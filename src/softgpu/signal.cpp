// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/signal.hpp"

#include <atomic>

namespace wavetap::softgpu {

namespace {

// amd_signal_t.
constexpr std::uint64_t kValue = 8, kMailbox = 16, kEventId = 24, kStartTs = 32, kEndTs = 40;

std::int64_t* value_cell(Memory& memory, std::uint64_t signal, Access access) {
    if (signal % 8 != 0) return nullptr;
    return reinterpret_cast<std::int64_t*>(memory.at(signal + kValue, 8, access));
}

// The mailbox store only matters to a kernel driver's scan; the interrupt is what wakes.
bool wake(Memory& memory, Host& host, std::uint64_t signal) {
    std::uint64_t mailbox = 0;
    std::uint32_t event_id = 0;
    if (!memory.read(signal + kMailbox, mailbox) || !memory.read(signal + kEventId, event_id))
        return false;
    if (mailbox == 0) return true;
    if (!memory.write(mailbox, std::uint64_t{event_id})) return false;
    host.interrupt(event_id);
    return true;
}

} // namespace

bool complete_signal(Memory& memory, Host& host, std::uint64_t signal, std::uint64_t start_ts,
                     std::uint64_t end_ts) {
    std::int64_t* value = value_cell(memory, signal, Access::kWrite);
    if (value == nullptr || !memory.write(signal + kStartTs, start_ts) ||
        !memory.write(signal + kEndTs, end_ts))
        return false;
    // A polling waiter may destroy the signal once the value is seen; the event is read before.
    std::uint64_t mailbox = 0;
    std::uint32_t event_id = 0;
    if (!memory.read(signal + kMailbox, mailbox) || !memory.read(signal + kEventId, event_id))
        return false;
    std::atomic_ref<std::int64_t>(*value).fetch_sub(1, std::memory_order_acq_rel);
    if (mailbox == 0) return true;
    if (!memory.write(mailbox, std::uint64_t{event_id})) return false;
    host.interrupt(event_id);
    return true;
}

bool store_signal(Memory& memory, Host& host, std::uint64_t signal, std::int64_t new_value) {
    std::int64_t* value = value_cell(memory, signal, Access::kWrite);
    if (value == nullptr) return false;
    std::atomic_ref<std::int64_t>(*value).store(new_value, std::memory_order_release);
    return wake(memory, host, signal);
}

std::optional<std::int64_t> load_signal(Memory& memory, std::uint64_t signal) {
    std::int64_t* value = value_cell(memory, signal, Access::kRead);
    if (value == nullptr) return std::nullopt;
    return std::atomic_ref<std::int64_t>(*value).load(std::memory_order_acquire);
}

} // namespace wavetap::softgpu
