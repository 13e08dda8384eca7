// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wavetap::code {

struct Symbol {
    std::string name;          ///< as in the ELF (mangled)
    std::string demangled;     ///< for people
    std::uint64_t address = 0; ///< ELF virtual address of the first instruction
    std::uint64_t size_bytes = 0;
    bool is_kernel = false; ///< there is a NAME.kd beside it
};

struct SourceLine {
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    /// The compiler gave the instruction no line of its own (DWARF line 0, often a wait): this is the
    /// line of the code before it in the same function.
    bool nearby = false;
};

/// An AMDGPU ELF file, parsed once. Resource; immutable afterwards and safe to read from several
/// threads. Any bytes are safe to parse.
class CodeObject {
  public:
    /// Takes the bytes over. Errors: kCorrupt, kUnsupported (not an AMDGPU ELF), with offsets.
    static Result<CodeObject> parse(std::vector<std::byte> bytes);
    static Result<CodeObject> load(const std::string& path);
    CodeObject(CodeObject&&) noexcept;
    CodeObject& operator=(CodeObject&&) noexcept;
    ~CodeObject();

    /// "gfx90a", from the ELF flags by our own table.
    const std::string& gfx() const;
    /// By address, one per address. A file without function symbols has one entry for each
    /// executable section, under the section's name.
    const std::vector<Symbol>& functions() const;
    /// The function that contains `elf_address`, or null.
    const Symbol* function_at(std::uint64_t elf_address) const;
    /// Bytes of loadable memory from `elf_address` to the end of its segment; empty if there are
    /// none. They live as long as this object.
    std::span<const std::byte> bytes_at(std::uint64_t elf_address) const;
    /// Size of the loaded image: end of the last loadable segment.
    std::uint64_t memory_bytes() const;
    /// Innermost source position of an instruction, if there is debug information.
    std::optional<SourceLine> source_line(std::uint64_t elf_address) const;
    /// The same, then the call sites of the inlined functions around it, outwards.
    std::vector<SourceLine> source_chain(std::uint64_t elf_address) const;
    std::span<const std::byte> file_bytes() const;

  private:
    struct Impl;
    explicit CodeObject(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace wavetap::code
