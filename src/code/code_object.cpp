// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"

#include "base/units.hpp"
#include "code/chip.hpp"
#include "code/debug_info.hpp"
#include "code/elf_file.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

namespace wavetap::code {
namespace {

constexpr std::uint16_t kElfMachineAmdgpu = 224;

std::string demangle(const std::string& name) {
    if (!name.starts_with("_Z")) return name;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
    return text ? std::string(text.get()) : name;
}

/// What the loader maps: the loadable segments, or the allocated sections of a file without
/// program headers.
std::vector<ElfSegment> loadable(const ElfFile& file) {
    std::vector<ElfSegment> result = file.segments;
    if (result.empty())
        for (const ElfSection& section : file.sections) {
            if ((section.flags & SHF_ALLOC) == 0 || section.type == SHT_NULL) continue;
            const bool has_bytes = section.type != SHT_NOBITS;
            result.push_back({section.address, section.offset_bytes,
                              has_bytes ? section.size_bytes : 0, section.size_bytes,
                              (section.flags & SHF_EXECINSTR) != 0});
        }
    std::sort(result.begin(), result.end(),
              [](const ElfSegment& a, const ElfSegment& b) { return a.address < b.address; });
    return result;
}

const ElfSegment* segment_at(const std::vector<ElfSegment>& segments, std::uint64_t address) {
    for (const ElfSegment& segment : segments)
        if (address >= segment.address && address - segment.address < segment.file_bytes)
            return &segment;
    return nullptr;
}

/// A symbol without a size reaches to the next one or to the end of its segment.
void give_sizes(std::vector<Symbol>& functions, const std::vector<ElfSegment>& segments) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
        Symbol& function = functions[i];
        const ElfSegment* segment = segment_at(segments, function.address);
        const std::uint64_t room = segment->file_bytes - (function.address - segment->address);
        if (function.size_bytes == 0) {
            function.size_bytes = room;
            if (i + 1 < functions.size())
                function.size_bytes = std::min(room, functions[i + 1].address - function.address);
        }
        function.size_bytes = std::min(function.size_bytes, room);
    }
}

std::vector<Symbol> find_functions(const ElfFile& file, const std::vector<ElfSegment>& segments) {
    std::set<std::string_view> descriptors;
    for (const ElfSymbol& symbol : file.symbols)
        if (symbol.name.ends_with(".kd"))
            descriptors.insert(symbol.name.substr(0, symbol.name.size() - 3));
    std::vector<Symbol> result;
    std::set<std::pair<std::uint64_t, std::string_view>> seen;
    for (const ElfSymbol& symbol : file.symbols) {
        const ElfSegment* segment = segment_at(segments, symbol.address);
        if (symbol.type != STT_FUNC || segment == nullptr || !segment->executable) continue;
        if (!seen.emplace(symbol.address, symbol.name).second) continue;
        std::string name(symbol.name);
        std::string demangled = demangle(name);
        result.push_back({std::move(name), std::move(demangled), symbol.address, symbol.size_bytes,
                          descriptors.contains(symbol.name)});
    }
    if (result.empty())
        for (const ElfSection& section : file.sections)
            if ((section.flags & SHF_EXECINSTR) != 0 && section.size_bytes != 0 &&
                segment_at(segments, section.address) != nullptr)
                result.push_back({std::string(section.name), std::string(section.name),
                                  section.address, section.size_bytes, false});
    std::sort(result.begin(), result.end(), [](const Symbol& a, const Symbol& b) {
        return std::tuple(a.address, !a.is_kernel, std::string_view(a.name)) <
               std::tuple(b.address, !b.is_kernel, std::string_view(b.name));
    });
    // Of several names of one address the first one counts: a kernel's before another's.
    const auto last =
        std::unique(result.begin(), result.end(),
                    [](const Symbol& a, const Symbol& b) { return a.address == b.address; });
    result.erase(last, result.end());
    give_sizes(result, segments);
    return result;
}

} // namespace

