// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "softgpu/memory.hpp"
#include "softgpu/perf_unit.hpp"
#include "softgpu/truth.hpp"
#include "sqtt/gfx9_writer.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

// The thread-trace unit of one shader engine (gfx9). It is driven by its registers alone: what it
// records follows from MASK, TOKEN_MASK, TOKEN_MASK2 and MODE, and where the bytes go from BASE,
// BASE2, SIZE and CTRL. Register fields: format notes pm4-sqtt section 4.1; buffer rules: section 9.

namespace wavetap::softgpu {

/// Where a wave sits in its engine, as the tokens have it.
struct WavePlace {
    std::uint8_t cu = 0, simd = 0, slot = 0;
};

/// Owned by the chip; not thread safe. Clocks are shader clocks and never run backwards.
class ThreadTraceUnit final : private sqtt::TokenSink {
  public:
    static constexpr unsigned kIssueSlots = sqtt::kGfx9SlotsPerIssue;
    using IssueStates = std::array<sqtt::Gfx9Issue, kIssueSlots>;

    /// `memory` and `truth` (may be null) must outlive the unit. `se` counts over all XCCs.
    ThreadTraceUnit(std::uint32_t agent, std::uint16_t se, Memory& memory, TruthWriter* truth,
                    unsigned cus = 14)
        : agent_(agent), se_(se), memory_(memory), truth_(truth), writer_(*this), perf_(cus) {}
    ~ThreadTraceUnit() override = default;
    ThreadTraceUnit(const ThreadTraceUnit&) = delete;
    ThreadTraceUnit& operator=(const ThreadTraceUnit&) = delete;

    /// Registers 0xC330..0xC33C.
    static bool owns(std::uint32_t reg);
    /// Errors: kUnsupported for MODE bits that are not modelled, naming them.
    Result<void> write_register(std::uint32_t reg, std::uint32_t value, std::uint64_t now);
    std::uint32_t read_register(std::uint32_t reg, std::uint64_t now);
    /// Registers of the engine's performance counters. Errors: as PerfUnit's.
    Result<void> write_counter_register(std::uint32_t reg, std::uint32_t value, std::uint64_t now);
    /// EVENT_WRITE THREAD_TRACE_FINISH: everything pending counts as written.
    void finish();
    /// Writes the open drop record, if any (chip destruction).
    void close(std::uint64_t now);

    bool armed() const { return armed_; }
    std::uint64_t base() const { return register_base(); }

    /// True if instructions of this CU and SIMD are recorded now: the caller then reports them.
    bool details(unsigned cu, unsigned simd) const {
        return detail_on_ && cu == target_cu_ && (simd_mask_ >> simd & 1) != 0;
    }
    /// False: instructions of this INST type leave no ISSUE state and no INST token (TOKEN_MASK2).
    bool type_on(std::uint8_t inst_type) const {
        return (regs_[kTokenMask2] >> (inst_type & 31) & 1) != 0;
    }

    void wave_start(std::uint64_t now, const sqtt::Gfx9WaveStart& start);
    void wave_end(std::uint64_t now, const WavePlace& place);
    void issue(std::uint64_t now, unsigned simd, const IssueStates& states);
    /// What an issued instruction was; its token comes at `due` >= now, at most 5 quads later.
    /// Calls for one wave have `due` in rising order. `next_pc` of INST type 7.
    void inst(std::uint64_t due, unsigned simd, unsigned slot, std::uint8_t type,
              std::optional<std::uint64_t> next_pc);
    void user_data(std::uint64_t now, const WavePlace& place, std::uint32_t data);
    void register_write(std::uint64_t now, std::uint32_t reg, std::uint32_t data,
                        sqtt::Gfx9RegType type);
    /// A compute register, as dword offset from COMPUTE_DISPATCH_INITIATOR.
    void compute_register(std::uint64_t now, std::uint8_t address, std::uint32_t data,
                          std::uint8_t me, std::uint8_t pipe);
    /// What the performance counters count (perf_unit.hpp): of waves that are counted, whether or not
    /// anything is traced.
    void count_start(std::uint64_t now, const WavePlace& place, unsigned threads);
    void count_end(std::uint64_t now, const WavePlace& place);
    bool counting() const { return perf_.counting(); }
    void count_issue(std::uint64_t now, const WavePlace& place, std::uint32_t classes,
                     std::uint32_t quads);
    /// An event of a compute pipe, e.g. CS_PARTIAL_FLUSH = 7.
    void compute_event(std::uint64_t now, std::uint32_t event);

