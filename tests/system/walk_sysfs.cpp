// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Walks a folder as C++ tools do: prints its canonical path, then every file below it, relative,
// after reading it. usage: walk_sysfs FOLDER
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const fs::path root = argv[1];
    if (!fs::exists(root) || !fs::is_directory(root) || fs::exists(root / "absent")) return 1;
    if (!fs::is_character_file("/dev/kfd")) return 1;
    std::printf("%s\n", fs::canonical(root).c_str());
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_directory()) continue;
        std::ifstream file(entry.path());
        std::string line;
        if (!std::getline(file, line)) return 1;
        files.push_back(fs::relative(entry.path(), root).string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files)
        std::printf("%s\n", file.c_str());
    return 0;
}
