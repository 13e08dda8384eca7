// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "compat/handles.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// A stream that is delivered chunk by chunk: chunk 0 begins with the header, others go on.

namespace wavetap::compat {

/// Dispatches and events of one chunk, with time 0 and the byte where they begin. Chunks may come
/// from several threads and in any order, but one waits for the end of the chunk before it, at most
/// a tenth of a second: then kOutOfResources. A record callback that fails ends the records; its
/// status is returned.
Status quick_scan(Decoder& decoder, std::uint64_t index, std::span<const std::byte> chunk,
                  RecordCallback record, void* user);

/// A buffer that decodes alone: header, registers and code objects as they stood, then bytes
/// [begin, end) of the chunk. Chunks other than 0 need the quick scan of the one before.
/// kInvalidArgument: the range is not in the chunk, or begins inside a token. kOutOfResources: `out`
/// is too small, `*size` says what is needed.
Status build_standalone(Decoder& decoder, std::uint64_t index, std::span<const std::byte> chunk,
                        std::uint64_t begin, std::uint64_t end, void* out, std::uint64_t* size);

} // namespace wavetap::compat
