// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "compat/abi.hpp"
#include "decode/code_map.hpp"

#include <string>

namespace wavetap::compat {

/// Lines of code from the caller's callback. What the callback refuses is no line: the wave is not
/// stitched further, decoding goes on.
class IsaSource final : public decode::CodeSource {
  public:
    IsaSource(IsaCallback callback, void* user, bool is_gfx12)
        : callback_(callback), user_(user), is_gfx12_(is_gfx12), text_(kFirstRoom, '\0') {}

    decode::CodeLine fetch(std::uint64_t id, std::uint64_t address) override;
    bool knows(std::uint64_t) const override { return true; }

  private:
    static constexpr std::size_t kFirstRoom = 64;
    static constexpr std::size_t kMostRoom = 64 * 1024;

    IsaCallback callback_;
    void* user_;
    bool is_gfx12_;
    std::string text_; ///< grows to the longest text
};

} // namespace wavetap::compat
