// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/compute_unit.hpp"

#include "base/units.hpp"
#include "softgpu/timing.hpp"

#include <algorithm>
#include <bit>

namespace wavetap::softgpu {

namespace {

using timing::kQuad;

constexpr std::size_t kMaxVmCnt = 63;
constexpr std::size_t kMaxLgkmCnt = 15;
constexpr std::size_t kMaxExpCnt = 7;
constexpr std::uint8_t kTypePc = 7;
constexpr std::uint8_t kTypeJump = 12;
constexpr std::uint8_t kTypeNext = 13;
constexpr std::uint8_t kTypeMatrix = 28;

std::uint64_t round_up(std::uint64_t clocks) {
    return (clocks + kQuad - 1) / kQuad * kQuad;
}

// Scalar issue categories; flat shares the vector-memory path.
std::uint32_t category(Unit unit) {
    return 1U << static_cast<unsigned>(unit == Unit::kFlat ? Unit::kVmem : unit);
}

void drop_returned(std::vector<std::uint64_t>& returns, std::uint64_t now) {
    const auto first = std::upper_bound(returns.begin(), returns.end(), now);
    returns.erase(returns.begin(), first);
}

void add_return(std::vector<std::uint64_t>& returns, std::uint64_t clock, bool in_order) {
    if (in_order && !returns.empty()) clock = std::max(clock, returns.back());
    returns.insert(std::upper_bound(returns.begin(), returns.end(), clock), clock);
}

std::uint32_t quads_of(const Op& op) {
    return op.unit == Unit::kValu ? std::max<std::uint32_t>(op.issue_quads, 1) : 1;
}

std::uint32_t perf_classes(const Op& op) {
    const std::uint32_t way = op.is_store ? kPerfWrite : kPerfRead;
    switch (op.unit) {
    case Unit::kValu:
        return op.sqtt_type == kTypeMatrix ? kPerfValu | kPerfMfma : std::uint32_t{kPerfValu};
    case Unit::kSalu:
        return kPerfSalu;
    case Unit::kSmem:
        return kPerfSmem;
    case Unit::kVmem:
        return kPerfVmem | way;
    case Unit::kFlat:
        return kPerfFlat | way;
    case Unit::kLds:
        return kPerfLds;
    case Unit::kBranch:
        return kPerfBranch;
    case Unit::kMessage:
        return kPerfMessage;
    case Unit::kImmediate:
        break;
    }
    return 0;
}

// When at most `limit` operations are still out.
std::uint64_t satisfied_at(const std::vector<std::uint64_t>& returns, std::size_t limit) {
    return returns.size() <= limit ? 0 : returns[returns.size() - limit - 1];
}

// Thousands of waves take turns: their state is seldom in the nearest cache.
void prefetch(const WaveContext* wave) {
    __builtin_prefetch(&wave->phase);
    __builtin_prefetch(&wave->state.pc);
    __builtin_prefetch(&wave->state.vgpr);
}

} // namespace

ComputeUnit::ComputeUnit(ShaderServices services, unsigned se, unsigned cu)
    : services_(services), se_(se), cu_(cu),
      simd_count_(std::min(services.spec.simds_per_cu, kMaxSimds)),
      lds_free_(services.spec.lds_bytes) {}

bool ComputeUnit::empty() const {
    return std::all_of(simds_.begin(), simds_.end(),
                       [](const Simd& simd) { return simd.order.empty(); });
}

std::uint32_t ComputeUnit::room(const GroupNeeds& needs, std::uint32_t slots, std::uint32_t vgprs,
                                std::uint32_t sgprs) {
    if (needs.vgpr_allocation != 0) slots = std::min(slots, vgprs / needs.vgpr_allocation);
    if (needs.sgpr_allocation != 0) slots = std::min(slots, sgprs / needs.sgpr_allocation);
    return slots;
}

bool ComputeUnit::fits(const GroupNeeds& needs) const {
    if (needs.lds_bytes > lds_free_ || groups_ >= kGroupsPerCu) return false;
    std::uint32_t waves = 0;
    for (unsigned s = 0; s < simd_count_; ++s) {
        const Simd& simd = simds_[s];
        const auto slots =
            services_.spec.wave_slots - static_cast<std::uint32_t>(std::popcount(simd.slots_used));
        waves += room(needs, slots, simd.vgprs_free, simd.sgprs_free);
    }
    return waves >= needs.waves;
}

std::vector<WavePlace> ComputeUnit::choose(const GroupNeeds& needs) {
    std::array<std::uint32_t, kMaxSimds> used{}, left{};
    for (unsigned s = 0; s < simd_count_; ++s) {
        const Simd& simd = simds_[s];
        used[s] = simd.slots_used;
        const auto slots =
            services_.spec.wave_slots - static_cast<std::uint32_t>(std::popcount(used[s]));
        left[s] = room(needs, slots, simd.vgprs_free, simd.sgprs_free);
    }
    std::vector<WavePlace> places;
    while (places.size() < needs.waves) {
        const unsigned s = next_simd_;
        next_simd_ = (next_simd_ + 1) % simd_count_;
        if (left[s] == 0) continue;
        --left[s];
        const auto slot = static_cast<unsigned>(std::countr_one(used[s]));
        used[s] |= 1U << slot;
        places.push_back({static_cast<std::uint8_t>(cu_), static_cast<std::uint8_t>(s),
                          static_cast<std::uint8_t>(slot)});
    }
    return places;
}

void ComputeUnit::add(std::unique_ptr<WaveContext> wave, const WavePlace& place,
                      std::uint64_t start) {
    Simd& simd = simds_[place.simd];
    simd.slots_used |= 1U << place.slot;
    simd.vgprs_free -= wave->vgpr_allocation;
    simd.sgprs_free -= wave->sgpr_allocation;
    simd.order.push_back(place.slot);
    wave->simd = place.simd;
    wave->slot = place.slot;
    set_next(*wave, start);
    next_ = std::min(next_, start);
    simd.waves[place.slot] = std::move(wave);
}

void ComputeUnit::run(std::uint64_t now) {
    for (const Simd& simd : simds_) {
        if (simd.soonest > now) continue;
        for (unsigned slot = 0; slot < kMaxSlots; ++slot)
            if (simd.next[slot] <= now) prefetch(simd.waves[slot].get());
    }
    const auto first = static_cast<unsigned>(now / kQuad % simd_count_);
    for (unsigned i = 0; i < simd_count_ && !failed_; ++i) {
        Turn turn;
        turn.now = now;
        turn.simd = (first + i) % simd_count_;
        if (simds_[turn.simd].soonest <= now) run_simd(turn);
    }
    failed_ = false;
    if (has_ended_) {
        for (Simd& simd : simds_)
            remove_ended(simd);
        has_ended_ = false;
    }
    recompute_next(now);
}

void ComputeUnit::recompute_next(std::uint64_t now) {
    next_ = kNever;
    for (Simd& simd : simds_) {
        if (simd.soonest <= now)
            simd.soonest = *std::min_element(simd.next.begin(), simd.next.end());
        next_ = std::min(next_, simd.soonest);
    }
    if (next_ != kNever) next_ = std::max(next_, now + kQuad);
}

void ComputeUnit::run_simd(Turn& turn) {
    Simd& simd = simds_[turn.simd];
    turn.watched = services_.trace.details(cu_, turn.simd);
    for (const std::uint8_t slot : simd.order) {
        if (simd.next[slot] <= turn.now) advance(turn, *simd.waves[slot]);
        if (failed_) break;
    }
    if (turn.any_state) services_.trace.issue(turn.now, turn.simd, turn.states);
    for (unsigned i = 0; i < turn.issued_count; ++i) {
        const Turn::Issued& issued = turn.issued[i];
        services_.trace.inst(issued.due, turn.simd, issued.slot, issued.type, issued.next_pc);
    }
}

void ComputeUnit::advance(Turn& turn, WaveContext& wave) {
    switch (wave.phase) {
    case WavePhase::kStarting:
        start_wave(turn, wave);
        break;
    case WavePhase::kReady:
        try_issue(turn, wave);
        break;
    case WavePhase::kWaiting:
    case WavePhase::kAsleep:
    case WavePhase::kReleased:
        finish_immediate(turn, wave);
        break;
    case WavePhase::kBarrier:
        set_next(wave, kNever);
        break;
    case WavePhase::kEnding:
        end_wave(wave, turn.now);
        break;
    }
}

void ComputeUnit::start_wave(Turn& turn, WaveContext& wave) {
    sqtt::Gfx9WaveStart token;
    token.wave = {static_cast<std::uint8_t>(cu_), wave.simd, wave.slot, 0};
    token.me = wave.dispatch->me;
    token.pipe = wave.dispatch->pipe;
    token.count = static_cast<std::uint8_t>(wave.threads);
    token.thread_group = wave.group->number & 7;
    token.grouped = wave.group->waves() > 1;
    services_.trace.wave_start(turn.now, token);
    if (wave.dispatch->counted)
        services_.trace.count_start(turn.now, token_place(wave), wave.threads);
    wave.start = turn.now;
    wave.phase = wave.killed_early ? WavePhase::kEnding : WavePhase::kReady;
    set_next(wave, turn.now + timing::kWaveInit);
}

const Op* ComputeUnit::fetch(WaveContext& wave) {
    if (wave.op != nullptr && wave.op_epoch == services_.program_epoch) return wave.op;
    auto op = services_.program.fetch(wave.state.pc);
    if (!op) {
        const bool unmapped = op.error().code == ErrorCode::kNotFound;
        if (unmapped)
            services_.front_end.memory_fault(wave.state.pc, Access::kExecute,
                                             "instruction fetch" + in_code(wave.state.pc));
        fail(wave,
             unmapped ? ShaderHost::Trouble::kMemoryFault
                      : ShaderHost::Trouble::kIllegalInstruction,
             to_string(op.error()));
        return nullptr;
    }
    wave.op = *op;
    wave.op_epoch = services_.program_epoch;
    return wave.op;
}

void ComputeUnit::try_issue(Turn& turn, WaveContext& wave) {
    const Op* op = fetch(wave);
    if (op == nullptr) return;
    if (op->sqtt_type == kNoInstToken) {
        immediate(turn, wave, *op);
        return;
    }
    if (unit_free(turn, wave, *op) && !counters_full(wave, *op, turn.now)) {
        issue(turn, wave, *op);
        return;
    }
    set_next(wave, turn.now + kQuad);
    if (!wave.stall_shown) {
        wave.stall_shown = true;
        show_state(turn, wave, sqtt::Gfx9Issue::kStall);
    }
}

bool ComputeUnit::unit_free(const Turn& turn, const WaveContext& wave, const Op& op) const {
    if ((turn.categories & category(op.unit)) != 0) return false;
    switch (op.unit) {
    case Unit::kValu:
        return simds_[wave.simd].valu_free_at <= turn.now;
    case Unit::kSmem:
        return smem_free_at_ <= turn.now;
    case Unit::kVmem:
    case Unit::kFlat:
        return vmem_free_at_ <= turn.now;
    case Unit::kLds:
        return lds_free_at_ <= turn.now;
    default:
        return true;
    }
}

bool ComputeUnit::counters_full(WaveContext& wave, const Op& op, std::uint64_t now) {
    if (op.counters == kNoCounter) return false;
    drop_returned(wave.vector_returns, now);
    drop_returned(wave.scalar_returns, now);
    drop_returned(wave.export_returns, now);
    return ((op.counters & kVmCnt) != 0 && wave.vector_returns.size() >= kMaxVmCnt) ||
           ((op.counters & kLgkmCnt) != 0 && wave.scalar_returns.size() >= kMaxLgkmCnt) ||
           ((op.counters & kExpCnt) != 0 && wave.export_returns.size() >= kMaxExpCnt);
}

void ComputeUnit::occupy(Turn& turn, const Op& op) {
    turn.categories |= category(op.unit);
    const std::uint64_t quads = std::max<std::uint64_t>(op.issue_quads, 1);
    const std::uint64_t until = turn.now + timing::unit_times(op.unit).busy;
    switch (op.unit) {
    case Unit::kValu:
        simds_[turn.simd].valu_free_at = turn.now + quads * kQuad;
        break;
    case Unit::kSmem:
        smem_free_at_ = until;
        break;
    case Unit::kVmem:
    case Unit::kFlat:
        vmem_free_at_ = until;
        break;
    case Unit::kLds:
        lds_free_at_ = std::max(until, turn.now + quads * kQuad);
        break;
    default:
        break;
    }
}

// Data come back in order, except that scalar loads and LDS overtake each other.
void ComputeUnit::start_operation(WaveContext& wave, const Op& op, std::uint64_t now) {
    std::uint64_t latency = timing::unit_times(op.unit).latency;
    if (op.unit == Unit::kVmem || op.unit == Unit::kFlat || op.unit == Unit::kSmem)
        latency += services_.host.memory_delay(now);
    const std::uint64_t done = round_up(now + latency);
    if ((op.counters & kVmCnt) != 0) add_return(wave.vector_returns, done, true);
    if ((op.counters & kLgkmCnt) != 0)
        add_return(wave.scalar_returns, done, op.unit != Unit::kSmem);
    if ((op.counters & kExpCnt) != 0)
        add_return(wave.export_returns, round_up(now + timing::kExportLatency), true);
}

void ComputeUnit::issue(Turn& turn, WaveContext& wave, const Op& op) {
    const std::uint64_t pc = wave.state.pc;
    if (op.unit == Unit::kSmem) { // s_memtime, s_memrealtime
        wave.state.clock = turn.now;
        wave.state.realtime = services_.host.counter_at(turn.now);
    }
    const StepInfo info = execute(op, wave.state, services_.memory);
    ++services_.instructions;
    if (info.outcome == Outcome::kIllegal) {
        fail(wave, ShaderHost::Trouble::kIllegalInstruction,
             "cannot execute " + op.text + " at PC " + format_hex(pc));
        return;
    }
    if (info.outcome == Outcome::kMemoryFault) {
        services_.front_end.memory_fault(info.fault_va, info.fault_access,
                                         op.text + " at " + format_hex(pc) + in_code(pc));
        fail(wave, ShaderHost::Trouble::kMemoryFault,
             "memory fault at " + format_hex(info.fault_va) + " by " + op.text + ", pc " +
                 format_hex(pc));
        return;
    }
    wave.op = nullptr;
    wave.stall_shown = false;
    occupy(turn, op);
    if (op.counters != kNoCounter) start_operation(wave, op, turn.now);
    show_issue(turn, wave, op, info);
    if (wave.dispatch->counted && services_.trace.counting())
        services_.trace.count_issue(turn.now, token_place(wave), perf_classes(op), quads_of(op));
    note(wave, pc, turn.now);
    apply(turn, wave, op, info, pc);
}

void ComputeUnit::show_issue(Turn& turn, WaveContext& wave, const Op& op, const StepInfo& info) {
    std::uint8_t type = op.sqtt_type;
    if (info.outcome == Outcome::kTaken) type = kTypeJump;
    if (info.outcome == Outcome::kNotTaken) type = kTypeNext;
    if (info.outcome == Outcome::kJump) type = kTypePc;
    const std::uint64_t quads = op.unit == Unit::kValu ? op.issue_quads : 1;
    const std::uint64_t due = turn.now + timing::inst_token_quads(type, turn.simd, quads) * kQuad;
    wave.token_due = std::max(wave.token_due, due);
    if (!turn.watched || !services_.trace.type_on(type)) return;
    show_state(turn, wave, sqtt::Gfx9Issue::kInstruction);
    turn.issued[turn.issued_count++] = {wave.token_due, wave.slot, type,
                                        type == kTypePc ? std::optional(wave.state.pc)
                                                        : std::nullopt};
}

void ComputeUnit::show_state(Turn& turn, const WaveContext& wave, sqtt::Gfx9Issue state) {
    if (!turn.watched) return;
    turn.states[wave.slot] = state;
    turn.any_state = true;
}

void ComputeUnit::apply(Turn& turn, WaveContext& wave, const Op& op, const StepInfo& info,
                        std::uint64_t pc) {
    const std::uint64_t quads =
        op.unit == Unit::kValu ? std::max<std::uint64_t>(op.issue_quads, 1) : 1;
    std::uint64_t next = turn.now + quads * kQuad;
    switch (info.outcome) {
    case Outcome::kTaken:
    case Outcome::kJump:
        next = turn.now + timing::kBranchTaken;
        break;
    case Outcome::kNotTaken:
        next = turn.now + timing::kBranchNotTaken;
        break;
    case Outcome::kBarrier:
        wave.blocked_pc = pc;
        arrive(turn, wave);
        return;
    case Outcome::kUserData:
        services_.trace.user_data(turn.now, {static_cast<std::uint8_t>(cu_), wave.simd, wave.slot},
                                  info.user_data);
        break;
    case Outcome::kEnd:
        wave.phase = WavePhase::kEnding;
        next = std::max(turn.now + timing::kWaveEnd, wave.token_due);
        break;
    case Outcome::kTrap:
        fail(wave, ShaderHost::Trouble::kTrap,
             op.text + " (" + std::to_string(info.user_data) + ") at " + format_hex(pc));
        return;
    default:
        break;
    }
    set_next(wave, next);
}

// Executed at the first attempt; the trace shows it, and the log has it, when it is finished.
void ComputeUnit::immediate(Turn& turn, WaveContext& wave, const Op& op) {
    wave.blocked_pc = wave.state.pc;
    const StepInfo info = execute(op, wave.state, services_.memory);
    ++services_.instructions;
    wave.op = nullptr;
    wave.phase = WavePhase::kAsleep;
    std::uint64_t done = turn.now;
    switch (info.outcome) {
    case Outcome::kWait:
        wave.phase = WavePhase::kWaiting;
        done = std::max({turn.now, satisfied_at(wave.vector_returns, info.vmcnt),
                         satisfied_at(wave.scalar_returns, info.lgkmcnt),
                         satisfied_at(wave.export_returns, info.expcnt)});
        break;
    case Outcome::kSleep:
        done = turn.now + (std::max(info.sleep_quads, 1U) - 1) * kQuad;
        break;
    case Outcome::kBarrier:
        arrive(turn, wave);
        return;
    case Outcome::kUserData:
        services_.trace.user_data(turn.now, {static_cast<std::uint8_t>(cu_), wave.simd, wave.slot},
                                  info.user_data);
        break;
    case Outcome::kIllegal:
        fail(wave, ShaderHost::Trouble::kIllegalInstruction,
             "cannot execute " + op.text + " at PC " + format_hex(wave.blocked_pc));
        return;
    case Outcome::kTrap:
        fail(wave, ShaderHost::Trouble::kTrap,
             op.text + " (" + std::to_string(info.user_data) + ") at " +
                 format_hex(wave.blocked_pc));
        return;
    default:
        break;
    }
    if (done <= turn.now)
        finish_immediate(turn, wave);
    else
        set_next(wave, done);
}

void ComputeUnit::finish_immediate(Turn& turn, WaveContext& wave) {
    drop_returned(wave.vector_returns, turn.now);
    drop_returned(wave.scalar_returns, turn.now);
    drop_returned(wave.export_returns, turn.now);
    show_state(turn, wave, sqtt::Gfx9Issue::kImmediate);
    note(wave, wave.blocked_pc, turn.now);
    wave.stall_shown = false;
    wave.phase = WavePhase::kReady;
    set_next(wave, turn.now + kQuad);
}

void ComputeUnit::arrive(Turn& turn, WaveContext& wave) {
    wave.phase = WavePhase::kBarrier;
    set_next(wave, kNever);
    ++wave.group->arrived;
    release_if_complete(*wave.group, turn.now);
}

void ComputeUnit::release_if_complete(WorkGroup& group, std::uint64_t now) {
    if (group.arrived == 0 || group.arrived < group.live) return;
    group.arrived = 0;
    for (Simd& simd : simds_) {
        for (const std::uint8_t slot : simd.order) {
            WaveContext& wave = *simd.waves[slot];
            if (wave.group != &group || wave.phase != WavePhase::kBarrier) continue;
            wave.phase = WavePhase::kReleased;
            set_next(wave, now + timing::kBarrierRelease);
        }
    }
}

void ComputeUnit::end_wave(WaveContext& wave, std::uint64_t now) {
    services_.trace.wave_end(now, token_place(wave));
    if (wave.dispatch->counted) services_.trace.count_end(now, token_place(wave));
    set_next(wave, kNever);
    has_ended_ = true;
    --wave.group->live;
    services_.host.wave_ended(wave, se_, cu_, now);
    WorkGroup* group = wave.group;
    wave.group = nullptr;
    if (group->live == 0) {
        release_group(group->dispatch->lds_bytes);
        services_.host.group_ended(*group, now);
    } else {
        release_if_complete(*group, now);
    }
}

// Ended waves have lost their group; their slot is free from now on.
void ComputeUnit::remove_ended(Simd& simd) {
    std::erase_if(simd.order, [&](std::uint8_t slot) {
        std::unique_ptr<WaveContext>& wave = simd.waves[slot];
        if (wave->group != nullptr) return false;
        simd.slots_used &= ~(1U << slot);
        simd.vgprs_free += wave->vgpr_allocation;
        simd.sgprs_free += wave->sgpr_allocation;
        wave.reset();
        return true;
    });
}

// The waves leave by the ordinary way, so that the trace and the log show their end.
void ComputeUnit::kill(const Dispatch& dispatch, std::uint64_t now) {
    for (Simd& simd : simds_) {
        for (const std::uint8_t slot : simd.order) {
            WaveContext& wave = *simd.waves[slot];
            if (wave.dispatch != &dispatch || wave.phase == WavePhase::kEnding) continue;
            if (wave.phase == WavePhase::kStarting) {
                wave.killed_early = true;
                continue;
            }
            set_next(wave, std::max(now, wave.token_due) + kQuad);
            wave.phase = WavePhase::kEnding;
        }
    }
    recompute_next(now);
}

void ComputeUnit::fail(WaveContext& wave, ShaderHost::Trouble trouble, const std::string& what) {
    failed_ = true;
    set_next(wave, kNever);
    services_.host.wave_failed(wave, trouble, what + in_code(wave.state.pc));
}

std::string ComputeUnit::in_code(std::uint64_t pc) const {
    const std::string code = services_.front_end.code_at(pc);
    return code.empty() ? "" : " in " + code;
}

void ComputeUnit::note(WaveContext& wave, std::uint64_t pc, std::uint64_t time) {
    if (services_.log_instructions) wave.log.push_back({pc, time});
}

} // namespace wavetap::softgpu