  private:
    enum Register : unsigned {
        kBase,
        kSize,
        kMask,
        kTokenMask,
        kPerfMask,
        kCtrl,
        kMode,
        kBase2,
        kTokenMask2,
        kWptr,
        kStatus,
        kHiwater,
        kCntr,
        kRegisters
    };
    /// An INST token on its way.
    struct Pending {
        std::uint64_t due = 0;
        std::uint8_t simd = 0, slot = 0, type = 0;
        std::optional<std::uint64_t> next_pc;
    };

    bool write(std::span<const std::byte> bytes) override;
    bool token_on(unsigned id) const { return armed_ && (regs_[kTokenMask] >> id & 1) != 0; }
    /// Tokens of the compute stage: also only if MODE selects it.
    bool compute_token_on(unsigned id) const { return compute_on_ && token_on(id); }
    std::uint64_t register_base() const;
    std::uint64_t capacity() const { return std::uint64_t{regs_[kSize] & 0x3FFFFF} << 12; }
    bool wraps() const { return (regs_[kMode] >> 31 & 1) != 0; }
    Result<void> write_mode(std::uint32_t value, std::uint64_t now);
    void write_status();
    void arm(std::uint64_t now);
    void disarm(std::uint64_t now);
    void update_selection(std::uint64_t now);
    void drain(std::uint64_t now);
    void put(const Pending& pending);
    void put(const PerfSample& sample);
    void note_sampling(std::uint64_t now);
    bool flip();
    bool write_ring(std::span<const std::byte> bytes);
    std::uint64_t written() const { return left_bytes_ + offset_; }
    bool store(std::span<const std::byte> bytes);
    void pad();
    void note(bool taken, std::uint64_t now);
    void report_drops();
    void record(TruthTraceEvent::Kind kind, std::uint64_t time, std::uint64_t count);

    std::uint32_t agent_;
    std::uint16_t se_;
    Memory& memory_;
    TruthWriter* truth_;
    sqtt::Gfx9Writer writer_;
    PerfUnit perf_;
    std::array<std::uint32_t, kRegisters> regs_{};
    bool armed_ = false;
    bool compute_on_ = false;
    bool detail_on_ = false;
    unsigned target_cu_ = 0;
    unsigned simd_mask_ = 0;
    std::uint64_t active_base_ = 0; ///< of the slot being written
    std::uint64_t pending_base_ = 0;
    std::uint64_t offset_ = 0;     ///< bytes in the active slot
    std::uint64_t left_bytes_ = 0; ///< in the slots that were left, since the last reset
    /// Bytes at the start of the active slot, and of the one left last, that end a token of the slot
    /// before.
    std::uint32_t token_rest_ = 0, left_token_rest_ = 0;
    std::uint64_t busy_until_ = 0; ///< tokens of the pipeline reach memory until here
    bool full_ = false;
    bool stopped_ = false; ///< nothing more fits until a reset (linear) or a new base (wrap)
    bool write_error_ = false;
    bool finish_done_ = false;
    std::uint64_t dropped_ = 0;       ///< since the last reset
    std::uint64_t drops_open_ = 0;    ///< not yet in the truth log
    std::uint64_t first_drop_at_ = 0; ///< of drops_open_
    std::vector<Pending> pending_;    ///< by due clock
};

} // namespace wavetap::softgpu
