// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

// Gives every file below the folders named on the command line to a fuzz target, and its prefixes
// (each one of small files, 1024 of large ones), so that cuts of the corpus are tried too.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
    std::size_t files = 0, inputs = 0;
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
            if (!entry.is_regular_file()) continue;
            std::ifstream file(entry.path(), std::ios::binary);
            const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
            ++files;
            const std::size_t step = chars.size() / 1024 + 1;
            for (std::size_t size = chars.size() % step; size <= chars.size();
                 size += step, ++inputs) {
                // An own block of the exact size, so that a sanitizer sees any byte too many.
                const std::vector<std::uint8_t> bytes(
                    chars.begin(), chars.begin() + static_cast<std::ptrdiff_t>(size));
                LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
            }
        }
    }
    std::printf("%zu inputs of %zu files\n", inputs, files);
    return files == 0 ? 1 : 0;
}
