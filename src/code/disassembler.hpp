// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wavetap::code {

/// What a line of assembly can match in a trace (format spec 8.5).
enum class LineClass : std::uint8_t {
    kSalu,
    kSmem,
    kValu,
    kVmem,
    kFlat,
    kLds,
    kBvh,
    kBranch, ///< any s_*branch*
    kImmed,  ///< s_waitcnt, s_nop, s_barrier, s_endpgm, …
    kSkip,   ///< leaves no token (s_delay_alu, …)
};

/// `is_gfx12` moves ds_bvh_* to kBvh. The mnemonic may carry operands. What is in no class of the
/// format notes (exports, data) is kSkip.
LineClass classify(std::string_view mnemonic, bool is_gfx12);

struct Instruction {
    std::uint64_t address = 0; ///< as given to decode()
    std::uint32_t size_bytes = 0;
    LineClass line_class = LineClass::kSalu;
    std::string text; ///< "v_add_u32_e32 v0, v1, v2"
    /// Of s_branch, s_cbranch_* with a displacement, s_call_b64 and s_subvector_loop_*: an address.
    std::optional<std::uint64_t> branch_target;
};

/// LLVM's AMDGPU disassembler. Resource; one per thread. LLVM is initialised once per process.
class Disassembler {
  public:
    /// `gfx` is "gfx90a", …; a chip that LLVM 19 lacks (gfx950, gfx125x) takes the nearest chip's
    /// tables (`exact()` false). Errors: kUnsupported naming the chips known.
    static Result<Disassembler> create(std::string_view gfx);
    Disassembler(Disassembler&&) noexcept;
    Disassembler& operator=(Disassembler&&) noexcept;
    ~Disassembler();

    bool exact() const;
    /// Decodes the instruction at the start of `bytes`. Errors: kCorrupt (not an instruction of this
    /// chip), with address and bytes in the message.
    Result<Instruction> decode(std::span<const std::byte> bytes, std::uint64_t address);

  private:
    struct Impl;
    explicit Disassembler(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace wavetap::code
