// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/disassembler.hpp"
#include "softgpu/isa/opcode.hpp"
#include "softgpu/isa/table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>

namespace wavetap::softgpu {
namespace {

constexpr std::size_t kLongest = 20; ///< bytes of the longest gfx9 instruction, rounded up

struct Entry {
    Op op;
    OpCode code;
    std::array<std::byte, kLongest> bytes{};
    bool checked = true; ///< equal to memory since the last invalidate()
};

std::string hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string bytes_text(std::span<const std::byte> bytes) {
    std::string out;
    for (const std::byte b : bytes) {
        char text[4];
        std::snprintf(text, sizeof text, "%02x ", std::to_integer<unsigned>(b));
        out += text;
    }
    if (!out.empty()) out.pop_back();
    return out;
}

} // namespace

struct Program::Impl {
    Impl(code::Disassembler d, AddressSpace& space) : disassembler(std::move(d)), memory(space) {
        for (const isa::Semantics& row : isa::all_rows())
            rows.emplace(row.name, &row);
    }
    code::Disassembler disassembler;
    Memory memory;
    std::unordered_map<std::string_view, const isa::Semantics*> rows;
    std::unordered_map<std::uint64_t, std::unique_ptr<Entry>> entries;
    /// Direct-mapped front of `entries`.
    struct Way {
        std::uint64_t pc = ~std::uint64_t{0};
        Entry* entry = nullptr;
    };
    std::array<Way, 4096> ways{};
    std::vector<std::unique_ptr<Entry>> retired; ///< replaced while waves may still refer to them

    Result<const Op*> decode(std::uint64_t pc);
    Result<void> bind(Entry& entry);
    bool unchanged(const Entry& entry);
};

namespace {

Error at_instruction(Error error, const Entry& entry) {
    error.code = ErrorCode::kUnsupported;
    const std::size_t size = std::min<std::size_t>(entry.op.size_bytes, kLongest);
    error.message += " at PC " + hex(entry.op.pc) + ", bytes " +
                     bytes_text(std::span(entry.bytes).first(size)) + ": " + entry.op.text;
    return error;
}

} // namespace

Result<void> Program::Impl::bind(Entry& entry) {
    auto parsed = isa::ParsedText::parse(entry.op.text);
    if (!parsed) return at_instruction(std::move(parsed.error()), entry);
    isa::ParsedText& text = *parsed;
    auto found = rows.find(text.full_mnemonic);
    if (found == rows.end()) found = rows.find(text.mnemonic);
    if (found == rows.end())
        return at_instruction(
            {ErrorCode::kUnsupported, "no semantics for this instruction", {}, {}}, entry);
    const isa::Semantics& row = *found->second;
    Op& op = entry.op;
    op.unit = row.unit;
    op.sqtt_type = row.sqtt_type;
    op.counters = row.counters;
    op.issue_quads = row.issue_quads;
    op.code = &entry.code;
    entry.code.row = &row;
    entry.code.run = row.run;
    std::uint64_t raw = 0;
    std::memcpy(&raw, entry.bytes.data(), sizeof raw);
    if (auto bound = row.bind(row, text, raw, op, entry.code); !bound)
        return at_instruction(std::move(bound.error()), entry);
    if (const auto rest = text.left_over(); !rest.empty())
        return at_instruction({ErrorCode::kUnsupported,
                               "modifier '" + std::string(rest) + "' has no semantics",
                               {},
                               {}},
                              entry);
    return {};
}

Result<const Op*> Program::Impl::decode(std::uint64_t pc) {
    auto entry = std::make_unique<Entry>();
    std::size_t available = 0;
    for (std::size_t size = kLongest; size >= 4 && available == 0; size -= 4) {
        const std::byte* p = memory.at(pc, size, Access::kExecute);
        if (p == nullptr) continue;
        std::memcpy(entry->bytes.data(), p, size);
        available = size;
    }
    if (available == 0 || pc % 4 != 0)
        return Error{ErrorCode::kNotFound, "no instruction memory at PC " + hex(pc), {}, {}};
    auto decoded = disassembler.decode(std::span(entry->bytes).first(available), pc);
    entry->op.pc = pc;
    if (!decoded) {
        entry->op.size_bytes = 8;
        entry->op.text = decoded.error().message;
        return at_instruction({ErrorCode::kUnsupported, "illegal instruction", {}, {}}, *entry);
    }
    entry->op.size_bytes = decoded->size_bytes;
    entry->op.text = std::move(decoded->text);
    WAVETAP_CHECK_OK(bind(*entry));
    const Op* op = &entry->op;
    ways[pc / 4 % ways.size()] = Way{pc, entry.get()};
    auto& slot = entries[pc];
    if (slot) retired.push_back(std::move(slot));
    slot = std::move(entry);
    return op;
}

bool Program::Impl::unchanged(const Entry& entry) {
    const std::byte* p = memory.at(entry.op.pc, entry.op.size_bytes, Access::kExecute);
    return p != nullptr && std::memcmp(p, entry.bytes.data(), entry.op.size_bytes) == 0;
}

Program::Program() = default;
Program::~Program() = default;

Result<std::unique_ptr<Program>> Program::create(std::string_view cpu, AddressSpace& space) {
    if (cpu != "gfx90a")
        return Error{ErrorCode::kUnsupported,
                     "no instruction semantics for chip '" + std::string(cpu) + "'",
                     {},
                     "known chips: gfx90a"};
    WAVETAP_TRY(code::Disassembler disassembler, code::Disassembler::create(cpu));
    std::unique_ptr<Program> program(new Program);
    program->impl_ = std::make_unique<Impl>(std::move(disassembler), space);
    return program;
}

Result<const Op*> Program::fetch(std::uint64_t pc) {
    Impl& impl = *impl_;
    const Impl::Way& way = impl.ways[pc / 4 % impl.ways.size()];
    if (way.pc == pc && way.entry->checked) return &way.entry->op;
    const auto found = impl.entries.find(pc);
    if (found == impl.entries.end()) return impl.decode(pc);
    Entry& entry = *found->second;
    if (!entry.checked) {
        if (!impl.unchanged(entry)) return impl.decode(pc);
        entry.checked = true;
    }
    impl.ways[pc / 4 % impl.ways.size()] = Impl::Way{pc, &entry};
    return &entry.op;
}

void Program::invalidate() {
    for (auto& [pc, entry] : impl_->entries)
        entry->checked = false;
}

StepInfo execute(const Op& op, Wave& wave, Memory& memory) {
    return op.code->run(op, wave, memory);
}

} // namespace wavetap::softgpu
