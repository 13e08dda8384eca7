// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/aql_queue.hpp"

#include "base/units.hpp"
#include "softgpu/signal.hpp"
#include "softgpu/timing.hpp"

#include <atomic>
#include <bit>

namespace wavetap::softgpu {

namespace {

constexpr std::uint64_t kPacketBytes = 64;

enum PacketType : std::uint8_t {
    kVendorSpecific = 0,
    kInvalid = 1,
    kKernelDispatch = 2,
    kBarrierAnd = 3,
    kAgentDispatch = 4,
    kBarrierOr = 5,
};
constexpr std::uint8_t kFormatPm4 = 1;
constexpr std::uint8_t kFormatBarrierValue = 2;
constexpr std::uint16_t kBarrierBit = 1U << 8;
constexpr std::size_t kCompletionSignal = 56;
constexpr std::size_t kDependencies = 8;

// amd_queue_t, from the write index.
constexpr std::uint64_t kQueueToWriteIndex = 0x38;
constexpr std::uint64_t kQueueInactiveSignal = 0xC0;

} // namespace

AqlQueue::AqlQueue(QueueServices services, std::uint32_t id, const AqlQueueInfo& info)
    : services_(services), id_(id), info_(info) {
    services_.memory.read(info_.read_index_va, next_index_);
}

std::uint64_t AqlQueue::slot_va(std::uint64_t index) const {
    return info_.ring_va + index * kPacketBytes % info_.ring_bytes;
}

std::string AqlQueue::where() const {
    return "queue " + std::to_string(info_.driver_id) + ", packet " + std::to_string(next_index_);
}

void AqlQueue::doorbell(std::uint64_t value, std::uint64_t now) {
    doorbell_ = static_cast<std::int64_t>(value);
    if (!dead_ && !suspended_ && next_ == kNever) again(now, false);
}

void AqlQueue::suspend(bool suspended, std::uint64_t now) {
    suspended_ = suspended;
    if (suspended)
        sleep();
    else if (!dead_)
        again(now, false);
}

void AqlQueue::service(std::uint64_t now) {
    sleep();
    polling_ = false;
    if (dead_ || suspended_ || !check_stall(now)) return;
    if (commands_) {
        run_commands(now);
        return;
    }
    if (!fetched_ && !fetch(now)) return;
    if (next_ != kNever) return; // the fetch takes time
    execute(now);
}

bool AqlQueue::fetch(std::uint64_t now) {
    if (static_cast<std::int64_t>(next_index_) > doorbell_) return false;
    std::uint64_t write_index = 0;
    std::byte* slot = services_.memory.at(slot_va(next_index_), kPacketBytes, Access::kRead);
    if (slot == nullptr || !services_.memory.read(info_.write_index_va, write_index)) {
        stop(QueueFault::kInvalidPacket, "the ring is not mapped", now);
        return false;
    }
    auto* header = reinterpret_cast<std::uint32_t*>(slot);
    const std::uint32_t first =
        std::atomic_ref<std::uint32_t>(*header).load(std::memory_order_acquire);
    if (next_index_ >= write_index || (first & 0xFF) == kInvalid) {
        again(now + timing::kAqlPoll, true); // published later
        return false;
    }
    std::memcpy(packet_.data(), slot, kPacketBytes);
    std::memcpy(packet_.data(), &first, sizeof(first));
    fetched_ = true;
    again(now + timing::kAqlFetch, false);
    return true;
}

void AqlQueue::execute(std::uint64_t now) {
    const auto header = field<std::uint16_t>(0);
    if ((header & kBarrierBit) != 0 && !flights_.empty()) return; // woken when one ends
    switch (header & 0xFF) {
    case kVendorSpecific:
        execute_vendor(now);
        return;
    case kKernelDispatch:
        execute_dispatch(now);
        return;
    case kBarrierAnd:
    case kBarrierOr: {
        const int holds = barrier_holds((header & 0xFF) == kBarrierAnd, now);
        if (holds < 0) return;
        if (holds == 0) {
            again(now + timing::kAqlPoll, true);
            return;
        }
        begin_packet(now);
        end_packet(flights_.back().index, now);
        return;
    }
    default:
        stop(QueueFault::kInvalidPacket,
             "AQL packet type " + std::to_string(header & 0xFF) + " is not supported", now);
    }
}

int AqlQueue::barrier_holds(bool all, std::uint64_t now) {
    bool any_dependency = false;
    for (std::size_t i = 0; i < 5; ++i) {
        const auto signal = field<std::uint64_t>(kDependencies + i * 8);
        if (signal == 0) continue;
        any_dependency = true;
        const auto value = load_signal(services_.memory, signal);
        if (!value) {
            stop(QueueFault::kInvalidPacket,
                 "dependent signal " + format_hex(signal) + " is not mapped", now);
            return -1;
        }
        if (all && *value != 0) return 0;
        if (!all && *value == 0) return 1;
    }
    return all || !any_dependency ? 1 : 0;
}

int AqlQueue::barrier_value_holds(std::uint64_t now) {
    const auto signal = field<std::uint64_t>(8);
    if (signal == 0) return 1;
    const auto loaded = load_signal(services_.memory, signal);
    const auto condition = field<std::uint32_t>(32);
    if (!loaded || condition > 3) {
        stop(QueueFault::kInvalidVendorPacket,
             loaded ? "barrier-value condition " + std::to_string(condition)
                    : "dependent signal " + format_hex(signal) + " is not mapped",
             now);
        return -1;
    }
    const std::int64_t value = *loaded & field<std::int64_t>(24);
    const auto reference = field<std::int64_t>(16);
    switch (condition) {
    case 0:
        return value == reference ? 1 : 0;
    case 1:
        return value != reference ? 1 : 0;
    case 2:
        return value < reference ? 1 : 0;
    default:
        return value >= reference ? 1 : 0;
    }
}

void AqlQueue::execute_vendor(std::uint64_t now) {
    const auto format = field<std::uint8_t>(2);
    if (format == kFormatBarrierValue) {
        const int holds = barrier_value_holds(now);
        if (holds < 0) return;
        if (holds == 0) {
            again(now + timing::kAqlPoll, true);
            return;
        }
        begin_packet(now);
        end_packet(flights_.back().index, now);
        return;
    }
    const auto header = field<std::uint32_t>(4);
    if (format != kFormatPm4 ||
        (header >> 8 & 0xFF) != static_cast<std::uint32_t>(pm4::Opcode::kIndirectBuffer)) {
        stop(QueueFault::kInvalidVendorPacket,
             "vendor packet format " + std::to_string(format) + ", first dword " +
                 format_hex(header),
             now);
        return;
    }
    const std::uint64_t va =
        std::uint64_t{field<std::uint32_t>(12) & 0xFFFF} << 32 | (field<std::uint32_t>(8) & ~3U);
    auto run = CommandRun::create(services_.registers, services_.commands, services_.memory, va,
                                  field<std::uint32_t>(16) & 0xFFFFF);
    if (!run) {
        stop(QueueFault::kInvalidVendorPacket, to_string(run.error()), now);
        return;
    }
    begin_packet(now);
    commands_.emplace(*std::move(run));
    again(now + timing::kPm4Fetch, false);
}

void AqlQueue::run_commands(std::uint64_t now) {
    const CommandRun::Step step = commands_->step(now);
    switch (step.state) {
    case CommandRun::State::kRunning:
        again(now + step.clocks, false);
        return;
    case CommandRun::State::kWaiting:
        again(now + step.clocks, step.on_memory);
        return;
    case CommandRun::State::kDone:
        commands_.reset();
        end_packet(flights_.back().index, now);
        return;
    case CommandRun::State::kFailed: {
        const std::string what = to_string(commands_->error());
        commands_.reset();
        stop(QueueFault::kInvalidVendorPacket, what, now);
        return;
    }
    }
}

// Takes the packet off the ring's head; packet_ stays valid until the next fetch.
void AqlQueue::begin_packet(std::uint64_t) {
    flights_.push_back({next_index_++, false});
    fetched_ = false;
    packet_start_ts_ = services_.host.host_counter();
}

void AqlQueue::end_packet(std::uint64_t index, std::uint64_t now) {
    for (Flight& flight : flights_)
        if (flight.index == index) flight.ended = true;
    retire();
    complete(field<std::uint64_t>(kCompletionSignal), packet_start_ts_, now);
    if (!dead_) again(now + timing::kAqlRetire, false);
}

void AqlQueue::retire() {
    while (!flights_.empty() && flights_.front().ended) {
        const std::uint64_t index = flights_.front().index;
        flights_.pop_front();
        std::byte* slot = services_.memory.at(slot_va(index), kPacketBytes, Access::kWrite);
        std::byte* read_index = services_.memory.at(info_.read_index_va, 8, Access::kWrite);
        if (slot == nullptr || read_index == nullptr) continue; // the owner took it away
        auto* header = reinterpret_cast<std::uint16_t*>(slot);
        std::atomic_ref<std::uint16_t>(*header).store(kInvalid, std::memory_order_release);
        auto* cell = reinterpret_cast<std::uint64_t*>(read_index);
        std::atomic_ref<std::uint64_t>(*cell).store(index + 1, std::memory_order_release);
    }
}

void AqlQueue::complete(std::uint64_t signal, std::uint64_t start_ts, std::uint64_t now) {
    if (signal == 0) return;
    if (!complete_signal(services_.memory, services_.host, signal, start_ts,
                         services_.host.host_counter()))
        stop(QueueFault::kInvalidPacket,
             "completion signal " + format_hex(signal) + " is not mapped", now);
}

void AqlQueue::dispatch_ended(const Dispatch& dispatch, std::uint64_t now) {
    --running_dispatches_;
    if (launching_ == &dispatch) launching_ = nullptr;
    if (dispatch.killed) return;
    for (Flight& flight : flights_)
        if (flight.index == dispatch.packet_index) flight.ended = true;
    retire();
    complete(dispatch.completion_signal, dispatch.start_ts, now);
    if (scratch_once_ && running_dispatches_ == 0 && !dead_) {
        scratch_once_ = false;
        if (raise_inactive(QueueFault::kReclaimScratch)) stall_ = Stall::kReclaim;
    }
    // Something may wait for this: a barrier bit, a flush, room for the next dispatch.
    if (!dead_ && !suspended_ && next_ == kNever) again(now + timing::kQuad, false);
}

bool AqlQueue::check_stall(std::uint64_t now) {
    if (stall_ == Stall::kNone) return true;
    std::uint64_t signal = 0;
    services_.memory.read(info_.write_index_va - kQueueToWriteIndex + kQueueInactiveSignal, signal);
    const auto value = load_signal(services_.memory, signal);
    if (value && *value == 0) {
        stall_ = Stall::kNone;
        return true;
    }
    again(now + timing::kScratchRetry, true);
    return false;
}

bool AqlQueue::raise_inactive(QueueFault fault) {
    std::uint64_t signal = 0;
    services_.memory.read(info_.write_index_va - kQueueToWriteIndex + kQueueInactiveSignal, signal);
    return signal != 0 &&
           store_signal(services_.memory, services_.host, signal, static_cast<std::int64_t>(fault));
}

void AqlQueue::stop(std::optional<QueueFault> fault, const std::string& what, std::uint64_t now) {
    if (dead_) return;
    dead_ = true;
    sleep();
    commands_.reset();
    for (Dispatch* dispatch : services_.dispatcher.of_queue(id_))
        services_.dispatcher.kill(*dispatch, now);
    services_.host.queue_error(info_.driver_id, what + " (" + where() + ")");
    if (fault) raise_inactive(*fault);
}

} // namespace wavetap::softgpu