struct CodeObject::Impl {
    std::vector<std::byte> bytes;
    std::string gfx;
    std::vector<ElfSegment> segments; ///< by address
    std::vector<Symbol> functions;
    std::unique_ptr<DebugInfo> debug_info;
};

CodeObject::CodeObject(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CodeObject::CodeObject(CodeObject&&) noexcept = default;
CodeObject& CodeObject::operator=(CodeObject&&) noexcept = default;
CodeObject::~CodeObject() = default;

Result<CodeObject> CodeObject::parse(std::vector<std::byte> bytes) {
    auto impl = std::make_unique<Impl>();
    impl->bytes = std::move(bytes);
    WAVETAP_TRY(const ElfFile file, read_elf(impl->bytes));
    if (file.machine != kElfMachineAmdgpu)
        return Error{ErrorCode::kUnsupported,
                     "not an AMDGPU ELF file: machine " + std::to_string(file.machine),
                     "offset " + format_hex(offsetof(Elf64_Ehdr, e_machine)),
                     "a code object is wanted, e.g. from `clang-offload-bundler --unbundle`"};
    const ChipRow* chip = find_chip_by_mach(static_cast<std::uint8_t>(file.flags & 0xff));
    if (chip == nullptr)
        return Error{ErrorCode::kUnsupported,
                     "unknown chip in the ELF flags " + format_hex(file.flags),
                     "offset " + format_hex(offsetof(Elf64_Ehdr, e_flags)),
                     "known chips: " + known_chip_names()};
    impl->gfx = chip->name;
    impl->segments = loadable(file);
    impl->functions = find_functions(file, impl->segments);
    impl->debug_info = std::make_unique<DebugInfo>(impl->bytes);
    return CodeObject(std::move(impl));
}

Result<CodeObject> CodeObject::load(const std::string& path) {
    std::ifstream stream(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
    if (size < 0) return Error{ErrorCode::kNotFound, "cannot open the code object", path, ""};
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    stream.seekg(0);
    if (!stream.read(reinterpret_cast<char*>(bytes.data()), size))
        return Error{ErrorCode::kIo, "cannot read the code object", path, ""};
    auto object = parse(std::move(bytes));
    if (!object) {
        Error& error = object.error();
        error.where = error.where.empty() ? path : path + ", " + error.where;
    }
    return object;
}

const std::string& CodeObject::gfx() const {
    return impl_->gfx;
}

const std::vector<Symbol>& CodeObject::functions() const {
    return impl_->functions;
}

const Symbol* CodeObject::function_at(std::uint64_t elf_address) const {
    const auto& functions = impl_->functions;
    auto next = std::upper_bound(
        functions.begin(), functions.end(), elf_address,
        [](std::uint64_t value, const Symbol& symbol) { return value < symbol.address; });
    if (next == functions.begin()) return nullptr;
    --next;
    return elf_address - next->address < next->size_bytes ? &*next : nullptr;
}

std::span<const std::byte> CodeObject::bytes_at(std::uint64_t elf_address) const {
    const ElfSegment* segment = segment_at(impl_->segments, elf_address);
    if (segment == nullptr) return {};
    const std::uint64_t skip = elf_address - segment->address;
    return std::span(impl_->bytes)
        .subspan(segment->offset_bytes + skip, segment->file_bytes - skip);
}

std::uint64_t CodeObject::memory_bytes() const {
    std::uint64_t end = 0;
    for (const ElfSegment& segment : impl_->segments)
        end = std::max(end, segment.address + segment.memory_bytes);
    return end;
}

std::optional<SourceLine> CodeObject::source_line(std::uint64_t elf_address) const {
    const Symbol* function = function_at(elf_address);
    return impl_->debug_info->line(elf_address,
                                   function == nullptr ? elf_address : function->address);
}

std::vector<SourceLine> CodeObject::source_chain(std::uint64_t elf_address) const {
    const Symbol* function = function_at(elf_address);
    return impl_->debug_info->chain(elf_address,
                                    function == nullptr ? elf_address : function->address);
}

std::span<const std::byte> CodeObject::file_bytes() const {
    return impl_->bytes;
}

} // namespace wavetap::code
