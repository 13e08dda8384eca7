// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/disassembler.hpp"
#include "decode/code_map.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>

namespace wavetap::decode {

/// Lines from code objects by LLVM's disassembler.
class ElfSource final : public CodeSource {
  public:
    /// `objects` are borrowed. Ids as CodeMap gives them. Errors: kUnsupported (chip unknown).
    static Result<ElfSource> create(const std::string& gfx,
                                    const std::vector<LoadedObject>& objects);

    CodeLine fetch(std::uint64_t id, std::uint64_t address) override;
    bool knows(std::uint64_t id) const override { return objects_.contains(id); }
    bool exact() const { return disassembler_.exact(); }

  private:
    ElfSource(code::Disassembler disassembler, bool is_gfx12)
        : disassembler_(std::move(disassembler)), is_gfx12_(is_gfx12) {}

    code::Disassembler disassembler_;
    bool is_gfx12_;
    std::unordered_map<std::uint64_t, const code::CodeObject*> objects_;
};

/// The id of each object: its own, or the next free one where it has none.
std::vector<std::uint64_t> object_ids(const std::vector<LoadedObject>& objects);

} // namespace wavetap::decode
