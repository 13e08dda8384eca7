// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/isa_source.hpp"

#include <algorithm>
#include <string_view>

namespace wavetap::compat {

decode::CodeLine IsaSource::fetch(std::uint64_t id, std::uint64_t address) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        std::uint64_t length = text_.size();
        std::uint64_t size_bytes = 0;
        const Status status = callback_(text_.data(), &size_bytes, &length, Pc{address, id}, user_);
        if (status == kOutOfResources && length > text_.size() && length <= kMostRoom) {
            text_.resize(static_cast<std::size_t>(length));
            continue;
        }
        if (status != kSuccess) return {};
        std::string_view text(text_.data(), std::min<std::size_t>(length, text_.size()));
        text = text.substr(0, text.find('\0'));
        text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
        text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
        if (text.empty() || size_bytes > 255) return {};
        const auto size = static_cast<std::uint32_t>(std::max<std::uint64_t>(size_bytes, 4));
        return decode::line_from_text(text, size, is_gfx12_);
    }
    return {};
}

} // namespace wavetap::compat
