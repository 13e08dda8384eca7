// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/evidence.hpp"

#include "sqtt/gfx9.hpp"
#include "sqtt/rdna_writer.hpp"

#include <algorithm>
#include <set>

namespace wavetap::sqtt {
namespace {

constexpr Generation kAll[] = {Generation::kGfx9, Generation::kGfx10, Generation::kGfx11,
                               Generation::kGfx12, Generation::kGfx1250};

struct NamedHeader {
    const char* name;
    std::uint64_t raw;
};
constexpr NamedHeader kHeaders[] = {
    {"gfx9_header", Gfx9Header{}.encode()},
    {"gfx10_header", 0x91},
    {"gfx103_header", 0x111},
    {"gfx11_header", 0x68900191},
    {"gfx12_header", 0x0913100868700211},
    {"gfx1250_header", 0x0800000000000291},
};

// SQ_THREAD_TRACE_USERDATA_2 and the words that ROCm writes there.
constexpr std::uint64_t kUserData2 = 0xC342;
constexpr std::uint64_t kRocMagic = 0x434F5200;

/// AMD's capture software never asks for these, and its decoder has no row for them.
bool lacks_row(TokenType type) {
    return type == TokenType::kAluExec || type == TokenType::kVmemExec;
}

std::string amd_source(const TokenRow& row) {
    if (lacks_row(row.type)) return "named, no row in its decoder";
    return row.evidence == Evidence::kSource ? "read" : "its decoder was run on it";
}

std::string id_text(const TokenRow& row) {
    std::string text;
    for (unsigned bit = row.pattern_bits; bit-- > 0;)
        text += (row.pattern >> bit & 1) != 0 ? '1' : '0';
    return text;
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

std::string escaped(const std::vector<std::byte>& bytes) {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    std::string text;
    for (const std::byte byte : bytes) {
        text += "\\x";
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
}

class Dictionary {
  public:
    void add(const std::string& name, const TokenBits& bits, unsigned size_bits) {
        TokenPacker packer;
        packer.put(bits, size_bits);
        packer.pad_to(8);
        const std::string bytes = escaped(packer.bytes());
        if (seen_.insert(bytes).second) text_ += lower(name) + "=\"" + bytes + "\"\n";
    }
    std::string text_ =
        "# Made from the token tables of src/sqtt by sqtt_tables; ctest compares.\n";

  private:
    std::set<std::string> seen_;
};

/// A register write that carries a word of the code-object protocol.
TokenBits marker_word(const TokenRow& reg, Generation generation, std::uint64_t word) {
    TokenBits bits{reg.pattern, 0};
    if (generation == Generation::kGfx9) insert(bits, reg.find(FieldId::kOp).bits, 1);
    insert(bits, reg.find(FieldId::kMe).bits, 1);
    insert(bits, reg.find(FieldId::kAddress).bits, kUserData2);
    insert(bits, reg.find(FieldId::kData).bits, word);
    return bits;
}

} // namespace

bool model_writes(Generation generation, TokenType type) noexcept {
    if (generation != Generation::kGfx9) return false;
    switch (type) {
    case TokenType::kMisc:
    case TokenType::kTimestamp:
    case TokenType::kReg:
    case TokenType::kWaveStart:
    case TokenType::kRegCsPriv:
    case TokenType::kWaveEnd:
    case TokenType::kInst:
    case TokenType::kNewPc:
    case TokenType::kShaderData:
    case TokenType::kIssue:
    case TokenType::kRegCs:
    case TokenType::kPerf:
        return true;
    default:
        return false;
    }
}

std::string evidence_markdown(const SiliconCounts& counts) {
    std::string text =
        "# How each token is known\n\n"
        "<!-- made by `sqtt_tables evidence TRACES --like docs/formats/evidence.md`; ctest "
        "compares "
        "-->\n\n"
        "*Seen on silicon*: tokens counted in traces of a real gfx950 (gfx9), gfx1100 (gfx11) and "
        "gfx1201 (gfx12); their golden decodes are reproduced exactly. *AMD source*: AMD's open "
        "decoder was built and run on streams with this token, or its text or a public header was "
        "only read. *Our model*: the software GPU's trace unit writes it, or only the encoder and "
        "the tests do; neither is evidence about hardware.\n\n"
        "Counted traces (" +
        std::to_string(counts.blobs) + " blobs):";
    for (const std::string& trace : counts.traces)
        text += " `" + trace + "`";
    text += "\n";
    for (const Generation generation : kAll) {
        text += std::string("\n## ") + generation_name(generation) +
                "\n\n| token | id | bits | seen on silicon | AMD source | our model |\n"
                "|---|---|---|---|---|---|\n";
        for (const TokenRow& row : token_rows(generation)) {
            const std::uint64_t count = counts.of(generation, row.type);
            text += std::string("| ") + row.name + " | `" + id_text(row) + "` | " +
                    std::to_string(row.bits) + " | " + (count != 0 ? grouped(count) : "–") + " | " +
                    amd_source(row) + " | " +
                    (model_writes(generation, row.type) ? "software GPU" : "encoder") + " |\n";
        }
    }
    return text;
}

std::string fuzz_dictionary() {
    Dictionary dictionary;
    for (const NamedHeader& header : kHeaders)
        dictionary.add(header.name, {header.raw, 0}, 64);
    for (const Generation generation : kAll) {
        const std::string prefix = std::string(generation_name(generation)) + "_";
        for (const TokenRow& row : token_rows(generation)) {
            dictionary.add(prefix + row.name, {row.pattern, 0}, row.bits);
            TokenBits full{row.pattern, 0};
            for (const Field& field : row.fields)
                insert(full, field.bits, ~std::uint64_t{0});
            dictionary.add(prefix + row.name + "_full", full, row.bits);
        }
        // Magic word, "load" header, size, TAIL header.
        const TokenRow& reg = *find_row(generation, TokenType::kReg);
        for (const std::uint64_t word : {kRocMagic, std::uint64_t{0x004}, std::uint64_t{0x104},
                                         std::uint64_t{0x204}, std::uint64_t{0x504}}) {
            dictionary.add(prefix + "marker_" + std::to_string(word),
                           marker_word(reg, generation, word), reg.bits);
        }
    }
    return dictionary.text_;
}

} // namespace wavetap::sqtt
