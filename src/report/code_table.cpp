// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/code_table.hpp"

#include <algorithm>

namespace wavetap::report {

void CodeTable::add(const store::ProcessTrace& process) {
    if (!added_.emplace(key_of(process), true).second) return;
    for (const store::CodeObjectInfo& info : process.code_objects) {
        const std::string name = "code object " + std::to_string(info.id) + " (" + info.uri + ")";
        if (info.file.empty()) {
            problems_.push_back(name + ": its bytes were not available when it was loaded");
            continue;
        }
        auto object = code::CodeObject::load(process.dir + "/" + info.file);
        if (!object) {
            problems_.push_back(name + ": " + to_string(object.error()));
            continue;
        }
        numbers_[{key_of(process), info.id}] = add_object(*std::move(object), info.uri);
    }
}

std::uint32_t CodeTable::add_object(code::CodeObject object, const std::string& uri) {
    const auto bytes = object.file_bytes();
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
        const auto other = entries_[i].object->file_bytes();
        if (std::equal(bytes.begin(), bytes.end(), other.begin(), other.end())) return i;
    }
    entries_.push_back({std::make_unique<code::CodeObject>(std::move(object)), uri});
    return static_cast<std::uint32_t>(entries_.size() - 1);
}

std::vector<decode::LoadedObject> CodeTable::loaded(const store::ProcessTrace& process,
                                                    std::uint32_t agent) const {
    std::vector<decode::LoadedObject> result;
    for (const store::CodeObjectInfo& info : process.code_objects) {
        const auto number = numbers_.find({key_of(process), info.id});
        if (info.agent == agent && number != numbers_.end())
            result.push_back({entries_[number->second].object.get(), info.load_base, info.id});
    }
    return result;
}

std::optional<CodePlace> CodeTable::place(const store::ProcessTrace& process,
                                          const decode::Pc& pc) const {
    if (pc.code_object == 0) return std::nullopt;
    const auto number = numbers_.find({key_of(process), pc.code_object});
    if (number == numbers_.end()) return std::nullopt;
    return CodePlace{number->second, pc.elf_address};
}

const code::CodeObject& CodeTable::object(std::uint32_t number) const {
    return *entries_[number].object;
}

const std::string& CodeTable::uri(std::uint32_t number) const {
    return entries_[number].uri;
}

const code::Symbol* CodeTable::function(CodePlace place) const {
    return object(place.object).function_at(place.elf_address);
}

std::string CodeTable::instruction_text(CodePlace place) {
    const code::CodeObject& code = object(place.object);
    auto& disassembler = disassemblers_[code.gfx()];
    if (!disassembler) {
        auto made = code::Disassembler::create(code.gfx());
        if (!made) return "<" + made.error().message + ">";
        disassembler = std::make_unique<code::Disassembler>(*std::move(made));
    }
    const auto instruction =
        disassembler->decode(code.bytes_at(place.elf_address), place.elf_address);
    return instruction ? instruction->text : "<" + instruction.error().message + ">";
}

} // namespace wavetap::report
