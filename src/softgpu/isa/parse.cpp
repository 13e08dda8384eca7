// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/parse.hpp"

#include <charconv>
#include <cstdlib>

namespace wavetap::softgpu::isa {
namespace {

constexpr std::string_view kSpaces = " \t";

std::string_view trim(std::string_view s) {
    const std::size_t first = s.find_first_not_of(kSpaces);
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(kSpaces) - first + 1);
}

/// Pieces of `s` between `separator` characters outside brackets and quotes.
std::vector<std::string_view> split(std::string_view s, char separator) {
    std::vector<std::string_view> pieces;
    int depth = 0;
    bool quoted = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
        const char c = s[i];
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (c != separator || depth != 0) continue;
        if (const auto piece = trim(s.substr(begin, i - begin)); !piece.empty())
            pieces.push_back(piece);
        begin = i + 1;
    }
    if (const auto piece = trim(s.substr(begin)); !piece.empty()) pieces.push_back(piece);
    return pieces;
}

struct NamedScalar {
    std::string_view name;
    std::uint16_t index;
    std::uint8_t dwords;
};

constexpr NamedScalar kNamed[] = {
    {"vcc", kVccLo, 2},
    {"vcc_lo", kVccLo, 1},
    {"vcc_hi", kVccLo + 1, 1},
    {"exec", kExecLo, 2},
    {"exec_lo", kExecLo, 1},
    {"exec_hi", kExecLo + 1, 1},
    {"m0", kM0, 1},
    {"flat_scratch", kFlatScratchLo, 2},
    {"flat_scratch_lo", kFlatScratchLo, 1},
    {"flat_scratch_hi", kFlatScratchLo + 1, 1},
    {"xnack_mask", kXnackMaskLo, 2},
    {"xnack_mask_lo", kXnackMaskLo, 1},
    {"xnack_mask_hi", kXnackMaskLo + 1, 1},
    {"src_shared_base", kSharedBase, 2},
    {"src_shared_limit", kSharedLimit, 2},
    {"src_private_base", kPrivateBase, 2},
    {"src_private_limit", kPrivateLimit, 2},
    {"src_vccz", kVccz, 1},
    {"src_execz", kExecz, 1},
    {"src_scc", kScc, 1},
};

/// "7" or "[7:8]" after the register letter.
bool parse_range(std::string_view s, unsigned& first, unsigned& count) {
    const auto number = [](std::string_view t, unsigned& out) {
        const auto [end, ec] = std::from_chars(t.data(), t.data() + t.size(), out);
        return ec == std::errc{} && end == t.data() + t.size();
    };
    count = 1;
    if (s.empty()) return false;
    if (s.front() != '[') return number(s, first);
    if (s.back() != ']') return false;
    s = s.substr(1, s.size() - 2);
    const std::size_t colon = s.find(':');
    if (colon == std::string_view::npos) return number(s, first);
    unsigned last = 0;
    if (!number(s.substr(0, colon), first) || !number(s.substr(colon + 1), last)) return false;
    if (last < first || last - first >= 64) return false;
    count = last - first + 1;
    return true;
}

bool parse_register(std::string_view s, Operand& out) {
    for (const NamedScalar& named : kNamed) {
        if (named.name != s) continue;
        out.kind = Operand::Kind::kScalar;
        out.index = named.index;
        out.dwords = named.dwords;
        return true;
    }
    struct Bank {
        std::string_view prefix;
        Operand::Kind kind;
        unsigned base;
        unsigned limit;
    };
    constexpr Bank kBanks[] = {{"ttmp", Operand::Kind::kScalar, kTtmp0, 16},
                               {"v", Operand::Kind::kVgpr, 0, 256},
                               {"s", Operand::Kind::kScalar, 0, 102},
                               {"a", Operand::Kind::kAgpr, 0, 256}};
    for (const Bank& bank : kBanks) {
        if (!s.starts_with(bank.prefix)) continue;
        unsigned first = 0;
        unsigned count = 0;
        if (!parse_range(s.substr(bank.prefix.size()), first, count)) continue;
        if (first + count > bank.limit) return false;
        out.kind = bank.kind;
        out.index = static_cast<std::uint16_t>(bank.base + first);
        out.dwords = static_cast<std::uint8_t>(count);
        return true;
    }
    return false;
}

