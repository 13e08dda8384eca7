// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/rdna_streams.hpp"

#include "base/units.hpp"
#include "pm4/packets.hpp"

#include <array>
#include <bit>
#include <initializer_list>
#include <string>

namespace wavetap::pm4 {

Generation generation_of(const std::string& gfx) {
    if (gfx == "gfx90a" || gfx == "gfx942" || gfx == "gfx950") return Generation::kGfx9;
    if (gfx.size() == 7 && gfx.rfind("gfx103", 0) == 0) return Generation::kGfx10;
    if (gfx.size() == 7 && gfx.rfind("gfx110", 0) == 0) return Generation::kGfx11;
    if (gfx == "gfx1200" || gfx == "gfx1201") return Generation::kGfx12;
    return Generation::kUnknown;
}

namespace rdna {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kAcquireUnit = 256;
constexpr std::uint32_t kFinishEvent = 0x37;
constexpr std::uint32_t kPartialFlush = 0x407;
constexpr std::uint32_t kRecordedFinishMask = 0x3FC; // eight of the field's twelve bits
constexpr std::uint32_t kFinishPending = 0xFFF;
constexpr std::uint32_t kBusy = 1U << 25;
constexpr std::uint32_t kWriteError = 1U << 24;
constexpr std::uint32_t kDoubleBuffer = 1U << 5;
constexpr std::uint32_t kIncludeCompute = 0x40U << 10;
constexpr std::uint32_t kExcludeForeignShaderData = 1U << 17;
constexpr std::uint32_t kWptrMask = 0x1FFFFFFF;
constexpr std::uint64_t kWptrUnit = 32;
constexpr std::uint32_t kGcrSequenceWriteback = 0x18000;
constexpr std::uint32_t kUserdata2 = gfx9::kSqThreadTraceUserdata2; // the same number on all

// User-data words, as on gfx9.
constexpr std::uint32_t kMarkerMagic = 0x434F5200;
constexpr std::uint32_t kMarkerVersion = 0x00080201;
constexpr std::uint32_t kMarkerAgentInfo = 6;

/// One generation's registers, COPY_DATA control words and token masks (spec pm4-sqtt.md 2.2, 4.2
/// to 4.4 and 5; names and numbers as in PAL's and Mesa's register databases).
struct Chip {
    std::uint32_t size[2], base[2], base_hi[2]; // of buffer slots 0 and 1; base_hi: gfx12 only
    std::uint32_t wptr, mask, token_mask, ctrl, status, status2, dropped;
    std::uint32_t write_immediate, read_register, read_unconfirmed, read_clock;
    std::uint32_t poll_interval;
    std::uint32_t detail, unselected;
    std::uint32_t occupancy_2025, occupancy_2026, occupancy_ours;
    std::uint32_t ctrl_on_2025, ctrl_on_2026;
    bool immediate_by_copy; // SQTT registers are written by COPY_DATA, not by SET_UCONFIG_REG
};

constexpr Chip kGfx10 = {{0x2341, 0x2343}, {0x2340, 0x2342}, {0, 0},     0x2344,     0x2345,
                         0x2346,           0x2347,           0x2348,     0x234F,     0x2349,
                         0x00000405,       0x00100204,       0x00000204, 0x00110209, 4,
                         0x00080683,       0x030007FF,       0x030807CF, 0x030807CF, 0x030807AF,
                         0xA0423F41,       0xA0423F41,       true};
constexpr Chip kGfx11 = {{0xD9E9, 0xD9EB}, {0xD9E8, 0xD9EA}, {0, 0},     0xD9EF,     0xD9ED,
                         0xD9EE,           0xD9EC,           0xD9F4,     0xD9F5,     0xD9FA,
                         0x00000005,       0x00100200,       0x00000200, 0x00110209, 16,
                         0x0C080683,       0x0F0007FF,       0x030807CF, 0x030807CF, 0x030807AF,
                         0xA0423941,       0xA0423941,       false};
constexpr Chip kGfx12 = {{0xD9E6, 0xD9E9},
                         {0xD9E7, 0xD9EA},
                         {0xD9E8, 0xD9EB},
                         0xD9EF,
                         0xD9ED,
                         0xD9EE,
                         0xD9EC,
                         0xD9F4,
                         0xD9F5,
                         0xD9FA,
                         0x06006005,
                         0x06106200,
                         0x06006200,
                         0x06116209,
                         4,
                         0x8C1F4003,
                         0x1F0007FF,
                         0x030807FF,
                         0x831F032F,
                         0x831F032F,
                         0xA0405941,
                         0x86B05941,
                         true};

const Chip& chip_of(Generation generation) {
    if (generation == Generation::kGfx10) return kGfx10;
    return generation == Generation::kGfx11 ? kGfx11 : kGfx12;
}

std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

class Builder {
  public:
    Builder(const TraceTopology& topology, const TraceConfig& config, const TraceMemory& memory,
            std::uint64_t capacity)
        : topology_(topology), config_(config), memory_(memory), capacity_(capacity),
          generation_(generation_of(topology.gfx)), chip_(chip_of(generation_)),
          layout_(control_layout(config.dialect)) {}

