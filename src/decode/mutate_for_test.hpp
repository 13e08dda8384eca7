// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Damages blobs, the same way for the same seed. Test code only.

namespace wavetap::test {

using Bytes = std::vector<std::byte>;

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : next() % limit; }

  private:
    std::uint64_t state_;
};

/// Cuts, flips, garbles, removes, repeats or overwrites a part of `original`.
inline Bytes mutate(const Bytes& original, unsigned kind, Random& random) {
    Bytes out = original;
    const std::size_t size = out.size();
    const std::size_t at = random.below(size);
    const std::size_t length = std::min<std::size_t>(random.below(256) + 1, size - at);
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    switch (kind % 9) {
    case 0:
        out.resize(at);
        break;
    case 1:
    case 2:
        for (std::size_t n = kind % 9 == 1 ? random.below(8) + 1 : 64; n > 0; --n)
            out[random.below(size)] ^= static_cast<std::byte>(1U << random.below(8));
        break;
    case 3:
        for (auto it = begin; it != end; ++it)
            *it = static_cast<std::byte>(random.next());
        break;
    case 4:
        out.erase(begin, end);
        break;
    case 5: {
        const Bytes copy(begin, end);
        out.insert(begin, copy.begin(), copy.end());
        break;
    }
    case 6:
        for (std::size_t i = 0; i < 8 && i < size; ++i)
            if (random.below(2) == 0) out[i] = static_cast<std::byte>(random.next());
        break;
    case 7:
        std::fill(begin, end, std::byte{0});
        break;
    default:
        std::fill(begin, end, std::byte{0xFF});
        break;
    }
    return out;
}

} // namespace wavetap::test
