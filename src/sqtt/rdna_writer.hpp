// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "sqtt/rdna.hpp"
#include "sqtt/reader.hpp"
#include "sqtt/token_sink.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace wavetap::sqtt {

struct FieldValue {
    FieldId id = FieldId::kNone;
    std::uint64_t value = 0;
};

/// The bits of a token from its row, delta 0. Errors: kUnsupported (the generation has no such
/// token or field), kInvalidArgument (a value wider than its field).
Result<TokenBits> make_token(Generation generation, TokenType type,
                             std::initializer_list<FieldValue> fields);

/// `bits` with another delta (without the row's bias).
TokenBits with_delta(const TokenRow& row, TokenBits bits, std::uint64_t delta);

/// Clocks that a token of gfx10 and later adds to the time, its own delta included.
std::uint64_t clocks_of(Generation generation, const Token& token) noexcept;

/// True for what a writer puts in by itself: padding and tokens that carry nothing but time.
bool is_filler_token(Generation generation, const Token& token) noexcept;

/// Lays tokens behind each other without a gap, in nibbles, as they lie in a stream.
class TokenPacker {
  public:
    void put(const TokenBits& bits, unsigned size_bits);
    /// NOP nibbles up to a multiple of `bits` (a multiple of 4).
    void pad_to(unsigned bits);
    std::size_t size_bits() const { return nibbles_ * 4; }
    const std::vector<std::byte>& bytes() const { return bytes_; }
    void clear();

  private:
    std::vector<std::byte> bytes_;
    std::size_t nibbles_ = 0;
};

struct RdnaWave {
    std::uint8_t sa = 0;
    std::uint8_t wgp = 0;
    std::uint8_t simd = 0;
    std::uint8_t slot = 0;
};

struct RdnaQueue {
    std::uint8_t me = 1; ///< as the token has it; compute queues of real traces have 1
    std::uint8_t pipe = 0;
};

/// Sign of life while waves of the target WGP run: hardware writes one at each point of a grid of
/// 256 clocks (gfx12; not where a token was written less than four clocks before), or about every
/// 4096 (gfx11).
struct Heartbeat {
    std::uint64_t period = 0; ///< clocks; 0 = none
    std::uint64_t phase = 0;  ///< beats at clocks with clock % period == phase
    /// Constant 100 MHz counter at a clock: each beat is a sample of it. Empty: a beat only
    /// carries the time.
    std::function<std::uint64_t(std::uint64_t)> counter;
};

/// Writes a token stream of gfx10, gfx11, gfx12 or gfx1250. Every method takes an absolute shader
/// clock, which must not run backwards (an older clock counts as the last one). The writer puts in
/// what carries the time, by the rule that predicts the time tokens of real gfx11 and gfx12 traces:
/// a gap that fits goes into the token's own delta; else the whole gap goes before it, into TIME
/// (4 to 19 clocks; gfx1250: 1 to 16), an empty MISC (to 511; gfx1250: MEDIUM_TIME to 255) or a
/// TIMESTAMP. Tokens begin on byte boundaries.
///
/// Errors of every method: kLimit (the sink refused: the token is counted as dropped, and the next
/// one that fits is preceded by a loss mark), and those of make_token(). Not thread safe.
class RdnaWriter {
  public:
    /// `origin`: the clock of stream time 0. Precondition: `generation` is not gfx9.
    RdnaWriter(Generation generation, TokenSink& sink, std::uint64_t origin = 0);

    /// Must come first. `raw` is the HEADER token, which names the target. Takes no time.
    Result<void> header(std::uint64_t raw);
    void set_heartbeat(Heartbeat heartbeat) { heartbeat_ = std::move(heartbeat); }

    /// Any token by its row. What is_filler_token() names is the writer's own (kInvalidArgument).
    Result<void> put(std::uint64_t clock, TokenType type, std::initializer_list<FieldValue> fields);
    /// A token that a reader gave; its delta is replaced.
    Result<void> put(std::uint64_t clock, const Token& token);