    std::vector<std::uint32_t> start();
    std::vector<std::uint32_t> stop();
    std::vector<std::uint32_t> query();
    std::vector<std::uint32_t> swap(std::uint32_t se, std::uint64_t index);

  private:
    bool ours() const { return config_.dialect == Dialect::kWavetap; }
    bool of_2025() const {
        return config_.dialect == Dialect::kJun25 || config_.dialect == Dialect::kAug25;
    }
    bool gfx12() const { return generation_ == Generation::kGfx12; }
    bool ring() const { return config_.buffers > 1; }
    bool selected(std::uint32_t se) const { return (config_.se_mask >> se & 1) != 0; }
    /// aqlprofile of 2025, and always on gfx10 and gfx11, arms every engine.
    bool programs_unselected() const { return of_2025() || (!ours() && !gfx12()); }

    void packet(Opcode opcode, std::initializer_list<std::uint32_t> body) {
        stream_.push_back(packet_header(opcode, static_cast<std::uint32_t>(body.size()) + 1));
        stream_.insert(stream_.end(), body);
    }
    void uconfig(std::uint32_t reg, std::uint32_t value) {
        packet(Opcode::kSetUconfigReg, {reg - kUconfigBase, value});
    }
    void broadcast() { uconfig(gfx9::kGrbmGfxIndex, gfx9::kGrbmBroadcast); }
    void select(std::uint32_t se) { uconfig(gfx9::kGrbmGfxIndex, gfx9::grbm_select(se)); }
    void copy_immediate(std::uint32_t reg, std::uint32_t value) {
        packet(Opcode::kCopyData, {chip_.write_immediate, value, 0, reg, 0});
    }
    void write(std::uint32_t reg, std::uint32_t value) {
        if (chip_.immediate_by_copy)
            copy_immediate(reg, value);
        else
            uconfig(reg, value);
    }
    void enable(std::uint32_t value) {
        packet(Opcode::kSetShReg, {gfx9::kComputeThreadTraceEnable - kShBase, value});
    }
    void event(std::uint32_t type) { packet(Opcode::kEventWrite, {type}); }
    void wait_status(std::uint32_t mask) {
        constexpr auto equal = static_cast<std::uint32_t>(WaitFunction::kEqual);
        packet(Opcode::kWaitRegMem, {equal, chip_.status, 0, 0, mask, chip_.poll_interval});
    }
    void read(std::uint32_t reg, std::uint64_t va, bool confirmed = true) {
        const std::uint32_t control = confirmed ? chip_.read_register : chip_.read_unconfirmed;
        packet(Opcode::kCopyData, {control, reg, 0, low(va), high(va)});
    }
    void clock(std::uint64_t va) {
        packet(Opcode::kCopyData, {chip_.read_clock, 0, 0, low(va), high(va)});
    }
    void acquire(std::uint64_t va, std::uint64_t bytes) {
        const std::uint64_t units = (bytes + kAcquireUnit - 1) / kAcquireUnit;
        packet(Opcode::kAcquireMem, {0, low(units), high(units) & 0xFF, low(va >> 8),
                                     low(va >> 40) & 0xFF, 0x10, kGcrSequenceWriteback});
    }

    std::uint64_t entry(std::uint32_t se) const {
        return memory_.control_va + engine_entry_offset(config_.dialect, se);
    }
    std::uint64_t clock_entry() const {
        return memory_.control_va + clock_entry_offset(topology_, config_.dialect, 0);
    }
    void flush_control() {
        acquire(memory_.control_va, std::uint64_t{topology_.engines_per_xcc} * layout_.entry_bytes);
    }
    void flush_outputs();

    void buffer(std::uint32_t slot, std::uint64_t va, std::uint64_t bytes);
    void base(std::uint32_t slot, std::uint64_t va);
    std::uint32_t mask() const;
    std::uint32_t tokens() const;
    std::uint32_t ctrl() const;
    void arm(std::uint32_t se, std::uint64_t va);
    void save(std::uint32_t se);

