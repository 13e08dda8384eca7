// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/debug_info.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace wavetap::code {
namespace {

constexpr int kMaxDiesPerWalk = 1'000'000;
constexpr int kMaxNamespaces = 64;

struct Row {
    std::uint64_t address = 0;
    std::uint32_t file = 0, line = 0, column = 0, order = 0;
    bool end_sequence = false;
};

} // namespace

struct DebugInfo::Impl {
    Elf* elf = nullptr;
    Dwarf* dwarf = nullptr;
    std::vector<std::string> files;
    std::map<std::string, std::uint32_t, std::less<>> file_numbers;
    std::vector<Row> rows; ///< by address

    explicit Impl(std::span<const std::byte> bytes) {
        if (elf_version(EV_CURRENT) == EV_NONE) return;
        // libelf wants a mutable pointer and, for a memory image opened like this, only reads.
        auto* image = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
        elf = elf_memory(image, bytes.size());
        if (elf != nullptr) dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
        if (dwarf != nullptr) read_rows();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (dwarf != nullptr) dwarf_end(dwarf);
        if (elf != nullptr) elf_end(elf);
    }

    std::uint32_t file_number(const char* name) {
        const auto found = file_numbers.find(std::string_view(name));
        if (found != file_numbers.end()) return found->second;
        const auto number = static_cast<std::uint32_t>(files.size());
        files.emplace_back(name);
        file_numbers.emplace(name, number);
        return number;
    }

    void read_rows() {
        Dwarf_CU* unit = nullptr;
        Dwarf_Die die;
        while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
            Dwarf_Lines* lines = nullptr;
            std::size_t count = 0;
            if (dwarf_getsrclines(&die, &lines, &count) != 0) continue;
            for (std::size_t i = 0; i < count; ++i)
                add_row(dwarf_onesrcline(lines, i));
        }
        std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
            // The end of one sequence is also the start of the next one.
            return std::tuple(a.address, !a.end_sequence, a.order) <
                   std::tuple(b.address, !b.end_sequence, b.order);
        });
    }

    void add_row(Dwarf_Line* line) {
        Dwarf_Addr address = 0;
        int number = 0;
        int column = 0;
        bool end = false;
        if (line == nullptr || dwarf_lineaddr(line, &address) != 0) return;
        if (dwarf_lineno(line, &number) != 0 || dwarf_linecol(line, &column) != 0) return;
        if (dwarf_lineendsequence(line, &end) != 0) return;
        const char* name = dwarf_linesrc(line, nullptr, nullptr);
        if (name == nullptr) return;
        rows.push_back({address, file_number(name), static_cast<std::uint32_t>(number),
                        static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(rows.size()),
                        end});
    }

    struct Found {
        const Row* row = nullptr; ///< null: there is none
        bool nearby = false;
    };

    Found find(std::uint64_t address, std::uint64_t function_start) const {
        auto row = std::upper_bound(
            rows.begin(), rows.end(), address,
            [](std::uint64_t value, const Row& candidate) { return value < candidate.address; });
        bool nearby = false;
        while (row != rows.begin()) {
            --row;
            if (row->end_sequence || (nearby && row->address < function_start)) break;
            if (row->line != 0) return {&*row, nearby};
            nearby = true;
        }
        return {};
    }

    SourceLine line_of(const Found& found) const {
        return {files[found.row->file], found.row->line, found.row->column, found.nearby};
    }

    /// Descends from the unit to the innermost scope at `address`. A walk of our own: that of libdw
    /// leaks on damaged input, and a damaged sibling reference must not lead in circles.
    void add_callers(std::uint64_t address, std::vector<SourceLine>& chain) const {
        Dwarf_Die scope;
        if (!find_unit(address, scope)) return;
        Dwarf_Files* unit_files = nullptr;
        std::size_t file_count = 0;
        if (dwarf_getsrcfiles(&scope, &unit_files, &file_count) != 0) return;
        const auto first = static_cast<std::ptrdiff_t>(chain.size());
        int budget = kMaxDiesPerWalk;
        while (enter_child_at(scope, address, budget))
            if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine)
                if (auto call = call_site(scope, unit_files)) chain.push_back(*std::move(call));
        std::reverse(chain.begin() + first, chain.end());
    }

    static bool enter_child_at(Dwarf_Die& scope, std::uint64_t address, int& budget,
                               int namespaces = 0) {
        Dwarf_Die child;
        int status = dwarf_child(&scope, &child);
        for (; status == 0 && budget > 0; status = dwarf_siblingof(&child, &child)) {
            --budget;
            if (dwarf_tag(&child) == DW_TAG_namespace && namespaces < kMaxNamespaces) {
                Dwarf_Die inner = child;
                if (!enter_child_at(inner, address, budget, namespaces + 1)) continue;
                scope = inner;
                return true;
            }
            if (dwarf_haspc(&child, address) != 1) continue;
            scope = child;
            return true;
        }
        return false;
    }

    /// There may be no .debug_aranges, so every unit is asked.
    bool find_unit(std::uint64_t address, Dwarf_Die& die) const {
        Dwarf_CU* unit = nullptr;
        while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
            if (dwarf_haspc(&die, address) == 1) return true;
        return false;
    }

    static std::optional<SourceLine> call_site(Dwarf_Die& inlined, Dwarf_Files* unit_files) {
        const auto number = [&inlined](unsigned name) -> std::optional<Dwarf_Word> {
            Dwarf_Attribute attribute;
            Dwarf_Word value = 0;
            if (dwarf_attr(&inlined, name, &attribute) == nullptr) return std::nullopt;
            if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
            return value;
        };
        const auto file = number(DW_AT_call_file);
        const auto line = number(DW_AT_call_line);
        if (!file || !line) return std::nullopt;
        const char* name = dwarf_filesrc(unit_files, *file, nullptr, nullptr);
        if (name == nullptr) return std::nullopt;
        return SourceLine{name, static_cast<std::uint32_t>(*line),
                          static_cast<std::uint32_t>(number(DW_AT_call_column).value_or(0)), false};
    }
};

DebugInfo::DebugInfo(std::span<const std::byte> bytes) : bytes_(bytes) {}
DebugInfo::~DebugInfo() = default;

std::optional<SourceLine> DebugInfo::line(std::uint64_t elf_address, std::uint64_t function_start) {
    const MutexLock lock(mutex_);
    if (!impl_) impl_ = std::make_unique<Impl>(bytes_);
    const Impl::Found found = impl_->find(elf_address, function_start);
    if (found.row == nullptr) return std::nullopt;
    return impl_->line_of(found);
}

std::vector<SourceLine> DebugInfo::chain(std::uint64_t elf_address, std::uint64_t function_start) {
    const MutexLock lock(mutex_);
    if (!impl_) impl_ = std::make_unique<Impl>(bytes_);
    std::vector<SourceLine> result;
    const Impl::Found found = impl_->find(elf_address, function_start);
    if (found.row != nullptr) {
        result.push_back(impl_->line_of(found));
        impl_->add_callers(found.nearby ? found.row->address : elf_address, result);
    }
    return result;
}

} // namespace wavetap::code
