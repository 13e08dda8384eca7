// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/code_object.hpp"
#include "compat/abi.hpp"
#include "compat/wanted.hpp"

#include <memory>
#include <vector>

namespace wavetap::compat {

/// A code object that the caller handed over; absolute address = load_address + ELF address.
struct GivenCode {
    std::uint64_t id = 0;
    std::uint64_t load_address = 0;
    std::shared_ptr<const code::CodeObject> object;
};

/// What a parse works with.
struct Job {
    RecordCallback record = nullptr;
    void* record_user = nullptr;
    IsaCallback isa = nullptr; ///< null: `code` by our own disassembler
    void* isa_user = nullptr;
    std::vector<GivenCode> code;
    Wanted wanted;
    bool hidden_latency = false; ///< also analyse it
};

/// Decodes one buffer. kInvalidShaderData: its header cannot be understood.
Status parse_buffer(const Job& job, const std::uint8_t* data, std::uint64_t size);

/// Decodes every buffer that `next` gives, each as a trace of its own; stops at the first that is
/// refused.
Status parse_buffers(const Job& job, SeDataCallback next, void* next_user);

} // namespace wavetap::compat
