// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/correlation.hpp"

#include <new>
#include <vector>

namespace wavetap::capture {

namespace {

thread_local std::vector<std::uint64_t> t_ids;

} // namespace

Result<void> push_external_correlation(std::uint64_t id) {
    try {
        if (t_ids.size() < kMostCorrelations) {
            t_ids.push_back(id);
            return {};
        }
    } catch (const std::bad_alloc&) { // as with too many
    }
    return Error{ErrorCode::kLimit, "no room for another correlation id of this thread", "",
                 "pop those that were pushed"};
}

Result<std::uint64_t> pop_external_correlation() {
    if (t_ids.empty())
        return Error{ErrorCode::kWrongState, "this thread has pushed no correlation id", "", ""};
    const std::uint64_t id = t_ids.back();
    t_ids.pop_back();
    return id;
}

std::uint64_t external_correlation() noexcept {
    return t_ids.empty() ? 0 : t_ids.back();
}

} // namespace wavetap::capture
