// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/rocr_backend.hpp"

#include "pm4/thread_trace.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace wavetap::rocr {

namespace {

constexpr std::uint64_t kPage = 4096;
/// Alignment and a guard page against what cache flushes spill (spec capture.md C9).
constexpr std::uint64_t kOutputSlack = 2 * kPage;
constexpr auto kSpin = std::chrono::milliseconds(100);
constexpr std::uint64_t kBlockedNs = 20'000'000;
/// Between two looks for room when nothing is left that would wake us.
constexpr std::uint64_t kPauseNs = 500'000;

// AQL header of a vendor packet (type 0): barrier bit, acquire and release at system scope.
constexpr std::uint32_t kVendorHeader = 1u << 8 | 2u << 9 | 2u << 11;

Error gone() {
    return Error{ErrorCode::kUnavailable, "the runtime is going away", "", ""};
}

} // namespace

RocrBackend::RocrBackend(const HsaFunctions& hsa, GpuAgent agent, std::shared_ptr<RuntimeGate> gate)
    : hsa_(hsa), agent_(std::move(agent)), gate_(std::move(gate)) {}

RocrBackend::~RocrBackend() {
    (void)destroy_queue();
    end_copies();
}

void RocrBackend::queue_failed(hsa_status_t status, hsa_queue_t*, void* data) {
    static_cast<RocrBackend*>(data)->queue_status_.store(static_cast<std::uint32_t>(status));
}

Result<void> RocrBackend::create_queue() {
    const auto pass = gate_->enter();
    if (!pass) return gone();
    queue_status_.store(0);
    const std::uint32_t size = std::max(kQueuePackets, agent_.queue_min_packets);
    const hsa_status_t status =
        hsa_.queue_create(agent_.agent, size, HSA_QUEUE_TYPE_MULTI, queue_failed, this, UINT32_MAX,
                          UINT32_MAX, &queue_);
    if (status != HSA_STATUS_SUCCESS) {
        queue_ = nullptr;
        Error error = hsa_error(hsa_, status, "creating the trace queue");
        if (error.code == ErrorCode::kLimit)
            error.hint = "the agent has no queue left; let the application use fewer";
        return error;
    }
    for (Slot& slot : slots_) {
        const hsa_status_t made = hsa_.signal_create(1, 0, nullptr, &slot.signal);
        if (made != HSA_STATUS_SUCCESS) {
            slot.signal = {};
            (void)destroy_queue();
            return hsa_error(hsa_, made, "creating a signal");
        }
        slot.taken = false;
    }
    return {};
}

Result<void> RocrBackend::destroy_queue() {
    if (queue_ == nullptr) return {};
    const auto pass = gate_->enter();
    if (!pass) return gone();
    const hsa_status_t status = hsa_.queue_destroy(queue_);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(hsa_, status, "destroying the trace queue");
    queue_ = nullptr;
    for (Slot& slot : slots_) {
        if (slot.signal.handle != 0) (void)hsa_.signal_destroy(slot.signal);
        slot = {};
    }
    return {};
}

void RocrBackend::end_copies() {
    const auto pass = gate_->enter();
    if (!pass) return;
    // A copy that was not answered may still write its signal: that one is left alone.
    if (copy_signal_.handle != 0 && !copy_pending_) (void)hsa_.signal_destroy(copy_signal_);
    copy_signal_ = {};
    copy_pending_ = false;
}

Result<capture::DeviceMemory> RocrBackend::allocate_device(std::uint64_t bytes) {
    const auto pass = gate_->enter();
    if (!pass) return gone();
    void* memory = nullptr;
    const std::uint64_t size = bytes + kOutputSlack;
    const hsa_status_t status = hsa_.memory_pool_allocate(agent_.device_pool, size, 0, &memory);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(hsa_, status, "allocating device memory");
    const auto base = reinterpret_cast<std::uint64_t>(memory);
    return capture::DeviceMemory{(base + kPage - 1) / kPage * kPage, bytes, size, base};
}

Result<capture::HostMemory> RocrBackend::allocate_host(std::uint64_t bytes) {
    const auto pass = gate_->enter();
    if (!pass) return gone();
    void* memory = nullptr;
    hsa_status_t status = hsa_.memory_pool_allocate(agent_.host_pool, bytes, 0, &memory);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(hsa_, status, "allocating host memory");
    status = hsa_.agents_allow_access(1, &agent_.agent, nullptr, memory);
    if (status != HSA_STATUS_SUCCESS) {
        (void)hsa_.memory_pool_free(memory);
        return hsa_error(hsa_, status, "mapping host memory to the agent");
    }
    return capture::HostMemory{static_cast<std::byte*>(memory),
                               reinterpret_cast<std::uint64_t>(memory), bytes, 0};
}

void RocrBackend::free_device(const capture::DeviceMemory& memory) {
    const auto pass = gate_->enter();
    if (!pass) return;
    (void)hsa_.memory_pool_free(reinterpret_cast<void*>(memory.cookie));
}

void RocrBackend::free_host(const capture::HostMemory& memory) {
    const auto pass = gate_->enter();
    if (!pass) return;
    (void)hsa_.memory_pool_free(memory.host);
}

