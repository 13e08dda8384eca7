// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/interceptor.hpp"

#include "pm4/thread_trace.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace wavetap::rocr {

namespace {

constexpr std::uint32_t kVendorHeader = 1u << 8 | 2u << 9 | 2u << 11;
constexpr std::uint32_t kBarrierBit = 1u << 8;
constexpr std::uint32_t kTypeMask = 0xff;
constexpr std::uint32_t kKernelDispatch = 2;
constexpr std::uint32_t kBarrierAnd = 3;
constexpr std::uint32_t kBarrierHeader = kBarrierAnd | 1u << 8 | 2u << 9 | 2u << 11;
/// What is kept free of packets that wavetap adds, for those that must be written in any case.
constexpr std::uint64_t kRingMargin = 32;
/// ROCr keeps one packet free, and may write one of its own.
constexpr std::uint64_t kRingReserve = 2;
constexpr std::uint32_t kRingFactor = 8, kSmallestRing = 256;
constexpr std::uint64_t kExpansion = DispatchHooks::kMostPackets;
static_assert(1 + kExpansion < kRingFactor);
/// As long as a program would wait for a full native ring, yet not for ever.
constexpr auto kRoomLimit = std::chrono::seconds(60);
/// For one look at the GPU's progress, which may end earlier.
constexpr std::uint64_t kBlockedNs = 20'000'000;

std::uint64_t kernel_object_of(const Packet& packet) {
    std::uint64_t object = 0;
    std::memcpy(&object, &packet.words[8], sizeof object);
    return object;
}

hsa_signal_t completion_of(const Packet& packet) {
    hsa_signal_t signal{};
    std::memcpy(&signal.handle, &packet.words[14], sizeof signal.handle);
    return signal;
}

void set_completion(Packet& packet, hsa_signal_t signal) {
    std::memcpy(&packet.words[14], &signal.handle, sizeof signal.handle);
}

} // namespace

Packet barrier_packet(hsa_signal_t dependency, hsa_signal_t completion) {
    Packet packet;
    packet.words[0] = kBarrierHeader;
    std::memcpy(&packet.words[2], &dependency.handle, sizeof dependency.handle);
    set_completion(packet, completion);
    return packet;
}

Packet vendor_packet(const capture::CommandBuffer& buffer, hsa_signal_t completion) {
    Packet packet;
    pm4::fill_vendor_packet(packet.words, buffer.va, buffer.dwords,
                            static_cast<std::uint32_t>(buffer.cache_policy));
    packet.words[0] |= kVendorHeader;
    set_completion(packet, completion);
    return packet;
}

QueueInterceptor::QueueInterceptor(const HsaFunctions& hsa, std::vector<GpuAgent> agents,
                                   std::vector<bool> watched, DispatchHooks& hooks,
                                   const Clock& clock)
    : hsa_(hsa), agents_(std::move(agents)), watched_(std::move(watched)), hooks_(hooks),
      clock_(clock), counts_(agents_.size()) {}

