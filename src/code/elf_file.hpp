// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

// The few parts of a little-endian 64-bit ELF file that we need, read with every offset checked.
// LLVM's reader aborts on chips it does not know, and files may be broken or hostile.

namespace wavetap::code {

struct ElfSegment { ///< PT_LOAD
    std::uint64_t address = 0, offset_bytes = 0, file_bytes = 0, memory_bytes = 0;
    bool executable = false;
};

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0, link = 0;
    std::uint64_t flags = 0, address = 0, offset_bytes = 0, size_bytes = 0;
};

struct ElfSymbol {
    std::string_view name;
    std::uint64_t address = 0, size_bytes = 0;
    std::uint8_t type = 0;
    std::uint16_t section = 0;
};

/// Value; names borrow the bytes that were read.
struct ElfFile {
    std::uint16_t machine = 0;
    std::uint32_t flags = 0;
    std::vector<ElfSegment> segments;
    std::vector<ElfSection> sections;
    std::vector<ElfSymbol> symbols; ///< of .symtab and .dynsym, in this order
};

/// Errors: kCorrupt with the offset of what lies outside the file, kUnsupported for another class or
/// byte order.
Result<ElfFile> read_elf(std::span<const std::byte> bytes);

} // namespace wavetap::code
