// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/elf_source.hpp"

#include "code/code_object.hpp"

#include <algorithm>

namespace wavetap::decode {

std::vector<std::uint64_t> object_ids(const std::vector<LoadedObject>& objects) {
    std::uint64_t next = 1;
    for (const LoadedObject& object : objects)
        next = std::max(next, object.id + 1);
    std::vector<std::uint64_t> ids;
    for (const LoadedObject& object : objects)
        ids.push_back(object.id != 0 ? object.id : next++);
    return ids;
}

Result<ElfSource> ElfSource::create(const std::string& gfx,
                                    const std::vector<LoadedObject>& objects) {
    WAVETAP_TRY(auto disassembler, code::Disassembler::create(gfx));
    ElfSource source(std::move(disassembler), gfx.starts_with("gfx12"));
    const auto ids = object_ids(objects);
    for (std::size_t i = 0; i < objects.size(); ++i) {
        if (objects[i].object != nullptr) source.objects_.emplace(ids[i], objects[i].object);
    }
    return source;
}

CodeLine ElfSource::fetch(std::uint64_t id, std::uint64_t address) {
    const auto object = objects_.find(id);
    if (object == objects_.end()) return {};
    const auto bytes = object->second->bytes_at(address);
    if (bytes.empty()) return {};
    const auto instruction = disassembler_.decode(bytes, address);
    if (!instruction) return CodeLine::unknown();
    CodeLine line = line_from_text(instruction->text, instruction->size_bytes, is_gfx12_);
    line.line_class = instruction->line_class;
    if (instruction->branch_target) {
        line.target = static_cast<std::int32_t>(*instruction->branch_target - address);
        line.flags |= CodeLine::kHasTarget;
    }
    return line;
}

} // namespace wavetap::decode
