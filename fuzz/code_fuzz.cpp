// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/chip.hpp"
#include "code/code_object.hpp"
#include "code/disassembler.hpp"
#include "decode/code_map.hpp"
#include "decode/elf_source.hpp"
#include "fuzz/check.hpp"
#include "store/manifest.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

// What is read beside the traces. The first byte chooses: an ELF file with its symbols, code and
// source lines; bytes as code of a chip; the lines of a manifest.

namespace {

using wavetap::fuzz::check;

using namespace wavetap;

void elf(std::span<const std::byte> bytes) {
    auto parsed = code::CodeObject::parse({bytes.begin(), bytes.end()});
    if (!parsed) {
        check(!parsed.error().message.empty());
        return;
    }
    const code::CodeObject& object = *parsed;
    check(code::find_chip(object.gfx()) != nullptr);
    const std::vector<decode::LoadedObject> objects{{&object, 0x1000, 0}};
    auto source = decode::ElfSource::create(object.gfx(), objects);
    check(source.has_value());
    std::size_t functions = 0;
    for (const code::Symbol& symbol : object.functions()) {
        const code::Symbol* at = object.function_at(symbol.address);
        check(at == nullptr || at->address <= symbol.address);
        if (++functions > 16) continue;
        std::uint64_t address = symbol.address;
        for (unsigned line = 0; line < 64; ++line) {
            const auto rest = object.bytes_at(address);
            if (rest.empty()) break;
            // Reads the ends of what it promises.
            check(rest.data() >= object.file_bytes().data() &&
                  rest.data() + rest.size() <=
                      object.file_bytes().data() + object.file_bytes().size());
            const auto source_line = object.source_line(address);
            const auto chain = object.source_chain(address);
            check(!source_line || !chain.empty());
            const decode::CodeLine code = source->fetch(1, address);
            address += code.valid() ? code.size_bytes : 4;
        }
    }
    (void)object.source_line(0);
    (void)object.bytes_at(~std::uint64_t{0});
    (void)object.memory_bytes();
}

void instructions(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const code::ChipRow& chip =
        code::kChips[std::to_integer<std::size_t>(bytes[0]) % code::kChips.size()];
    auto disassembler = code::Disassembler::create(chip.name);
    check(disassembler.has_value());
    for (std::size_t at = 1; at < bytes.size();) {
        const auto instruction = disassembler->decode(bytes.subspan(at), at);
        if (!instruction) {
            at += 4;
            continue;
        }
        check(instruction->size_bytes > 0 && instruction->size_bytes <= bytes.size() - at);
        const auto line = decode::line_from_text(instruction->text, instruction->size_bytes, false);
        check(line.size_bytes == instruction->size_bytes);
        at += instruction->size_bytes;
    }
}

void manifest(std::string_view text) {
    store::ProcessTrace trace;
    for (std::uint64_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const auto result = store::apply_line(text.substr(0, end), number, trace);
        if (!result) {
            check(!result.error().message.empty());
            break;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto* rest = reinterpret_cast<const std::byte*>(data + 1);
    switch (data[0] % 4) {
    case 0:
    case 1:
        elf({rest, size - 1});
        break;
    case 2:
        instructions({rest, size - 1});
        break;
    default:
        manifest({reinterpret_cast<const char*>(rest), size - 1});
        break;
    }
    return 0;
}
