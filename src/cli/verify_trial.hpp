// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "cli/verify.hpp"
#include "cli/verify_scene.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace wavetap::cli::testing {

/// The scene with the records that "decoding" gives, by run and engine.
struct Trial {
    Scene scene;
    std::map<std::pair<std::uint32_t, std::uint32_t>, decode::BlobRecords> records;

    Trial() {
        scene.add_usual_waves();
        decode_all();
    }

    void decode_all() {
        records[{0, 0}] = perfect_records(scene, 0, 10000, 20000, scene.process.contexts[0]);
        records[{1, 0}] = perfect_records(scene, 0, 30000, 40000, scene.process.contexts[1]);
    }

    /// The first wave of run 0 on the target with its records.
    decode::WaveRecord& target_wave(std::uint32_t run = 0) {
        for (decode::WaveRecord& wave : records[{run, 0}].waves)
            if (wave.on_target) return wave;
        throw std::logic_error("no target wave");
    }

    VerifyReport verify(unsigned threads = 1) const { return verify({}, threads); }
    /// Wave by wave, with that many bytes of records waiting.
    VerifyReport verify_by_and_by(std::uint64_t most_bytes) const { return verify(most_bytes, 1); }

  private:
    VerifyReport verify(std::optional<std::uint64_t> most_bytes, unsigned threads) const {
        WholeSegments segments;
        segments.one_by_one = most_bytes.has_value();
        segments.most_bytes = most_bytes.value_or(0);
        segments.threads = threads;
        segments.read = [](const store::ChunkInfo& chunk) -> Result<std::vector<std::byte>> {
            return std::vector<std::byte>{static_cast<std::byte>(chunk.run),
                                          static_cast<std::byte>(chunk.se)};
        };
        segments.decode = [this](std::span<const std::byte> bytes,
                                 std::uint32_t) -> Result<decode::BlobRecords> {
            const auto found = records.find(
                {static_cast<std::uint32_t>(bytes[0]), static_cast<std::uint32_t>(bytes[1])});
            if (found == records.end())
                return Error{ErrorCode::kCorrupt, "no header", "offset 0", ""};
            return found->second;
        };
        VerifyReport report;
        EXPECT_TRUE(verify_process(scene.process, softgpu::TruthLog(scene.truth),
                                   segments.sources(), report));
        return report;
    }
};

inline std::string last_line(const std::string& text) {
    const std::size_t end = text.find_last_not_of('\n');
    const std::size_t begin = text.rfind('\n', end);
    return text.substr(begin + 1, end - begin);
}

} // namespace wavetap::cli::testing
