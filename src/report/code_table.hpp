// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/code_object.hpp"
#include "code/disassembler.hpp"
#include "decode/decoder.hpp"
#include "store/trace_folder.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wavetap::report {

/// A program counter in a code object of a CodeTable.
struct CodePlace {
    std::uint32_t object = 0; ///< number in the table
    std::uint64_t elf_address = 0;
    friend auto operator<=>(const CodePlace&, const CodePlace&) = default;
};

/// The code objects of one or several processes. Two files with the same bytes are one entry, so
/// that the sums of several recordings of one program add up. Resource; one thread.
class CodeTable {
  public:
    /// Loads the files that `process` names. What cannot be read becomes a line in problems().
    /// A second call for the same process folder does nothing.
    void add(const store::ProcessTrace& process);

    /// For decode::Options; they borrow this table.
    std::vector<decode::LoadedObject> loaded(const store::ProcessTrace& process,
                                             std::uint32_t agent) const;

    /// The place of `pc`, seen in `process`; nothing if no file of the table covers it.
    std::optional<CodePlace> place(const store::ProcessTrace& process, const decode::Pc& pc) const;

    /// Number of an object that is added by hand (tests, files named on the command line).
    std::uint32_t add_object(code::CodeObject object, const std::string& uri);

    std::size_t size() const { return entries_.size(); }
    /// Precondition of all that take a number: below size().
    const code::CodeObject& object(std::uint32_t number) const;
    const std::string& uri(std::uint32_t number) const;
    /// The function around `place`, or null.
    const code::Symbol* function(CodePlace place) const;
    /// "v_add_u32_e32 v0, v1, v2", or the reason in angle brackets why there is no text.
    std::string instruction_text(CodePlace place);

    /// One line each: what could not be loaded and why.
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    struct Entry {
        std::unique_ptr<code::CodeObject> object;
        std::string uri;
    };
    static std::string key_of(const store::ProcessTrace& process) {
        return process.dir + '\n' + process.name;
    }
    using ProcessObject = std::pair<std::string, std::uint64_t>; ///< process, marker id
    std::vector<Entry> entries_;
    std::map<ProcessObject, std::uint32_t> numbers_;
    std::map<std::string, bool> added_;
    std::map<std::string, std::unique_ptr<code::Disassembler>> disassemblers_; ///< by chip
    std::vector<std::string> problems_;
};

} // namespace wavetap::report
