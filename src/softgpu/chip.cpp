// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "softgpu/chip_model.hpp"
#include "softgpu/timing.hpp"

#include <algorithm>

namespace wavetap::softgpu {

namespace {

// Compute registers as offsets from COMPUTE_DISPATCH_INITIATOR.
enum ComputeRegister : std::uint8_t {
    kInitiator = 0,
    kNumThreadX = 7,
    kPgmLo = 0xC,
    kPgmHi = 0xD,
    kPacketLo = 0xE,
    kRsrc1 = 0x12,
    kRsrc2 = 0x13,
    kRsrc3 = 0x2D,
    kUserData0 = 0x40,
};
constexpr std::uint32_t kInitiatorValue = 0x825;
constexpr std::uint32_t kEventTraceFinish = 0x37;

} // namespace

Result<std::unique_ptr<Chip>> Chip::create(const ChipSpec& spec, std::uint32_t agent,
                                           AddressSpace& space, Host& host, TruthWriter* truth) {
    if (spec.name != "gfx90a" || spec.shader_engines == 0 || spec.cus_per_engine == 0 ||
        spec.cus_per_engine > 16 || spec.simds_per_cu == 0 ||
        spec.simds_per_cu > ComputeUnit::kMaxSimds || spec.wave_slots == 0 ||
        spec.wave_slots > ThreadTraceUnit::kIssueSlots || spec.shader_clock_hz == 0) {
        return Error{ErrorCode::kUnsupported,
                     "no chip model for '" + spec.name + "' with " +
                         std::to_string(spec.shader_engines) + " engines of " +
                         std::to_string(spec.cus_per_engine) + " CUs",
                     "", "there is: gfx90a, up to 16 CUs an engine, 4 SIMDs, 10 slots"};
    }
    WAVETAP_TRY(auto program, Program::create(spec.name, space));
    return std::unique_ptr<Chip>(
        std::make_unique<ChipModel>(spec, agent, space, host, truth, std::move(program)));
}

ChipModel::ChipModel(const ChipSpec& spec, std::uint32_t agent, AddressSpace& space, Host& host,
                     TruthWriter* truth, std::unique_ptr<Program> program)
    : spec_(spec), agent_(agent), memory_(space), host_(host), truth_(truth),
      program_(std::move(program)), registers_(1, spec.shader_engines),
      dispatcher_(spec_, units_, *this) {
    if (truth_ != nullptr) truth_->chip(agent_, spec_.name);
    for (std::uint32_t se = 0; se < spec_.shader_engines; ++se) {
        traces_.push_back(std::make_unique<ThreadTraceUnit>(agent_, static_cast<std::uint16_t>(se),
                                                            memory_, truth_, spec_.cus_per_engine));
    }
    build_compute_units();
}

ChipModel::~ChipModel() {
    if (truth_ == nullptr) return;
    for (auto& unit : units_) {
        if (!unit) continue;
        unit->each_wave([&](WaveContext& wave) {
            if (wave.phase != WavePhase::kStarting) write_truth(wave, unit->se(), unit->cu(), 0);
        });
    }
    for (auto& unit : traces_)
        unit->close(clock_);
    truth_->flush();
}

bool ChipModel::is_harvested(std::uint32_t se, std::uint32_t cu) const {
    return std::find(spec_.harvested.begin(), spec_.harvested.end(), se << 8 | cu) !=
           spec_.harvested.end();
}

void ChipModel::build_compute_units() {
    for (std::uint32_t se = 0; se < spec_.shader_engines; ++se) {
        for (std::uint32_t cu = 0; cu < spec_.cus_per_engine; ++cu) {
            const ShaderServices services{*this,        memory_,       *program_,
                                          *traces_[se], spec_,         program_epoch_,
                                          host_,        instructions_, truth_ != nullptr};
            units_.push_back(
                is_harvested(se, cu) ? nullptr : std::make_unique<ComputeUnit>(services, se, cu));
        }
    }
    unit_next_.assign(units_.size(), kNever);
}

std::uint64_t ChipModel::count_at(std::uint64_t clock) const {
    const std::uint64_t seconds = clock / spec_.shader_clock_hz;
    const std::uint64_t rest = clock % spec_.shader_clock_hz;
    return seconds * spec_.counter_hz + rest * spec_.counter_hz / spec_.shader_clock_hz;
}

Result<QueueId> ChipModel::create_aql_queue(const AqlQueueInfo& info) {
    if (info.ring_bytes < 64 || (info.ring_bytes & (info.ring_bytes - 1)) != 0 ||
        info.ring_va % 64 != 0) {
        return Error{ErrorCode::kInvalidArgument,
                     "AQL ring of " + std::to_string(info.ring_bytes) +
                         " bytes: the size must be a power of two, aligned to 64",
                     format_hex(info.ring_va), ""};
    }
    for (const std::uint64_t va : {info.ring_va, info.write_index_va, info.read_index_va}) {
        if (memory_.at(va, 8, Access::kWrite) == nullptr)
            return Error{ErrorCode::kNotFound, "AQL queue memory is not mapped", format_hex(va),
                         ""};
    }
    const QueueServices services{memory_, host_, registers_, *this, dispatcher_, dispatch_ids_};
    const std::uint32_t id = ++last_queue_;
    aql_[id] = std::make_unique<AqlQueue>(services, id, info);
    return QueueId{id};
}

Result<QueueId> ChipModel::create_sdma_queue(const SdmaQueueInfo& info) {
    WAVETAP_TRY(SdmaQueue queue, SdmaQueue::create(info, memory_, host_));
    const std::uint32_t id = ++last_queue_;
    sdma_.emplace(id, Sdma{std::move(queue)});
    return QueueId{id};
}

void ChipModel::destroy_queue(QueueId queue) {
    sdma_.erase(queue.value);
    const auto at = aql_.find(queue.value);
    if (at == aql_.end()) return;
    for (Dispatch* dispatch : dispatcher_.of_queue(queue.value))
        dispatcher_.kill(*dispatch, clock_);
    aql_.erase(at);
    refresh_units();
    if (truth_ != nullptr) truth_->flush();
}

void ChipModel::suspend_queue(QueueId queue, bool suspended) {
    if (const auto at = aql_.find(queue.value); at != aql_.end())
        at->second->suspend(suspended, clock_);
    if (const auto at = sdma_.find(queue.value); at != sdma_.end()) {
        at->second.suspended = suspended;
        at->second.next = suspended ? kNever : clock_;
    }
}

void ChipModel::doorbell(QueueId queue, std::uint64_t value) {
    if (const auto at = aql_.find(queue.value); at != aql_.end())
        at->second->doorbell(value, clock_);
    if (const auto at = sdma_.find(queue.value); at != sdma_.end()) {
        at->second.queue.doorbell(value);
        if (!at->second.suspended && at->second.next == kNever) at->second.next = clock_;
    }
}

std::uint64_t ChipModel::next_event(bool& polls_only) const {
    std::uint64_t busy = dispatcher_.next();
    std::uint64_t polls = kNever;
    for (const auto& [id, queue] : aql_) {
        std::uint64_t& kind = queue->polling() ? polls : busy;
        kind = std::min(kind, queue->next());
    }
    for (const auto& [id, sdma] : sdma_) {
        std::uint64_t& kind = sdma.polling ? polls : busy;
        kind = std::min(kind, sdma.next);
    }
    for (const Ended& ended : ended_)
        busy = std::min(busy, ended.at);
    for (const std::uint64_t next : unit_next_)
        busy = std::min(busy, next);
    polls_only = busy == kNever && polls != kNever;
    return std::min(busy, polls);
}

Chip::Progress ChipModel::step(std::uint64_t clocks) {
    const std::uint64_t limit = (clock_ + clocks) / timing::kQuad * timing::kQuad;
    bool polled = false;
    for (;;) {
        bool polls_only = false;
        const std::uint64_t next = next_event(polls_only);
        if (next == kNever) return Progress::kIdle;
        if (polls_only) {
            if (polled) {
                clock_ = std::max(clock_, std::min(limit, clock_ + timing::kIdleStep));
                return Progress::kPolling;
            }
            poll_now(std::min(next, limit)); // every call looks at memory once
        } else if (next > limit) {
            clock_ = std::max(clock_, limit);
            return Progress::kRunning;
        }
        polled = polls_only;
        const std::uint64_t when = polls_only ? std::min(next, limit) : next;
        clock_ = std::max(clock_, (when + timing::kQuad - 1) / timing::kQuad * timing::kQuad);
        run_events(clock_);
    }
}

void ChipModel::poll_now(std::uint64_t now) {
    for (auto& [id, queue] : aql_)
        if (queue->polling() && queue->next() != kNever) queue->set_next(now);
    for (auto& [id, sdma] : sdma_)
        if (sdma.polling && sdma.next != kNever) sdma.next = std::min(sdma.next, now);
}

void ChipModel::run_events(std::uint64_t now) {
    for (auto& [id, queue] : aql_) {
        if (queue->next() > now) continue;
        serving_ = queue.get();
        queue->service(now);
        serving_ = nullptr;
    }
    for (auto& [id, sdma] : sdma_)
        if (sdma.next <= now) run_sdma(sdma, now);
    run_ended(now);
    if (dispatcher_.next() <= now) {
        dispatcher_.run(now);
        for (const std::size_t index : dispatcher_.touched())
            unit_next_[index] = units_[index]->next();
        dispatcher_.touched().clear();
    }
    run_units(now);
    if (!failures_.empty()) stop_failed(now);
}

void ChipModel::run_sdma(Sdma& sdma, std::uint64_t now) {
    const auto state = sdma.queue.step(timing::kSdmaSlice * kSdmaBytesPerClock);
    sdma.polling = state == SdmaQueue::State::kPolling;
    sdma.next = state == SdmaQueue::State::kRunning   ? now + timing::kSdmaSlice
                : state == SdmaQueue::State::kPolling ? now + timing::kSdmaPoll
                                                      : kNever;
}

void ChipModel::run_ended(std::uint64_t now) {
    std::vector<Ended> due;
    for (auto at = ended_.begin(); at != ended_.end();) {
        if (at->at <= now) {
            due.push_back(std::move(*at));
            at = ended_.erase(at);
        } else {
            ++at;
        }
    }
    // What the application sees as finished is in the log.
    if (!due.empty() && truth_ != nullptr) truth_->flush();
    for (Ended& ended : due) {
        const auto queue = aql_.find(ended.dispatch->queue);
        if (queue != aql_.end()) queue->second->dispatch_ended(*ended.dispatch, now);
    }
}

void ChipModel::run_units(std::uint64_t now) {
    for (std::size_t i = 0; i < unit_next_.size(); ++i) {
        if (unit_next_[i] > now) continue;
        units_[i]->run(now);
        unit_next_[i] = units_[i]->next();
    }
}

void ChipModel::stop_failed(std::uint64_t now) {
    const std::vector<Failure> failures = std::move(failures_);
    failures_.clear();
    for (const Failure& failure : failures) {
        const auto queue = aql_.find(failure.queue);
        if (queue != aql_.end()) queue->second->stop(failure.fault, failure.what, now);
    }
    refresh_units();
}

void ChipModel::refresh_units() {
    for (std::size_t i = 0; i < units_.size(); ++i)
        if (units_[i]) unit_next_[i] = units_[i]->next();
}

void ChipModel::write_truth(WaveContext& wave, unsigned se, unsigned cu, std::uint64_t end) {
    TruthWave record;
    record.agent = agent_;
    record.dispatch = wave.dispatch->id;
    record.se = static_cast<std::uint16_t>(se);
    record.cu = static_cast<std::uint16_t>(cu);
    record.simd = wave.simd;
    record.slot = wave.slot;
    record.threads = wave.threads;
    record.entry_pc = wave.entry_pc;
    record.start = wave.start;
    record.end = end;
    record.instructions = std::move(wave.log);
    truth_->wave(record);
}

void ChipModel::wave_ended(WaveContext& wave, unsigned se, unsigned cu, std::uint64_t now) {
    if (truth_ != nullptr) write_truth(wave, se, cu, now);
    if (wave.scratch_slot >= 0) {
        ScratchSlots& slots = *wave.dispatch->scratch;
        slots.used[static_cast<std::size_t>(wave.scratch_slot)] = false;
        ++slots.free;
    }
}

void ChipModel::group_ended(WorkGroup& group, std::uint64_t now) {
    dispatcher_.group_ended(group, now);
}

void ChipModel::wave_failed(WaveContext& wave, Trouble trouble, const std::string& what) {
    Failure failure{wave.dispatch->queue, std::nullopt, what};
    if (trouble == Trouble::kIllegalInstruction) failure.fault = QueueFault::kIllegalInstruction;
    if (trouble == Trouble::kTrap) failure.fault = QueueFault::kTrap;
    failures_.push_back(std::move(failure));
}

std::uint64_t ChipModel::memory_delay(std::uint64_t now) {
    const std::uint64_t start = std::max(memory_free16_, now * 16);
    memory_free16_ = start + timing::kMemoryShare16;
    return start / 16 - now;
}

void ChipModel::dispatch_started(const Dispatch& d, std::uint64_t now) {
    if (truth_ != nullptr) {
        truth_->dispatch({agent_, d.id, d.entry_pc, d.driver_queue, now,
                          static_cast<std::uint32_t>(d.workgroups)});
    }
    const auto user = [&](std::size_t i) { return i < d.user_sgprs.size() ? d.user_sgprs[i] : 0; };
    const std::pair<std::uint8_t, std::uint32_t> writes[] = {
        {kNumThreadX, d.group[0]},
        {kNumThreadX + 1, d.group[1]},
        {kNumThreadX + 2, d.group[2]},
        {kPacketLo, static_cast<std::uint32_t>(d.packet_va)},
        {kPgmLo, static_cast<std::uint32_t>(d.entry_pc >> 8)},
        {kPgmHi, static_cast<std::uint32_t>(d.entry_pc >> 40)},
        {kRsrc3, d.rsrc3},
        {kRsrc1, d.rsrc1},
        {kRsrc2, d.rsrc2},
        {kUserData0, user(0)},
        {kUserData0 + 1, user(1)},
        {kInitiator, kInitiatorValue},
    };
    for (auto& unit : traces_) {
        if (!unit->armed()) continue;
        for (const auto& [address, data] : writes)
            unit->compute_register(now, address, data, d.me, d.pipe);
    }
}

void ChipModel::dispatch_ended(std::unique_ptr<Dispatch> dispatch, std::uint64_t now) {
    ended_.push_back({std::move(dispatch), now + timing::kDispatchDrain});
}

ThreadTraceUnit& ChipModel::trace(std::uint32_t, std::uint32_t se) {
    return *traces_[se];
}

Result<void> ChipModel::write_trace_register(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                                             std::uint32_t value) {
    return trace(xcc, se).write_register(reg, value, clock_);
}

std::uint32_t ChipModel::read_trace_register(std::uint32_t xcc, std::uint32_t se,
                                             std::uint32_t reg) {
    return trace(xcc, se).read_register(reg, clock_);
}

void ChipModel::register_written(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                                 std::uint32_t value) {
    if (reg == pm4::gfx9::kComputePerfcountEnable && serving_ != nullptr)
        serving_->enable_counters((value & 1) != 0);
    const bool user_data =
        reg >= pm4::gfx9::kSqThreadTraceUserdata0 && reg <= pm4::gfx9::kSqThreadTraceUserdata3;
    trace(xcc, se).register_write(
        clock_, reg, value, user_data ? sqtt::Gfx9RegType::kUserData : sqtt::Gfx9RegType::kOther);
}

Result<void> ChipModel::write_counter_register(std::uint32_t xcc, std::uint32_t se,
                                               std::uint32_t reg, std::uint32_t value) {
    return trace(xcc, se).write_counter_register(reg, value, clock_);
}

void ChipModel::event(std::uint32_t, std::uint32_t event) {
    for (auto& unit : traces_) {
        unit->compute_event(clock_, event);
        if (event == kEventTraceFinish) unit->finish();
    }
}

void ChipModel::acquire(std::uint32_t, std::uint64_t, std::uint64_t, bool instruction_cache) {
    if (!instruction_cache) return;
    program_->invalidate();
    ++program_epoch_;
}

} // namespace wavetap::softgpu