    Result<void> wave_start(std::uint64_t clock, const RdnaWave& wave, std::uint8_t count,
                            RdnaQueue queue = {});
    Result<void> wave_end(std::uint64_t clock, const RdnaWave& wave);
    /// An instruction of the target SIMD, or of another SIMD of its WGP, by operation code.
    Result<void> inst(std::uint64_t clock, std::uint8_t slot, std::uint16_t op);
    /// gfx1250: the short form where the slot is among those used last and a clock has passed,
    /// else an INST with code 10, which means the same.
    Result<void> valu(std::uint64_t clock, std::uint8_t slot);
    Result<void> immediate(std::uint64_t clock, std::uint8_t slot);
    /// One bit for each of slots 0 to 15.
    Result<void> immediates(std::uint64_t clock, std::uint16_t mask);
    /// The waves became ready to issue at `clock`. gfx10 and gfx11 stamp it one clock later.
    Result<void> wave_ready(std::uint64_t clock, std::uint16_t mask);
    /// Where the wave goes on. `pc` is absolute, a multiple of four.
    Result<void> new_pc(std::uint64_t clock, std::uint8_t slot, std::uint64_t pc);
    /// Write of a compute register: dwords after COMPUTE_DISPATCH_INITIATOR.
    Result<void> reg_cs(std::uint64_t clock, std::uint16_t address, std::uint32_t data,
                        RdnaQueue queue = {});
    /// Write of any other register by its absolute dword address.
    Result<void> reg_write(std::uint64_t clock, std::uint16_t reg, std::uint32_t data,
                           RdnaQueue queue = {});
    Result<void> dispatch(std::uint64_t clock, std::uint32_t initiator, RdnaQueue queue = {});
    Result<void> event(std::uint64_t clock, std::uint8_t event_id, RdnaQueue queue = {});
    /// s_ttracedata; the one-byte form if `immediate`.
    Result<void> shader_data(std::uint64_t clock, const RdnaWave& wave, std::uint32_t data,
                             bool immediate = false);
    Result<void> misc(std::uint64_t clock, std::uint8_t flags);
    /// A sample of the constant counter.
    Result<void> realtime(std::uint64_t clock, std::uint64_t counter);
    /// Tokens were lost before `clock`.
    Result<void> packets_lost(std::uint64_t clock);
    /// Writes what is held back and pads the stream with NOPs to a multiple of 32 bytes.
    Result<void> finish();

    std::uint64_t tokens() const { return tokens_; }   ///< taken by the sink, padding not counted
    std::uint64_t dropped() const { return dropped_; } ///< refused since creation
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t last_clock() const { return clock_; }

  private:
    struct Ready {
        std::uint64_t clock = 0; ///< of the token
        std::uint16_t mask = 0;
    };
    Result<void> emit(std::uint64_t clock, const TokenRow& row, TokenBits bits);
    Result<void> emit_now(std::uint64_t clock, const TokenRow& row, TokenBits bits);
    Result<void> put_extension(const TokenBits& bits);
    Result<void> emit_valu(std::uint64_t clock, TokenBits bits, unsigned place);
    Result<void> beat_until(std::uint64_t clock);
    Result<void> flush_ready();
    Result<void> pass_long_gap(std::uint64_t clock);
    Result<void> send(std::uint64_t clock);
    void add(TokenType type, TokenBits bits);
    void add_gap(std::uint64_t gap);
    void add_loss(std::uint64_t& gap);
    void watch(const TokenRow& row, const TokenBits& bits);
    std::uint64_t max_timestamp() const;
    const TokenRow& row(TokenType type) const { return *find_row(generation_, type); }

    Generation generation_;
    TokenSink* sink_;
    TokenPacker packer_;
    Heartbeat heartbeat_;
    std::optional<Ready> ready_; ///< gfx10 and gfx11: waits for the tokens of the clock before
    std::array<int, 5> recent_{-1, -1, -1, -1, -1}; ///< gfx1250: slots used last
    std::uint64_t clock_;
    std::uint64_t tokens_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t target_ = 0; ///< sa << 8 | wgp
    unsigned target_waves_ = 0;
    unsigned batch_tokens_ = 0;
    bool lost_ = false;
    bool after_ext_ = false; ///< the last token was a WSTART_EXT or an extension byte
    bool batch_ext_ = false; ///< likewise of the tokens not yet sent
};

} // namespace wavetap::sqtt
