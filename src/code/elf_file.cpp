// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/elf_file.hpp"

#include "base/units.hpp"

#include <elf.h>

#include <cstring>
#include <string>

namespace wavetap::code {
namespace {

constexpr std::size_t kMaxNameBytes = 4096;

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool fits(std::uint64_t offset, std::uint64_t size) const {
        return offset <= bytes_.size() && size <= bytes_.size() - offset;
    }
    bool table_fits(std::uint64_t offset, std::uint64_t entry, std::uint64_t count) const {
        return offset <= bytes_.size() && (entry == 0 || count <= (bytes_.size() - offset) / entry);
    }
    /// Precondition: fits(offset, sizeof(T)).
    template <class T> T read(std::uint64_t offset) const {
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    /// A string that starts `at` bytes into `table`; empty when it does not end there.
    std::string_view string(const ElfSection& table, std::uint64_t at) const {
        if (at >= table.size_bytes || !fits(table.offset_bytes, table.size_bytes)) return {};
        const auto* begin = reinterpret_cast<const char*>(bytes_.data() + table.offset_bytes + at);
        const std::size_t room = std::min<std::uint64_t>(table.size_bytes - at, kMaxNameBytes);
        const void* end = std::memchr(begin, 0, room);
        if (end == nullptr) return {};
        return {begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
    }

  private:
    std::span<const std::byte> bytes_;
};

Error corrupt(const std::string& what, std::uint64_t offset) {
    return Error{ErrorCode::kCorrupt, what, "offset " + format_hex(offset), "the file is damaged"};
}

Result<void> read_segments(const Reader& reader, const Elf64_Ehdr& header, ElfFile& file) {
    if (header.e_phnum == 0) return {};
    if (header.e_phentsize < sizeof(Elf64_Phdr) ||
        !reader.table_fits(header.e_phoff, header.e_phentsize, header.e_phnum))
        return corrupt("program headers lie outside the file", header.e_phoff);
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        const std::uint64_t offset = header.e_phoff + i * header.e_phentsize;
        const auto entry = reader.read<Elf64_Phdr>(offset);
        if (entry.p_type != PT_LOAD) continue;
        if (!reader.fits(entry.p_offset, entry.p_filesz))
            return corrupt("segment " + std::to_string(i) + " lies outside the file", offset);
        if (entry.p_filesz > entry.p_memsz || entry.p_vaddr + entry.p_memsz < entry.p_vaddr)
            return corrupt("segment " + std::to_string(i) + " has impossible sizes", offset);
        file.segments.push_back({entry.p_vaddr, entry.p_offset, entry.p_filesz, entry.p_memsz,
                                 (entry.p_flags & PF_X) != 0});
    }
    return {};
}

Result<void> read_sections(const Reader& reader, const Elf64_Ehdr& header, ElfFile& file) {
    if (header.e_shnum == 0) return {};
    if (header.e_shentsize < sizeof(Elf64_Shdr) ||
        !reader.table_fits(header.e_shoff, header.e_shentsize, header.e_shnum))
        return corrupt("section headers lie outside the file", header.e_shoff);
    std::vector<std::uint32_t> names;
    for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
        const std::uint64_t offset = header.e_shoff + i * header.e_shentsize;
        const auto entry = reader.read<Elf64_Shdr>(offset);
        if (entry.sh_type != SHT_NOBITS && entry.sh_type != SHT_NULL &&
            !reader.fits(entry.sh_offset, entry.sh_size))
            return corrupt("section " + std::to_string(i) + " lies outside the file", offset);
        if (entry.sh_addr + entry.sh_size < entry.sh_addr)
            return corrupt("section " + std::to_string(i) + " has an impossible size", offset);
        file.sections.push_back({{},
                                 entry.sh_type,
                                 entry.sh_link,
                                 entry.sh_flags,
                                 entry.sh_addr,
                                 entry.sh_offset,
                                 entry.sh_size});
        names.push_back(entry.sh_name);
    }
    if (header.e_shstrndx >= file.sections.size()) return {};
    const ElfSection strings = file.sections[header.e_shstrndx];
    if (strings.type != SHT_STRTAB) return {};
    for (std::size_t i = 0; i < names.size(); ++i)
        file.sections[i].name = reader.string(strings, names[i]);
    return {};
}

void read_symbols(const Reader& reader, std::uint32_t table_type, ElfFile& file) {
    for (const ElfSection& table : file.sections) {
        if (table.type != table_type || table.link >= file.sections.size()) continue;
        const ElfSection& strings = file.sections[table.link];
        if (strings.type != SHT_STRTAB) continue;
        const std::uint64_t count = table.size_bytes / sizeof(Elf64_Sym);
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto entry = reader.read<Elf64_Sym>(table.offset_bytes + i * sizeof(Elf64_Sym));
            const std::string_view name = reader.string(strings, entry.st_name);
            if (name.empty()) continue;
            file.symbols.push_back({name, entry.st_value, entry.st_size,
                                    static_cast<std::uint8_t>(ELF64_ST_TYPE(entry.st_info)),
                                    entry.st_shndx});
        }
    }
}

} // namespace

Result<ElfFile> read_elf(std::span<const std::byte> bytes) {
    const Reader reader(bytes);
    if (!reader.fits(0, sizeof(Elf64_Ehdr)) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
        return corrupt("not an ELF file", 0);
    const auto header = reader.read<Elf64_Ehdr>(0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return Error{ErrorCode::kUnsupported, "not a little-endian 64-bit ELF file",
                     "offset " + format_hex(EI_CLASS), ""};
    ElfFile file;
    file.machine = header.e_machine;
    file.flags = header.e_flags;
    WAVETAP_CHECK_OK(read_segments(reader, header, file));
    WAVETAP_CHECK_OK(read_sections(reader, header, file));
    read_symbols(reader, SHT_SYMTAB, file);
    read_symbols(reader, SHT_DYNSYM, file);
    return file;
}

} // namespace wavetap::code
