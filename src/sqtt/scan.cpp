// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/scan.hpp"

#include "sqtt/reader.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::sqtt {
namespace {

constexpr unsigned kChains = 8;
constexpr std::uint64_t kRunUpBits = 1024 * 8; ///< nearly always enough to fall into step
constexpr std::uint64_t kMinSegmentBits = 64 * 1024 * 8;
constexpr unsigned kMaxTokenBits = 72;
constexpr std::uint64_t kMarginBits = 16 * 8;

constexpr unsigned kOn = 0x80;

using Counts = std::array<std::uint64_t, kTokenTypeCount>;

/// One walk through a part of the stream. The step's latency (load, look up, add) is what limits a
/// walk, so several go side by side.
struct Chain {
    std::uint64_t position = 0;
    std::uint64_t begin = 0; ///< of its segment
    std::uint64_t entry = 0; ///< first token at or after `begin`
    std::uint64_t end = 0;   ///< of its segment: stops at the first token at or after it
    unsigned state = 0;      ///< kOn behind a WSTART_EXT or one of its bytes, else 0
    unsigned entry_state = 0;
    Counts counts{};
};

/// `kExtends`: bytes with bit 0 set behind a WSTART_EXT belong to it. `kNibbles`: twelve bits tell a
/// token and the NOP before it; both are taken in one step, and NOPs are not counted.
template <bool kNibbles, bool kExtends> class Scanner {
  public:
    Scanner(Generation generation, std::span<const std::byte> bytes)
        : data_(reinterpret_cast<const unsigned char*>(bytes.data())) {
        const LookupTable& table = lookup_table(generation);
        for (unsigned i = 0; i < 256; ++i) {
            const bool ext = kExtends && table[i].type == TokenType::kWaveStartExt;
            steps_[i] = pack(table[i].bits, table[i].type, ext);
            steps_[i + 256] = (i & 1) != 0 ? pack(8, TokenType::kExtension, true) : steps_[i];
            lengths_[type_of(steps_[i])] = table[i].bits;
        }
        lengths_[static_cast<std::size_t>(TokenType::kExtension)] = 8;
        for (unsigned i = 0; i < long_steps_.size(); ++i) {
            const unsigned first = (i & 0xFF) | (i >> kLongBits << 8);
            const bool nop = type_of(steps_[first]) == kNop;
            const unsigned what = nop ? steps_[i >> 4 & 0xFF] + 4U : steps_[first];
            long_steps_[i] = static_cast<std::uint16_t>(what);
        }
    }

    void step(Chain& chain) const {
        const unsigned window = window_at(chain.position) & 0xFF;
        take(chain, steps_[window | (kExtends ? chain.state << 1 : 0)]);
    }
    void long_step(Chain& chain) const {
        const unsigned window = window_at(chain.position) & ((1U << kLongBits) - 1);
        take(chain, long_steps_[window | (kExtends ? chain.state << (kLongBits - 7) : 0)]);
    }
    void walk(Chain& chain, std::uint64_t end) const {
        while (chain.position < end)
            step(chain);
    }
    void enter(Chain& chain, std::uint64_t from) const {
        chain.position = from;
        walk(chain, chain.begin);
        chain.entry = chain.position;
        chain.entry_state = chain.state;
        chain.counts = {};
    }
    void walk_together(std::array<Chain, kChains>& chains) const {
        for (;;) {
            std::uint64_t steps = ~std::uint64_t{0};
            for (const Chain& chain : chains) {
                const std::uint64_t left =
                    chain.end > chain.position ? chain.end - chain.position : 0;
                steps = std::min(steps, left / (kMaxTokenBits + (kNibbles ? 4 : 0)));
            }
            if (steps < 16) break;
            for (; steps > 0; --steps) {
                for (Chain& chain : chains) {
                    if constexpr (kNibbles)
                        long_step(chain);
                    else
                        step(chain);
                }
            }
        }
        for (Chain& chain : chains)
            walk(chain, chain.end);
    }
    // The bits that no other token covers.
    void count_nops(Chain& chain) const {
        if constexpr (!kNibbles) return;
        std::uint64_t left = chain.position - chain.entry;
        for (std::size_t t = 0; t < lengths_.size(); ++t)
            left -= t == kNop ? 0 : chain.counts[t] * lengths_[t];
        chain.counts[kNop] = left / lengths_[kNop];
    }

  private:
    static constexpr unsigned kLongBits = 12;
    static constexpr auto kNop = static_cast<std::size_t>(TokenType::kNop);

    unsigned window_at(std::uint64_t position) const {
        std::uint16_t two;
        std::memcpy(&two, data_ + (position >> 3), 2);
        return static_cast<unsigned>(two >> (position & 4));
    }
    static void take(Chain& chain, std::uint16_t what) {
        chain.position += what & 0x7F;
        if constexpr (kExtends) chain.state = what & kOn;
        ++chain.counts[type_of(what)];
    }
    static std::size_t type_of(std::uint16_t what) { return what >> 8; }
    static std::uint16_t pack(unsigned bits, TokenType type, bool after_ext) {
        return static_cast<std::uint16_t>(bits | (after_ext ? kOn : 0U) |
                                          static_cast<unsigned>(type) << 8);
    }

    const unsigned char* data_;
    std::array<std::uint16_t, 512> steps_{};
    std::array<std::uint16_t, kNibbles ? 2U << kLongBits : 0U> long_steps_{};
    std::array<std::uint8_t, kTokenTypeCount> lengths_{}; ///< bits of each type
};

template <bool kNibbles, bool kExtends>
void walk_chains(Generation generation, std::span<const std::byte> bytes, std::uint64_t position,
                 std::uint64_t end, std::array<Chain, kChains>& chains) {
    const Scanner<kNibbles, kExtends> scanner(generation, bytes);
    const std::uint64_t segment = (end - position) / kChains / 16 * 16;
    for (unsigned i = 0; i < kChains; ++i) {
        chains[i].begin = position + i * segment;
        chains[i].end = i + 1 < kChains ? position + (i + 1) * segment : end;
        scanner.enter(chains[i], i == 0 ? position : chains[i].begin - kRunUpBits);
    }
    scanner.walk_together(chains);
    for (unsigned i = 0; i < kChains; ++i) {
        Chain& chain = chains[i];
        // The exit of the walk before is the proof of an entry; else walk again from there.
        if (i > 0 &&
            (chain.entry != chains[i - 1].position || chain.entry_state != chains[i - 1].state)) {
            chain.entry = chain.position = chains[i - 1].position;
            chain.state = chains[i - 1].state;
            chain.counts = {};
            scanner.walk(chain, chain.end);
        }
        scanner.count_nops(chain);
    }
}

} // namespace

