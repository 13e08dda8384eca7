// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace wavetap::test {

/// Adds to the line that closes `./dev test`. Kinds: "silicon" (blobs of real hardware that decode to
/// their golden file), "streams" (recorded AMD command streams equal word for word), "runs" (programs
/// carried by AMD's runtime), "skipped" (tests without their data). Does nothing outside `./dev test`.
inline void count_proof(const std::string& kind, unsigned passed, unsigned total) {
    const char* path = std::getenv("WAVETAP_PROOF_FILE");
    if (path == nullptr) return;
    const int file = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return;
    const std::string line =
        kind + " " + std::to_string(passed) + " " + std::to_string(total) + "\n";
    const ssize_t written = ::write(file, line.data(), line.size()); // one write: lines never mix
    static_cast<void>(written);
    ::close(file);
}

} // namespace wavetap::test
