// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/describe.hpp"

#include "base/units.hpp"

namespace wavetap::sqtt {
namespace {

std::string range_text(BitRange range) {
    if (range.width() == 0) return "–";
    std::string text = "[" + std::to_string(range.hi);
    if (range.width() > 1) text += ":" + std::to_string(range.lo);
    return text + "]";
}

std::string pattern_text(const TokenRow& row) {
    std::string text;
    for (unsigned bit = row.pattern_bits; bit-- > 0;)
        text += (row.pattern >> bit & 1) != 0 ? '1' : '0';
    return text;
}

bool is_filler(FieldId id) {
    return id == FieldId::kReserved || id == FieldId::kPad;
}

std::string value_text(FieldId id, std::uint64_t value) {
    switch (id) {
    case FieldId::kAddress:
    case FieldId::kData:
    case FieldId::kStates:
    case FieldId::kMask:
    case FieldId::kLevels:
    case FieldId::kFlags:
    case FieldId::kReserved:
    case FieldId::kPad:
        return format_hex(value);
    case FieldId::kPc:
        return format_hex(value << 2);
    default:
        return std::to_string(value);
    }
}

} // namespace

std::string describe(Generation generation, const Token& token) {
    std::string text = token_name(generation, token.type);
    const TokenRow* row = find_row(generation, token.type);
    if (row == nullptr) return text + " bits=" + format_hex(token.bits.low);
    if (token.delta != 0) text += " delta=" + std::to_string(token.delta);
    for (const Field& field : row->fields) {
        if (field.id == FieldId::kNone) continue;
        const std::uint64_t value = extract(token.bits, field.bits);
        if (is_filler(field.id) && value == 0) continue;
        text += std::string(" ") + field_name(field.id) + "=" + value_text(field.id, value);
    }
    return text;
}

std::string table_markdown(Generation generation) {
    std::string text =
        "| token | id | bits | delta | fields | evidence |\n|---|---|---|---|---|---|\n";
    for (const TokenRow& row : token_rows(generation)) {
        text += std::string("| ") + row.name + " | `" + pattern_text(row) + "` | " +
                std::to_string(row.bits) + " | " + range_text(row.delta);
        if (row.delta_bias != 0) text += " + " + std::to_string(row.delta_bias);
        text += " | ";
        std::string separator;
        for (const Field& field : row.fields) {
            if (field.id == FieldId::kNone || field.bits.width() == 0) continue;
            text += separator + field_name(field.id) + " " + range_text(field.bits);
            separator = ", ";
        }
        text += std::string(" | ") + evidence_name(row.evidence) + " |\n";
    }
    return text;
}

} // namespace wavetap::sqtt