ScanResult scan_tokens(Generation generation, std::span<const std::byte> bytes,
                       std::uint64_t start_bits, std::uint64_t stop_bits) {
    ScanResult result;
    std::uint64_t position = start_bits;
    bool after_ext = false;
    const std::uint64_t size_bits = std::uint64_t{bytes.size()} * 8;
    const std::uint64_t stop = std::min(stop_bits, size_bits);
    // The fast part ends where a token and its look-ahead surely fit.
    const std::uint64_t end = stop > kMarginBits ? std::min(stop, size_bits - kMarginBits) : 0;
    if (end > position && end - position >= kChains * kMinSegmentBits) {
        std::array<Chain, kChains> chains;
        if (generation == Generation::kGfx12)
            walk_chains<true, true>(generation, bytes, position, end, chains);
        else if (generation == Generation::kGfx1250)
            walk_chains<false, true>(generation, bytes, position, end, chains);
        else if (generation == Generation::kGfx9)
            walk_chains<false, false>(generation, bytes, position, end, chains);
        else
            walk_chains<true, false>(generation, bytes, position, end, chains);
        for (const Chain& chain : chains) {
            for (std::size_t t = 0; t < chain.counts.size(); ++t)
                result.by_type[t] += chain.counts[t];
        }
        for (const std::uint64_t count : result.by_type)
            result.tokens += count;
        position = chains[kChains - 1].position;
        after_ext = chains[kChains - 1].state != 0;
    }
    TokenReader reader(generation, bytes, position, after_ext);
    for (Token token; reader.offset_bits() < stop_bits && reader.next(token);) {
        ++result.by_type[static_cast<std::size_t>(token.type)];
        ++result.tokens;
    }
    result.end_bits = reader.offset_bits();
    return result;
}

} // namespace wavetap::sqtt
