// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/gfx9.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/token_sink.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace wavetap::sqtt {

struct Gfx9Wave {
    std::uint8_t cu = 0;   ///< 0..15
    std::uint8_t simd = 0; ///< 0..3
    std::uint8_t slot = 0; ///< 0..9
    std::uint8_t sh = 0;   ///< 0 on CDNA
};

struct Gfx9WaveStart {
    Gfx9Wave wave;
    std::uint8_t me = 0; ///< logical micro engine (register state index)
    std::uint8_t pipe = 0;
    std::uint8_t count = 64;       ///< work-items, 1..64; above: context-switch codes
    std::uint8_t thread_group = 0; ///< low three bits of the work-group's slot
    bool grouped = false;
};

/// Writes a gfx9 token stream. Every method takes an absolute shader clock, which must not run
/// backwards (an older clock counts as the last one); clocks are cut to multiples of four, as the
/// hardware has them. The writer puts in what carries the time: each token's own delta bit, MISC
/// tokens for gaps below 255 units, and a TIME_RESET with an absolute TIMESTAMP beyond. Before the
/// first token it writes such a pair by itself, so that readers learn the absolute base.
///
/// Every method returns false if the sink refused; the token is then counted as dropped and the
/// next one that fits is preceded by a packet-lost MISC. Not thread safe. The gfx9 software header
/// is not part of the stream (Gfx9Header).
class Gfx9Writer {
  public:
    explicit Gfx9Writer(TokenSink& sink) : sink_(&sink) {}

    /// Begins a trace: TIME_RESET and TIMESTAMP with `clock`. Call again for each new buffer, or
    /// leave it to the first token.
    bool begin(std::uint64_t clock);

    bool wave_start(std::uint64_t clock, const Gfx9WaveStart& start);
    bool wave_end(std::uint64_t clock, const Gfx9Wave& wave);
    /// What the oldest issued instruction of the wave was; a few clocks after its issue().
    bool inst(std::uint64_t clock, std::uint8_t simd, std::uint8_t slot, Gfx9Inst type);
    /// Follows a Gfx9Inst::kPc: where the wave continues. `pc` is absolute, a multiple of four.
    bool inst_pc(std::uint64_t clock, std::uint8_t simd, std::uint8_t slot, std::uint64_t pc);
    /// What each of a SIMD's wave slots did in this clock.
    bool issue(std::uint64_t clock, std::uint8_t simd,
               const std::array<Gfx9Issue, kGfx9SlotsPerIssue>& states);
    /// Write of an absolute dword register that is not in the compute block.
    bool reg_write(std::uint64_t clock, std::uint16_t reg, std::uint32_t data, std::uint8_t me = 0,
                   std::uint8_t pipe = 0, Gfx9RegType type = Gfx9RegType::kUserData);
    /// Write of a compute register; `address` = dwords after
    /// COMPUTE_DISPATCH_INITIATOR, 0..127.
    bool reg_cs(std::uint64_t clock, std::uint8_t address, std::uint32_t data, std::uint8_t me = 0,
                std::uint8_t pipe = 0);
    /// The same under token id 5; real traces show it for address 0x7F (event writes) only.
    bool reg_cs_event(std::uint64_t clock, std::uint8_t address, std::uint32_t data,
                      std::uint8_t me = 0, std::uint8_t pipe = 0);
    /// s_ttracedata of a wave.
    bool userdata(std::uint64_t clock, const Gfx9Wave& wave, std::uint32_t data);
    /// Any MISC except kTime and kTimeReset, which the writer uses by itself.
    bool misc(std::uint64_t clock, Gfx9Misc type, std::uint8_t sh = 0);
    /// EVENT_CS (compute pipe event, number 0..63).
    bool event(std::uint64_t clock, std::uint8_t event_id, std::uint8_t stage = 0,
               std::uint8_t sh = 0);
    bool perf(std::uint64_t clock, std::uint8_t cu, std::uint8_t bank,
              const std::array<std::uint16_t, 4>& counters, std::uint8_t sh = 0);

    /// A token that a reader gave; its delta is replaced. Precondition: it is not a TIMESTAMP, and
    /// no MISC of type kTime or kTimeReset.
    bool put(std::uint64_t clock, const Token& token);

    std::uint64_t tokens() const { return tokens_; }   ///< taken by the sink, time tokens included
    std::uint64_t dropped() const { return dropped_; } ///< refused since creation
    std::uint64_t last_clock() const { return clock_; }

  private:
    struct Batch;
    bool emit(std::uint64_t clock, TokenBits bits, unsigned size_bits);
    bool send(const Batch& batch, std::uint64_t clock);
    void add_time(Batch& batch, std::uint64_t clock, unsigned& own_delta) const;

    TokenSink* sink_;
    std::uint64_t clock_ = 0;
    std::uint64_t tokens_ = 0;
    std::uint64_t dropped_ = 0;
    bool begun_ = false;
    bool lost_ = false;
};

} // namespace wavetap::sqtt
