// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/header.hpp"
#include "sqtt/rdna_writer.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

// The writer's rules against real hardware: what a trace says, written again, is the same trace.

namespace wavetap::sqtt {
namespace {

class VectorSink final : public TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    std::vector<std::byte> data;
};

struct Payload {
    std::uint64_t time = 0;
    Token token;
    std::vector<std::pair<TokenType, std::uint64_t>> carriers; ///< of time, before it
};

/// Everything but padding and time, each with its time and with what carried the time.
std::vector<Payload> payload_of(Generation generation, std::span<const std::byte> bytes) {
    std::vector<Payload> out;
    std::vector<std::pair<TokenType, std::uint64_t>> carriers;
    std::uint64_t time = 0;
    TokenReader reader(generation, bytes);
    for (Token token; reader.next(token);) {
        const std::uint64_t clocks = clocks_of(generation, token);
        time += clocks;
        if (token.type == TokenType::kNop) continue;
        if (is_filler_token(generation, token)) {
            carriers.emplace_back(token.type, clocks);
            continue;
        }
        out.push_back({time, token, std::move(carriers)});
        carriers.clear();
    }
    return out;
}

TokenBits without_time(Generation generation, const Token& token) {
    if (token.type == TokenType::kExtension) return token.bits;
    const TokenRow& row = *find_row(generation, token.type);
    TokenBits bits = with_delta(row, token.bits, 0);
    if (token.type == TokenType::kTimestamp && clocks_of(generation, token) != 0) {
        const BitRange value = row.find(FieldId::kValue).bits;
        bits.low &= (std::uint64_t{1} << value.lo) - 1;
    }
    if (generation == Generation::kGfx1250 && token.type == TokenType::kValu) {
        const auto wave_time = extract(bits, row.find(FieldId::kWaveTime).bits);
        bits.low = kValuPlaces[wave_time];
    }
    return bits;
}

std::vector<std::byte> write_again(Generation generation, const std::vector<Payload>& payload,
                                   const Heartbeat& heartbeat) {
    VectorSink sink;
    RdnaWriter writer(generation, sink);
    writer.set_heartbeat(heartbeat);
    for (const Payload& p : payload) {
        const auto result = p.token.type == TokenType::kHeader ? writer.header(p.token.bits.low)
                                                               : writer.put(p.time, p.token);
        EXPECT_TRUE(result) << token_name(generation, p.token.type) << " at " << p.time << ": "
                            << to_string(result.error());
    }
    EXPECT_TRUE(writer.finish());
    EXPECT_EQ(sink.data.size() % 32, 0U);
    EXPECT_EQ(sink.data.size(), writer.bytes());
    return sink.data;
}

struct Gaps {
    std::size_t all = 0, predicted = 0;
};

/// Expects the same tokens at the same times, and counts how many gaps have the same carriers.
Gaps compare(Generation generation, const std::vector<Payload>& want,
             const std::vector<Payload>& got, const std::string& what) {
    Gaps gaps;
    EXPECT_EQ(want.size(), got.size()) << what;
    for (std::size_t i = 0; i < std::min(want.size(), got.size()); ++i) {
        const bool same =
            want[i].time == got[i].time && want[i].token.type == got[i].token.type &&
            without_time(generation, want[i].token) == without_time(generation, got[i].token);
        EXPECT_TRUE(same) << what << " token " << i << " at " << want[i].time;
        if (!same) break;
        ++gaps.all;
        if (want[i].carriers == got[i].carriers && want[i].token.delta == got[i].token.delta)
            ++gaps.predicted;
    }
    return gaps;
}

Gaps round_trip(const std::filesystem::path& path, Generation generation) {
    const auto payload = payload_of(generation, test::read_bytes(path));
    const auto again = payload_of(generation, write_again(generation, payload, {}));
    return compare(generation, payload, again, path.string());
}

Gaps round_trips(const char* arch, Generation generation,
                 const std::vector<std::filesystem::path>& files) {
    Gaps sum;
    for (const auto& path : files) {
        const Gaps gaps = round_trip(path, generation);
        sum.all += gaps.all;
        sum.predicted += gaps.predicted;
    }
    std::cout << arch << ": " << files.size() << " blobs written again, the rule predicts "
              << sum.predicted << " of " << sum.all << " gaps\n";
    return sum;
}

TEST(RdnaRules, PredictEveryGapOfGfx11) {
    const auto files = test::trace_files("gfx1100", ".att");
    WAVETAP_NEED_DATA(files);
    const Gaps gaps = round_trips("gfx1100", Generation::kGfx11, files);
    EXPECT_GT(gaps.all, 10'000U);
    EXPECT_EQ(gaps.predicted, gaps.all);
}

TEST(RdnaRules, PredictTheGapsOfGfx12ButHeartbeats) {
    const auto files = test::trace_files("gfx1200", ".att");
    WAVETAP_NEED_DATA(files);
    const Gaps gaps = round_trips("gfx1200", Generation::kGfx12, files);
    EXPECT_GT(gaps.all, 9'000U);
    EXPECT_GE(gaps.predicted * 1000, gaps.all * 997);
}

/// The phase of the 256-clock grid on which a blob's heartbeats lie: that of most gaps of exactly
/// one period. Nothing if there are none.
std::optional<std::uint64_t> grid_phase(const std::vector<Payload>& payload) {
    std::map<std::uint64_t, unsigned> votes;
    for (const Payload& p : payload) {
        std::uint64_t time = p.time - p.token.delta;
        for (auto c = p.carriers.rbegin(); c != p.carriers.rend(); ++c) {
            if (c->first == TokenType::kMisc && c->second == 256) ++votes[time % 256];
            time -= c->second;
        }
    }
    std::optional<std::uint64_t> best;
    for (const auto& [phase, count] : votes) {
        if (!best || count > votes[*best]) best = phase;
    }
    return best;
}

// With the grid, the rest of gfx12's gaps too.
TEST(RdnaRules, HeartbeatsLieOnAGridOf256Clocks) {
    const auto files = test::trace_files("gfx1200", ".att");
    WAVETAP_NEED_DATA(files);
    constexpr auto kGen = Generation::kGfx12;
    Gaps sum, plain;
    for (const auto& path : files) {
        const auto payload = payload_of(kGen, test::read_bytes(path));
        const auto phase = grid_phase(payload);
        if (!phase) continue;
        const Gaps without =
            compare(kGen, payload, payload_of(kGen, write_again(kGen, payload, {})), path.string());
        const Gaps gaps =
            compare(kGen, payload, payload_of(kGen, write_again(kGen, payload, {256, *phase, {}})),
                    path.string());
        plain.all += without.all;
        plain.predicted += without.predicted;
        sum.all += gaps.all;
        sum.predicted += gaps.predicted;
    }
    std::cout << "gfx1200 blobs with heartbeats: " << plain.predicted << " of " << plain.all
              << " gaps without the grid, " << sum.predicted << " with it\n";
    EXPECT_GT(sum.all, plain.predicted);
    EXPECT_EQ(sum.predicted, sum.all);
}

TEST(RdnaRules, SyntheticStreamsOfTheOtherGenerations) {
    const auto folder = test::data_folder() / "traces" / "synthetic";
    std::vector<std::filesystem::path> files;
    for (const char* name :
         {"gfx10_v1", "gfx10_v2", "gfx11_jump_trap", "gfx12_ext", "mi400_b", "vec_mi400"}) {
        if (std::filesystem::exists(folder / (std::string(name) + ".att")))
            files.push_back(folder / (std::string(name) + ".att"));
    }
    WAVETAP_NEED_DATA(files);
    for (const auto& path : files) {
        const auto bytes = test::read_bytes(path);
        std::uint64_t raw = 0;
        for (unsigned i = 0; i < 8; ++i)
            raw |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
        const auto header = parse_header(raw);
        ASSERT_TRUE(header) << path;
        EXPECT_GT(round_trip(path, header->generation).all, 0U) << path;
    }
}

} // namespace
} // namespace wavetap::sqtt