    const TraceTopology& topology_;
    const TraceConfig& config_;
    const TraceMemory& memory_;
    std::uint64_t capacity_;
    Generation generation_;
    const Chip& chip_;
    ControlLayout layout_;
    std::vector<std::uint32_t> stream_;
};

std::uint32_t Builder::mask() const {
    // A number here, not a mask: the field has two bits.
    const auto simd = static_cast<std::uint32_t>(std::countr_zero(config_.simd_mask));
    const bool exclude = of_2025() && generation_ != Generation::kGfx10;
    return kIncludeCompute | (exclude ? kExcludeForeignShaderData : 0) | config_.target_cu << 4 |
           simd;
}

std::uint32_t Builder::tokens() const {
    if (config_.detail) return chip_.detail;
    if (ours()) return chip_.occupancy_ours;
    return of_2025() ? chip_.occupancy_2025 : chip_.occupancy_2026;
}

std::uint32_t Builder::ctrl() const {
    return of_2025() ? chip_.ctrl_on_2025 : chip_.ctrl_on_2026;
}

void Builder::base(std::uint32_t slot, std::uint64_t va) {
    write(chip_.base[slot], low(va >> 12));
    if (gfx12()) write(chip_.base_hi[slot], low(va >> 44));
}

// SIZE goes before BASE: on gfx10 and gfx11 it also holds the high bits of the base.
void Builder::buffer(std::uint32_t slot, std::uint64_t va, std::uint64_t bytes) {
    const std::uint32_t pages = low(bytes / kPage);
    write(chip_.size[slot], gfx12() ? pages : pages << 8 | (low(va >> 44) & 0xF));
    base(slot, va);
}

void Builder::arm(std::uint32_t se, std::uint64_t va) {
    const bool wanted = selected(se);
    select(se);
    buffer(0, va, wanted ? capacity_ : kPage);
    if (gfx12()) write(chip_.wptr, 0);
    write(chip_.mask, mask());
    write(chip_.token_mask, wanted ? tokens() : chip_.unselected);
    write(chip_.ctrl, ctrl() | (ring() ? kDoubleBuffer : 0));
    if (ring()) buffer(1, active_output(memory_, 1), capacity_);
}

std::vector<std::uint32_t> Builder::start() {
    broadcast();
    copy_immediate(chip_.status, 0);
    if (gfx12()) copy_immediate(gfx9::kSpiSqgEventCtl, 3);
    if (ours()) write(chip_.ctrl, ctrl() & ~1U);
    std::uint64_t va = memory_.output_va;
    for (std::uint32_t se = 0; se < topology_.engines_per_xcc; ++se) {
        if (!selected(se) && !programs_unselected()) continue;
        arm(se, va);
        va += selected(se) ? capacity_ : kPage;
    }
    for (std::uint32_t se = 0; se < topology_.engines_per_xcc; ++se) {
        if (!selected(se)) continue;
        select(se);
        enable(1);
    }
    broadcast();
    if (of_2025()) event(kPartialFlush);
    uconfig(kUserdata2, kMarkerMagic);
    uconfig(kUserdata2, kMarkerVersion);
    if (of_2025()) return std::move(stream_);
    if (config_.clock_markers && config_.clock_khz != 0)
        uconfig(kUserdata2, kMarkerAgentInfo | config_.clock_khz << 12);
    clock(clock_entry() + layout_.start_clock);
    flush_control();
    return std::move(stream_);
}

void Builder::flush_outputs() {
    acquire(memory_.output_va, config_.buffer_bytes);
    if (!ring()) return;
    // The re-created library walks its ring, which an odd number of buffers makes twice as long.
    const std::size_t count = memory_.extra_output_va.size() + 1;
    const std::size_t steps = ours() ? count - 1 : (count % 2 == 0 ? count : 2 * count);
    for (std::size_t i = 1; i <= steps; ++i)
        acquire(active_output(memory_, i), config_.buffer_bytes);
}

void Builder::save(std::uint32_t se) {
    select(se);
    if (ours()) {
        wait_status(kFinishPending);
        write(chip_.ctrl, ctrl() & ~1U);
        wait_status(kBusy);
    }
    read(chip_.status, entry(se) + layout_.status);
    read(chip_.dropped, entry(se) + layout_.counter);
    read(chip_.wptr, entry(se) + layout_.wptr);
    if (gfx12() && !of_2025()) read(chip_.status2, entry(se) + layout_.status2);
}

std::vector<std::uint32_t> Builder::stop() {
    broadcast();
    if (of_2025()) event(kPartialFlush);
    if (!of_2025()) clock(clock_entry() + layout_.end_clock);
    if (!ours()) broadcast();
    enable(0);
    if (ours() || gfx12()) event(kFinishEvent);
    if (!ours()) {
        wait_status(kRecordedFinishMask);
        write(chip_.ctrl, ctrl() & ~1U);
        wait_status(kBusy);
    }
    for (std::uint32_t se = 0; se < topology_.engines_per_xcc; ++se)
        if (selected(se) || !ours()) save(se);
    broadcast();
    if (!of_2025()) flush_outputs();
    if (ours() || generation_ != Generation::kGfx10) flush_control();
    if (of_2025()) event(kPartialFlush);
    return std::move(stream_);
}

std::vector<std::uint32_t> Builder::query() {
    const auto se = static_cast<std::uint32_t>(std::countr_zero(config_.se_mask));
    if (ours()) broadcast();
    select(se);
    read(chip_.status2, entry(se) + layout_.query_status, ours());
    if (ours()) read(chip_.wptr, entry(se) + layout_.query_wptr);
    if (ours()) {
        broadcast();
        flush_control();
    } else {
        acquire(entry(se), layout_.entry_bytes);
        broadcast();
    }
    return std::move(stream_);
}

std::vector<std::uint32_t> Builder::swap(std::uint32_t se, std::uint64_t index) {
    if (ours()) broadcast();
    select(se);
    if (ours()) {
        clock(clock_entry() + layout_.swap_clock);
        read(chip_.status2, entry(se) + layout_.query_status);
        read(chip_.wptr, entry(se) + layout_.query_wptr);
    }
    base(index % 2, active_output(memory_, index + 2));
    if (ours())
        broadcast();
    else
        clock(clock_entry() + layout_.swap_clock);
    acquire(active_output(memory_, index), config_.buffer_bytes);
    flush_control();
    if (!ours()) broadcast();
    return std::move(stream_);
}

} // namespace

Result<void> check(const TraceTopology& topology, const TraceConfig& config) {
    if (std::popcount(config.simd_mask) != 1)
        return Error{ErrorCode::kInvalidArgument,
                     "SIMD mask " + format_hex(config.simd_mask) + " names " +
                         std::to_string(std::popcount(config.simd_mask)) + " SIMDs",
                     "SIMD mask", topology.gfx + " traces one SIMD of the target WGP at a time"};
    if (!config.counters.empty())
        return Error{ErrorCode::kUnsupported, "counters in the trace are a feature of gfx9",
                     topology.gfx, ""};
    if (config.buffers > 1 && generation_of(topology.gfx) != Generation::kGfx12)
        return Error{ErrorCode::kUnsupported,
                     topology.gfx + " cannot go on in another buffer when one is full", "buffers",
                     "use one buffer"};
    if (config.buffers > 1 && std::popcount(config.se_mask) != 1)
        return Error{ErrorCode::kUnsupported,
                     "a ring of " + topology.gfx + " serves one shader engine", "buffers",
                     "select one shader engine, or use one buffer"};
    return {};
}

std::vector<std::uint32_t> start(const TraceTopology& topology, const TraceConfig& config,
                                 const TraceMemory& memory, std::uint64_t capacity) {
    return Builder(topology, config, memory, capacity).start();
}
std::vector<std::uint32_t> stop(const TraceTopology& topology, const TraceConfig& config,
                                const TraceMemory& memory, std::uint64_t capacity) {
    return Builder(topology, config, memory, capacity).stop();
}
std::vector<std::uint32_t> query(const TraceTopology& topology, const TraceConfig& config,
                                 const TraceMemory& memory, std::uint64_t capacity) {
    return Builder(topology, config, memory, capacity).query();
}
std::vector<std::uint32_t> swap(const TraceTopology& topology, const TraceConfig& config,
                                const TraceMemory& memory, std::uint64_t capacity, std::uint32_t se,
                                std::uint64_t index) {
    return Builder(topology, config, memory, capacity).swap(se, index);
}

QueryResult interpret(std::uint32_t status2, std::uint32_t wptr) {
    constexpr std::uint32_t kSlotsFull = 3, kLockedDown = 1U << 4;
    QueryResult result;
    result.needs_swap = (status2 & kSlotsFull) != 0;
    result.running = (status2 & kLockedDown) == 0;
    result.bytes = (wptr & kWptrMask) * kWptrUnit;
    return result;
}

EngineResult interpret(Generation generation, const ControlWords& words,
                       std::uint64_t capacity_bytes) {
    EngineResult result;
    result.bytes = (words.wptr & kWptrMask) * kWptrUnit;
    // gfx11.0 counts from address 0; 29 bits of the difference are kept.
    if (generation == Generation::kGfx11)
        result.bytes = (words.wptr * kWptrUnit - words.engine_va) & kWptrMask;
    if (generation == Generation::kGfx12) result.full = (words.status2 & 3) != 0;
    result.full = result.full || result.bytes >= capacity_bytes;
    result.write_error = (words.status & kWriteError) != 0;
    if (result.bytes > capacity_bytes) result.bytes = capacity_bytes;
    return result;
}

} // namespace rdna

} // namespace wavetap::pm4
