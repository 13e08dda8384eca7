// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/cut.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// `wavetap decode --scan` and `--cut`.

namespace wavetap::cli {

/// "dispatch:N" or "time:A-B" (shader clocks, B not included).
struct CutWish {
    bool is_dispatch = true;
    std::uint64_t dispatch = 0;
    std::uint64_t begin = 0, end = 0;
};
/// Errors: kInvalidArgument naming the two forms.
Result<CutWish> parse_cut(std::string_view text);

/// Cuts and writes a new file. Errors: those of decode::cut_…, kWrongState (the file is there), kIo.
Result<decode::Cut> write_cut(const CutWish& wish, std::span<const std::byte> bytes,
                              const std::string& path);

/// Prints the dispatches and events of a blob to stdout; with `json` one object a line.
void print_scan(const decode::BlobScan& scan, bool json);

} // namespace wavetap::cli