bool parse_constant(std::string_view s, Operand& out) {
    if (const auto number = parse_number(s)) {
        out.kind =
            s.find('x') == std::string_view::npos ? Operand::Kind::kInteger : Operand::Kind::kHex;
        out.integer = *number;
        return true;
    }
    const bool looks_real = s.find('.') != std::string_view::npos &&
                            s.find_first_not_of("-0123456789.e+") == std::string_view::npos;
    if (!looks_real) return false;
    const std::string copy(s);
    char* end = nullptr;
    out.real = std::strtod(copy.c_str(), &end);
    out.kind = Operand::Kind::kReal;
    return end == copy.c_str() + copy.size();
}

bool unwrap(std::string_view& s, std::string_view open, std::string_view close) {
    if (s.size() < open.size() + close.size() || !s.starts_with(open) || !s.ends_with(close))
        return false;
    s = s.substr(open.size(), s.size() - open.size() - close.size());
    return true;
}

Operand parse_operand(std::string_view s) {
    Operand out;
    out.word = s;
    if (parse_constant(s, out)) return out;
    if (unwrap(s, "neg(", ")")) {
        out.neg = true;
    } else if (s.starts_with('-')) {
        out.neg = true;
        s.remove_prefix(1);
    }
    if (unwrap(s, "|", "|") || unwrap(s, "abs(", ")")) out.abs = true;
    if (unwrap(s, "sext(", ")")) out.sext = true;
    if (parse_register(s, out) || parse_constant(s, out)) return out;
    out.kind = Operand::Kind::kWord;
    return out;
}

} // namespace

std::optional<std::int64_t> parse_number(std::string_view s) {
    const bool negative = s.starts_with('-');
    if (negative) s.remove_prefix(1);
    int base = 10;
    if (s.starts_with("0x")) {
        base = 16;
        s.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), value, base);
    if (ec != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return static_cast<std::int64_t>(negative ? 0 - value : value);
}

Result<ParsedText> ParsedText::parse(std::string_view text) {
    ParsedText out;
    text = trim(text);
    const std::size_t space = text.find_first_of(kSpaces);
    out.full_mnemonic = text.substr(0, space);
    out.mnemonic = out.full_mnemonic;
    if (out.mnemonic.ends_with("_sdwa")) out.is_sdwa = true;
    if (out.mnemonic.ends_with("_dpp")) out.is_dpp = true;
    for (const std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
        if (!out.mnemonic.ends_with(suffix)) continue;
        out.mnemonic.remove_suffix(suffix.size());
        break;
    }
    if (space == std::string_view::npos) return out;

    std::vector<std::string_view> operands = split(text.substr(space), ',');
    std::vector<std::string_view> tail;
    if (!operands.empty()) {
        tail = split(operands.back(), ' ');
        operands.pop_back();
    }
    for (const std::string_view piece : operands)
        out.operands.push_back(parse_operand(piece));
    bool first = true;
    for (const std::string_view piece : tail) {
        const std::size_t colon = piece.find(':');
        const bool has_value = colon != std::string_view::npos && piece.find_first_of("[(") > colon;
        if (first && !has_value) {
            out.operands.push_back(parse_operand(piece));
        } else if (has_value) {
            out.modifiers_.push_back({piece.substr(0, colon), piece.substr(colon + 1), false});
        } else {
            out.modifiers_.push_back({piece, {}, false});
        }
        first = false;
    }
    return out;
}

std::optional<std::string_view> ParsedText::take(std::string_view key) {
    for (Modifier& modifier : modifiers_) {
        if (modifier.key != key) continue;
        modifier.taken = true;
        return modifier.value;
    }
    return std::nullopt;
}

std::int64_t ParsedText::take_number(std::string_view key, std::int64_t fallback) {
    for (Modifier& modifier : modifiers_) {
        if (modifier.key != key) continue;
        const auto number = parse_number(modifier.value);
        if (!number) return fallback;
        modifier.taken = true;
        return *number;
    }
    return fallback;
}

std::uint32_t ParsedText::take_bits(std::string_view key, std::uint32_t fallback) {
    const auto value = take(key);
    if (!value) return fallback;
    std::string_view list = *value;
    if (!unwrap(list, "[", "]")) return fallback;
    std::uint32_t bits = fallback;
    unsigned i = 0;
    for (const std::string_view piece : split(list, ',')) {
        bits = (bits & ~(1U << i)) | (piece == "1" ? 1U << i : 0);
        ++i;
    }
    return bits;
}

std::string_view ParsedText::left_over() const {
    for (const Modifier& modifier : modifiers_)
        if (!modifier.taken) return modifier.key;
    return {};
}

} // namespace wavetap::softgpu::isa
