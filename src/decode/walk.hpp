// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/fast_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace wavetap::decode {

struct WalkEnd {
    std::uint64_t end_bits = 0; ///< behind the last complete token
    bool truncated = false;
};

template <sqtt::Generation kGen, class OnToken>
WalkEnd walk_one(std::span<const std::byte> bytes, std::uint64_t start_bits, OnToken& on_token) {
    sqtt::FastReader<kGen> reader(sqtt::lookup_table(kGen), bytes, start_bits);
    reader.run(on_token);
    return {reader.offset_bits(), reader.truncated()};
}

/// FastReader with the generation chosen at run time.
template <class OnToken>
WalkEnd walk(sqtt::Generation generation, std::span<const std::byte> bytes,
             std::uint64_t start_bits, OnToken&& on_token) {
    using sqtt::Generation;
    switch (generation) {
    case Generation::kGfx9:
        return walk_one<Generation::kGfx9>(bytes, start_bits, on_token);
    case Generation::kGfx10:
        return walk_one<Generation::kGfx10>(bytes, start_bits, on_token);
    case Generation::kGfx11:
        return walk_one<Generation::kGfx11>(bytes, start_bits, on_token);
    case Generation::kGfx12:
        return walk_one<Generation::kGfx12>(bytes, start_bits, on_token);
    case Generation::kGfx1250:
        return walk_one<Generation::kGfx1250>(bytes, start_bits, on_token);
    }
    return {};
}

} // namespace wavetap::decode