hsa_status_t QueueInterceptor::create(hsa_agent_t agent, std::uint32_t size,
                                      hsa_queue_type32_t type, QueueErrorHandler callback,
                                      void* data, std::uint32_t private_segment_size,
                                      std::uint32_t group_segment_size, hsa_queue_t** queue) {
    const int index = index_of(agents_, agent);
    const bool watch = active_.load() && index >= 0 && watched_[static_cast<std::size_t>(index)] &&
                       queue != nullptr && type != HSA_QUEUE_TYPE_COOPERATIVE;
    if (!watch)
        return hsa_.queue_create(agent, size, type, callback, data, private_segment_size,
                                 group_segment_size, queue);
    const std::uint32_t most = agents_[static_cast<std::size_t>(index)].queue_max_packets;
    const std::uint32_t wanted =
        size > most / kRingFactor ? most : std::max(size * kRingFactor, kSmallestRing);
    const std::uint32_t ring = std::max(std::min(wanted, most), size);
    std::unique_ptr<Queue> record;
    // All that needs memory comes before there is a queue.
    const bool room = hook([&] {
        record = std::make_unique<Queue>();
        record->out.reserve(16);
        record->back.reserve(DispatchHooks::kBackPackets);
        MutexLock lock(mutex_);
        all_.reserve(2 * all_.size() + 1);
        live_.reserve(live_.size() + 1);
    });
    if (!room)
        return hsa_.queue_create(agent, size, type, callback, data, private_segment_size,
                                 group_segment_size, queue);
    record->owner = this;
    record->agent = static_cast<std::uint32_t>(index);
    record->callback = callback;
    record->callback_data = data;
    hsa_status_t status = hsa_.queue_intercept_create(
        agent, ring, type, on_error, record.get(), private_segment_size, group_segment_size, queue);
    if (status != HSA_STATUS_SUCCESS) {
        hook([&] { hooks_.queue_not_watched(record->agent); });
        return hsa_.queue_create(agent, size, type, callback, data, private_segment_size,
                                 group_segment_size, queue);
    }

    record->ring_packets = (*queue)->size;
    // Without all of them nobody would know when the ring is full, and who may wait for it.
    bool room_known = true;
    for (Progress& progress : record->progress) {
        if (hsa_.signal_create(0, 0, nullptr, &progress.signal) == HSA_STATUS_SUCCESS) continue;
        progress.signal = {};
        room_known = false;
    }
    room_known = room_known && ask_handler_thread(record->progress[0].signal);
    Queue& made = *record;
    {
        // Kept in any case: ROCr has its address for errors.
        MutexLock lock(mutex_);
        made.note.queue_id = next_queue_++;
        try {
            all_.push_back(std::move(record));
        } catch (...) {
            ++failures_;
            (void)record.release();
        }
    }
    status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    if (room_known) {
        if (hook([&] { hooks_.queue_created(made.agent, made.note); }))
            status = hsa_.queue_intercept_register(*queue, on_packets, &made);
    }
    // Without our handler an intercept queue passes packets on unchanged.
    if (status != HSA_STATUS_SUCCESS) hook([&] { hooks_.queue_not_watched(made.agent); });
    MutexLock lock(mutex_);
    try {
        live_[*queue] = &made;
    } catch (...) {
        ++failures_;
    }
    return HSA_STATUS_SUCCESS;
}

hsa_status_t QueueInterceptor::destroy(hsa_queue_t* queue) {
    Queue* record = nullptr;
    {
        MutexLock lock(mutex_);
        if (const auto found = live_.find(queue); found != live_.end()) {
            record = found->second;
            live_.erase(found);
        }
    }
    if (record != nullptr && !on_handler_thread())
        hook([&] { hooks_.queue_ending(record->agent, record->note); });
    const hsa_status_t status = hsa_.queue_destroy(queue);
    if (record == nullptr || status != HSA_STATUS_SUCCESS) return status;
    for (Progress& progress : record->progress) {
        if (progress.signal.handle != 0) (void)hsa_.signal_destroy(progress.signal);
        progress = {};
    }
    hook([&] { hooks_.queue_destroyed(record->agent, record->note); });
    return status;
}

void QueueInterceptor::on_error(hsa_status_t status, hsa_queue_t* source, void* data) {
    auto* queue = static_cast<Queue*>(data);
    queue->owner->note_handler_thread();
    queue->owner->hook([&] { queue->owner->hooks_.queue_failed(queue->agent, queue->note); });
    if (queue->callback != nullptr) queue->callback(status, source, queue->callback_data);
}

void QueueInterceptor::on_packets(const void* packets, std::uint64_t count, std::uint64_t,
                                  void* data, PacketWriter writer) {
    auto* queue = static_cast<Queue*>(data);
    if (!queue->owner->active_.load()) {
        writer(packets, count);
        return;
    }
    queue->owner->handle(*queue, static_cast<const Packet*>(packets), count, writer);
}

