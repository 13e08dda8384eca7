// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/scan.hpp"

#include "sqtt/reader.hpp"

namespace wavetap::sqtt {

ScanResult scan_tokens(Generation generation, std::span<const std::byte> bytes,
                       std::uint64_t start_bits, std::uint64_t stop_bits) {
    ScanResult result;
    TokenReader reader(generation, bytes, start_bits);
    for (Token token; reader.offset_bits() < stop_bits && reader.next(token);) {
        ++result.by_type[static_cast<std::size_t>(token.type)];
        ++result.tokens;
    }
    result.end_bits = reader.offset_bits();
    return result;
}

} // namespace wavetap::sqtt
