// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace wavetap::test {

/// An empty folder of a test's own, gone with everything in it at the end of its life. A test that
/// cannot have one ends at once: nothing that follows would mean anything.
class TempFolder {
  public:
    TempFolder() : path_(std::filesystem::temp_directory_path() / "wavetap-test-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) {
            std::perror(path_.c_str());
            std::abort();
        }
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

} // namespace wavetap::test