// What fills the ring is a submission that was not answered: its signal tells of progress. Where all
// were, the read index is yet to follow, which no signal tells: `unused`, which nothing completes, is a
// pause.
Result<void> RocrBackend::wait_for_room(std::uint64_t count, hsa_signal_t unused,
                                        TimePoint deadline) const {
    const auto fits = [&] {
        return hsa_.queue_load_write_index(queue_) + count - hsa_.queue_load_read_index(queue_) <=
               queue_->size;
    };
    while (!fits()) {
        const TimePoint now = std::chrono::steady_clock::now();
        if (now >= deadline)
            return Error{ErrorCode::kTimeout, "the trace queue stays full", "", ""};
        hsa_signal_t waited = unused;
        for (const Slot& slot : slots_)
            if (slot.taken && hsa_.signal_load(slot.signal) > 0) waited = slot.signal;
        const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - now);
        const std::uint64_t most = waited.handle == unused.handle ? kPauseNs : kBlockedNs;
        (void)hsa_.signal_wait(waited, HSA_SIGNAL_CONDITION_LT, 1,
                               std::min(most, static_cast<std::uint64_t>(left.count())),
                               HSA_WAIT_STATE_BLOCKED);
    }
    return {};
}

Result<capture::Ticket> RocrBackend::submit(std::span<const capture::CommandBuffer> buffers,
                                            TimePoint deadline) {
    if (queue_ == nullptr) return Error{ErrorCode::kWrongState, "there is no trace queue", "", ""};
    const auto pass = gate_->enter();
    if (!pass) return gone();
    std::size_t free_slot = 0;
    while (free_slot < slots_.size() && slots_[free_slot].taken)
        ++free_slot;
    if (free_slot == slots_.size())
        return Error{ErrorCode::kTimeout, "the trace queue does not answer", "", ""};

    const std::uint64_t count = buffers.size();
    Slot& slot = slots_[free_slot];
    hsa_.signal_store(slot.signal, 1);
    WAVETAP_CHECK_OK(wait_for_room(count, slot.signal, deadline));
    slot.taken = true;

    const std::uint64_t first = hsa_.queue_add_write_index(queue_, count);
    auto* ring = static_cast<std::uint32_t(*)[16]>(queue_->base_address);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint32_t packet[16];
        pm4::fill_vendor_packet(packet, buffers[i].va, buffers[i].dwords,
                                buffers[i].cache_policy < 0
                                    ? pm4::command_cache_policy(pm4_topology(agent_.topology))
                                    : static_cast<std::uint32_t>(buffers[i].cache_policy));
        const std::uint64_t signal = i + 1 == count ? slot.signal.handle : 0;
        std::memcpy(&packet[14], &signal, sizeof signal);
        packet[0] |= kVendorHeader;
        auto& target = ring[(first + i) & (queue_->size - 1)];
        std::memcpy(&target[1], &packet[1], sizeof packet - 4);
        std::atomic_ref<std::uint32_t>(target[0]).store(packet[0], std::memory_order_release);
    }
    hsa_.signal_store(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(first + count - 1));
    return capture::Ticket{free_slot};
}

Result<void> RocrBackend::wait_signal(hsa_signal_t signal, TimePoint deadline,
                                      const char* what) const {
    const TimePoint spin_until = std::min(deadline, std::chrono::steady_clock::now() + kSpin);
    for (;;) {
        const auto pass = gate_->enter();
        if (!pass) return gone();
        const TimePoint now = std::chrono::steady_clock::now();
        const hsa_signal_value_t value = now < spin_until
                                             ? hsa_.signal_load(signal)
                                             : hsa_.signal_wait(signal, HSA_SIGNAL_CONDITION_LT, 1,
                                                                kBlockedNs, HSA_WAIT_STATE_BLOCKED);
        if (value < 0)
            return Error{ErrorCode::kUnavailable, std::string(what) + " failed on the GPU", "", ""};
        if (value == 0) return {};
        if (const std::uint32_t status = queue_status_.load(); status != 0)
            return hsa_error(hsa_, static_cast<hsa_status_t>(status), "the trace queue stopped");
        if (now >= deadline)
            return Error{ErrorCode::kTimeout, "the GPU did not answer in time", what, ""};
        if (now < spin_until) std::this_thread::yield();
    }
}

Result<void> RocrBackend::wait(capture::Ticket ticket, TimePoint deadline) {
    Slot& slot = slots_[ticket.value];
    auto done = wait_signal(slot.signal, deadline, "trace packet");
    // A submission that was not answered keeps its signal until the queue is gone.
    if (done) slot.taken = false;
    return done;
}

Result<void> RocrBackend::start_copy(std::byte* to, std::uint64_t from_va, std::uint64_t bytes) {
    const auto pass = gate_->enter();
    if (!pass) return gone();
    if (copy_signal_.handle == 0 || copy_pending_) {
        const hsa_status_t made = hsa_.signal_create(1, 0, nullptr, &copy_signal_);
        if (made != HSA_STATUS_SUCCESS) {
            copy_signal_ = {};
            return hsa_error(hsa_, made, "creating a signal");
        }
        copy_pending_ = false;
    }
    hsa_.signal_store(copy_signal_, 1);
    const hsa_status_t status =
        hsa_.memory_async_copy(to, agent_.cpu, reinterpret_cast<const void*>(from_va), agent_.agent,
                               bytes, 0, nullptr, copy_signal_);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(hsa_, status, "copying trace data");
    return {};
}

Result<void> RocrBackend::copy_to_host(const capture::HostMemory& to, std::uint64_t offset,
                                       std::uint64_t from_va, std::uint64_t bytes,
                                       TimePoint deadline) {
    if (bytes == 0) return {}; // a zero-byte copy may never signal
    WAVETAP_CHECK_OK(start_copy(to.host + offset, from_va, bytes));
    auto done = wait_signal(copy_signal_, deadline, "copy of trace data");
    copy_pending_ = !done.has_value();
    return done;
}

} // namespace wavetap::rocr
