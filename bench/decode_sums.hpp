// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "decode/sink.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::decode {

/// Counts what a decode delivers; the sums over instructions are made by whichever thread has the wave.
class Sums final : public RecordSink {
  public:
    void wave(const WaveView& view) override {
        ++waves;
        instructions += view.instructions.size();
        with_pc += view.digest[0];
        stall += view.digest[1];
    }
    WaveDigest digest(const WaveView& view) const override {
        WaveDigest sums{};
        for (std::size_t i = 0; i < view.has_pc.size(); ++i) {
            sums[0] += view.has_pc[i];
            sums[1] += view.instructions.stalls[i];
        }
        return sums;
    }
    void waves_without_detail(std::span<const WaveHead> heads) override { waves += heads.size(); }
    void occupancies(std::span<const OccupancyRecord> records) override {
        occupancy += records.size();
    }
    std::uint64_t occupancy = 0, waves = 0, instructions = 0, with_pc = 0, stall = 0;
};

} // namespace wavetap::decode
