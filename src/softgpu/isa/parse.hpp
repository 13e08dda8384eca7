// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::softgpu::isa {

/// Scalar operand numbers: the encoding of the gfx9 scalar source field.
enum ScalarIndex : std::uint16_t {
    kFlatScratchLo = 102,
    kXnackMaskLo = 104,
    kVccLo = 106,
    kTtmp0 = 108,
    kM0 = 124,
    kExecLo = 126,
    kSharedBase = 235,
    kSharedLimit = 236,
    kPrivateBase = 237,
    kPrivateLimit = 238,
    kVccz = 251,
    kExecz = 252,
    kScc = 253,
};

/// One operand of LLVM's text. A value; `word` borrows from the text.
struct Operand {
    enum class Kind : std::uint8_t {
        kNone,
        kVgpr,
        kAgpr,
        kScalar,
        kInteger, ///< decimal: an inline constant or an immediate
        kHex,     ///< hexadecimal: a 32-bit literal or an immediate
        kReal,    ///< 1.0, 0.15915494, …
        kWord,    ///< off, hwreg(…), …
    };
    Kind kind = Kind::kNone;
    std::uint8_t dwords = 1;
    std::uint16_t index = 0; ///< register number, or ScalarIndex
    std::int64_t integer = 0;
    double real = 0;
    bool neg = false;
    bool abs = false;
    bool sext = false;
    std::string_view word;

    bool is_constant() const {
        return kind == Kind::kInteger || kind == Kind::kHex || kind == Kind::kReal;
    }
};

/// LLVM's text taken apart: "v_add_f32_e64 v0, |v1|, -s2 clamp mul:2". Borrows from the text.
class ParsedText {
  public:
    /// Errors: kUnsupported, naming the operand that has no reading.
    static Result<ParsedText> parse(std::string_view text);

    std::string_view full_mnemonic;
    std::string_view mnemonic; ///< without _e32, _e64, _sdwa, _dpp
    bool is_sdwa = false;
    bool is_dpp = false;
    std::vector<Operand> operands;

    /// Value of modifier `key` ("" for a flag such as glc), which then counts as understood.
    std::optional<std::string_view> take(std::string_view key);
    bool take_flag(std::string_view key) { return take(key).has_value(); }
    /// Number of modifier `key:N` (decimal or hexadecimal), `fallback` if it is absent or no number.
    std::int64_t take_number(std::string_view key, std::int64_t fallback);
    /// Bits of modifier `key:[a,b,c]`: bit i = element i; elements not given come from `fallback`.
    std::uint32_t take_bits(std::string_view key, std::uint32_t fallback);
    /// First modifier that nobody took, or empty.
    std::string_view left_over() const;

  private:
    struct Modifier {
        std::string_view key;
        std::string_view value;
        bool taken = false;
    };
    std::vector<Modifier> modifiers_;
};

std::optional<std::int64_t> parse_number(std::string_view text);

} // namespace wavetap::softgpu::isa
