// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/cut.hpp"
#include "store/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// The blob that a reader reads. Borrows it.
class PieceSource final : public decode::BlobSource {
  public:
    explicit PieceSource(store::PieceReader& reader) : reader_(&reader) {}
    std::uint64_t bytes() const override { return reader_->bytes(); }
    void rewind() override { reader_->rewind(); }
    Result<std::span<const std::byte>> next() override { return reader_->next(); }

  private:
    store::PieceReader* reader_;
};

/// Cuts and writes a new file, piece by piece. Errors: those of decode::plan_…, kWrongState (the file
/// is there), kIo.
Result<decode::CutPlan> write_cut(const CutWish& wish, store::PieceReader& reader,
                                  const std::string& path);

/// Prints the dispatches and events of a blob to stdout, behind what `begin` prints of the whole; with
/// `json` one object a line. They are in order of time within kScanAtATime of them, so that memory does
/// not grow with the blob, which is read once for as many. Errors: those of decode::scan_blob().
Result<void> print_scan(store::PieceReader& reader, const decode::ScanOptions& options, bool json,
                        const std::function<void(const decode::BlobScan&)>& begin);
inline constexpr std::uint64_t kScanAtATime = std::uint64_t{1} << 17;

} // namespace wavetap::cli
