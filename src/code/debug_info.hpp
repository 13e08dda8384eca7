// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "code/code_object.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wavetap::code {

/// Source positions of one ELF file, read with libdw at the first question. Resource; thread safe.
/// Debug information that is absent or damaged gives no answers, never an error.
class DebugInfo {
  public:
    /// `bytes` outlive the object and do not change.
    explicit DebugInfo(std::span<const std::byte> bytes);
    ~DebugInfo();
    DebugInfo(const DebugInfo&) = delete;
    DebugInfo& operator=(const DebugInfo&) = delete;

    /// `function_start`: how far back a line may be looked for where the compiler gave none.
    std::optional<SourceLine> line(std::uint64_t elf_address, std::uint64_t function_start);
    /// The line, then where each inlined function around it was called, outwards.
    std::vector<SourceLine> chain(std::uint64_t elf_address, std::uint64_t function_start);

  private:
    struct Impl;
    std::span<const std::byte> bytes_;
    Mutex mutex_;
    std::unique_ptr<Impl> impl_ WAVETAP_GUARDED_BY(mutex_); ///< made at the first question
};

} // namespace wavetap::code