void QueueInterceptor::handle(Queue& queue, const Packet* packets, std::uint64_t count,
                              PacketWriter writer) {
    queue.out.clear();
    RoomDeadline deadline;
    const std::uint64_t all = queue.ring_packets - kRingReserve;
    if (!hook([&] { queue.out.reserve(count * (1 + kExpansion) + 1); })) {
        (void)wait_for_room(queue, count, all, deadline);
        queue.written += count;
        writer(packets, count);
        return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        queue.back.clear();
        if ((packets[i].words[0] & kTypeMask) == kKernelDispatch) {
            queue.note.room = room_for_dispatch(queue, count - i, deadline);
            queue.note.completion = completion_of(packets[i]);
            hook([&] {
                hooks_.before_dispatch(queue.agent, queue.note, kernel_object_of(packets[i]),
                                       queue.out, queue.back);
            });
        }
        queue.out.push_back(packets[i]);
        if (queue.back.empty()) continue;
        set_completion(queue.out.back(), queue.note.completion);
        queue.out.back().words[0] |= kBarrierBit;
        queue.out.insert(queue.out.end(), queue.back.begin(), queue.back.end());
    }
    // What must be written in any case; what was added to it has its room.
    (void)wait_for_room(queue, queue.out.size(), all, deadline);
    add_progress_packet(queue);
    queue.written += queue.out.size();
    writer(queue.out.data(), queue.out.size());
}

bool QueueInterceptor::room_for_dispatch(Queue& queue, std::uint64_t left, RoomDeadline& deadline) {
    Counts& counts = counts_[queue.agent];
    const std::uint64_t limit = queue.ring_packets - kRingMargin;
    // One call of the writer must fit into the ring, with a progress packet.
    const std::uint64_t need = queue.out.size() + left + kExpansion + 1;
    if (need > limit) {
        counts.crowded.fetch_add(1);
        return false;
    }
    if (wait_for_room(queue, need, limit, deadline)) return true;
    counts.full.fetch_add(1);
    return false;
}

void QueueInterceptor::collect_progress(Queue& queue) {
    while (queue.in_flight > 0) {
        Progress& oldest = queue.progress[queue.oldest];
        if (hsa_.signal_load(oldest.signal) != 0) return;
        queue.retired = oldest.count;
        oldest.count = 0;
        queue.oldest = (queue.oldest + 1) % kProgressSignals;
        --queue.in_flight;
    }
}

void QueueInterceptor::add_progress_packet(Queue& queue) {
    const std::uint64_t interval = std::max<std::uint64_t>(queue.ring_packets / 8, 8);
    const std::uint64_t after = queue.written + queue.out.size();
    if (after - queue.last_progress < interval) return;
    collect_progress(queue);
    if (queue.in_flight == kProgressSignals) return;
    if (after + 1 - queue.retired > queue.ring_packets - kRingReserve) return;
    Progress& progress = queue.progress[(queue.oldest + queue.in_flight) % kProgressSignals];
    if (progress.signal.handle == 0) return;
    hsa_.signal_store(progress.signal, 1);
    queue.out.push_back(barrier_packet({}, progress.signal));
    progress.count = after + 1;
    queue.last_progress = after + 1;
    ++queue.in_flight;
}

bool QueueInterceptor::wait_for_room(Queue& queue, std::uint64_t count, std::uint64_t limit,
                                     RoomDeadline& deadline) {
    const auto fits = [&] { return queue.written + count - queue.retired <= limit; };
    if (fits()) return true;
    collect_progress(queue);
    if (fits()) return true;
    if (on_handler_thread()) return false;
    if (!deadline) {
        counts_[queue.agent].waits.fetch_add(1);
        deadline = clock_.deadline_after(kRoomLimit);
    }
    while (queue.in_flight > 0 && clock_.now() < *deadline) {
        (void)hsa_.signal_wait(queue.progress[queue.oldest].signal, HSA_SIGNAL_CONDITION_LT, 1,
                               kBlockedNs, HSA_WAIT_STATE_BLOCKED);
        collect_progress(queue);
        if (fits()) return true;
    }
    return false;
}

capture::RingCounts QueueInterceptor::ring_counts(std::uint32_t agent) const {
    const Counts& counts = counts_[agent];
    return {counts.waits.load(), counts.crowded.load(), counts.full.load()};
}

bool QueueInterceptor::ask_handler_thread(hsa_signal_t zero) {
    if (handler_thread_.load() != std::thread::id{}) return true;
    const auto tell = [](hsa_signal_value_t, void* data) {
        static_cast<QueueInterceptor*>(data)->note_handler_thread();
        return false;
    };
    return hsa_.signal_async_handler(zero, HSA_SIGNAL_CONDITION_LT, 1, tell, this) ==
           HSA_STATUS_SUCCESS;
}

} // namespace wavetap::rocr
