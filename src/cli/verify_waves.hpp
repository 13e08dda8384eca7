// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/verify_match.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace wavetap::cli {

/// How a wave lies to a stretch.
enum class WaveClass : std::uint8_t {
    kOutside,
    kClosed,
    kOpenAtStart,
    kOpenAtEnd,
    kCutByDrop, ///< its start may be in the trace, its end is not for sure
    kDropped,
};
WaveClass classify(const softgpu::TruthWave& wave, const ArmedInterval& interval);

/// Memory that it takes, about.
std::uint64_t bytes_of(const softgpu::TruthWave& wave);
std::uint64_t bytes_of(const decode::WaveRecord& wave);

/// Instructions of this wave are compared.
bool has_instructions(const Stretch& stretch, const VerifyContext& context,
                      const softgpu::TruthWave& wave);

/// Compares the waves of both sides that can be compared now. Borrows everything. To be used once:
/// expect() and add(), match(), perhaps drop(), perhaps count().
class WaveComparison {
  public:
    WaveComparison(const Stretch& stretch, VerifyContext& context, std::uint64_t base, bool gfx9)
        : stretch_(stretch), context_(context), interval_(stretch.interval), base_(base),
          gfx9_(gfx9) {}

    /// A closed or open wave; by start. `wave.instructions` are needed where has_instructions().
    void expect(const softgpu::TruthWave& wave);
    /// `settled`: it cannot belong to a wave that is told later.
    void add(const decode::WaveRecord& record, bool settled);
    void match();
    /// A wave of class kDropped, in the order of their ends.
    void drop(const softgpu::TruthWave& wave);
    /// Memory of the closed waves and the settled ones of the trace that match() has left, about.
    std::uint64_t left_bytes() const;
    /// Counts them. `open_too`: also the open waves of the truth that the trace does not have.
    void count(bool open_too);

    /// Whether the wave added or expected as number `i` is done with.
    bool added_is_done(std::size_t i) const {
        return traced_[i].taken || (counted_ && traced_[i].settled);
    }
    bool added_is_settled(std::size_t i) const { return traced_[i].taken || traced_[i].settled; }
    bool expected_is_done(std::size_t i) const { return expected_is_done_[i]; }
    /// Starts of the closed waves done with whose CU the context samples.
    const std::vector<std::uint64_t>& sampled() const { return sampled_; }

  private:
    /// A wave of the trace with absolute clocks.
    struct TracedWave {
        const decode::WaveRecord* record = nullptr;
        std::uint64_t start = 0, end = 0;
        bool settled = false;
        bool taken = false;
    };
    struct Expected {
        const softgpu::TruthWave* wave = nullptr;
        std::size_t number = 0; ///< of expect()
    };

    void match_exact();
    void match_moved();
    bool absorb(const softgpu::TruthWave& wave);
    bool may_be(const softgpu::TruthWave& wave, const TracedWave& traced) const;
    void count_foreign(const TracedWave& traced);
    void finish_closed(const Expected& expected);
    void finish_open(const Expected& expected);
    void count_open(const softgpu::TruthWave& wave);
    void compare_wave(const softgpu::TruthWave& wave, TracedWave& traced);
    void compare_instructions(const softgpu::TruthWave& wave, const TracedWave& traced);
    void all_instructions_missing(const softgpu::TruthWave& wave);
    bool knows_entry(const softgpu::TruthWave& wave) const {
        return !stretch_.truth.dispatched_before(wave, interval_.arm);
    }
    bool has_instructions(const softgpu::TruthWave& wave) const {
        return cli::has_instructions(stretch_, context_, wave);
    }
    std::string where() const {
        return "run " + std::to_string(stretch_.run) + ", SE " + std::to_string(stretch_.se) + ", ";
    }
    void fault(std::string text) { add_fault(context_, where() + std::move(text)); }

    const Stretch& stretch_;
    VerifyContext& context_;
    const ArmedInterval& interval_;
    std::uint64_t base_;
    bool gfx9_;
    bool counted_ = false;
    std::vector<Expected> closed_, open_; ///< not done with
    std::vector<bool> expected_is_done_;
    std::vector<std::uint64_t> sampled_;
    std::vector<TracedWave> traced_;
    /// Settled waves of the trace that none took yet, by CU, SIMD and slot.
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::vector<TracedWave*>> by_place_;
};

} // namespace wavetap::cli
