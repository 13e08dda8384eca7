// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/trace_dir.hpp"

#include "cli/session.hpp"
#include "report/foreign.hpp"

#include <filesystem>

namespace wavetap::cli {

namespace {

namespace fs = std::filesystem;

/// By the time of summary.json, else of the folder: what was recorded last.
Result<std::string> newest_dir() {
    std::string newest;
    fs::file_time_type newest_time;
    std::error_code code;
    for (fs::directory_iterator entry(".", code), end; !code && entry != end;
         entry.increment(code)) {
        const std::string name = entry->path().filename().string();
        std::error_code ignored;
        if (!name.starts_with("wavetap-") || !entry->is_directory(ignored)) continue;
        fs::file_time_type time = fs::last_write_time(entry->path() / "summary.json", ignored);
        if (ignored) time = fs::last_write_time(entry->path(), ignored);
        if (!newest.empty() && time <= newest_time) continue;
        newest = name;
        newest_time = time;
    }
    if (!newest.empty()) return newest;
    return Error{ErrorCode::kNotFound, "no trace folder was named and there is no wavetap-*/ here",
                 "", "name a folder that `wavetap record` or rocprofv3 wrote"};
}

} // namespace

Result<std::vector<store::TraceFolder>> open_folders(const std::vector<std::string>& dirs) {
    std::vector<std::string> names = dirs;
    if (names.empty()) {
        WAVETAP_TRY(names.emplace_back(), newest_dir());
        note("reading " + names.front());
    }
    std::vector<store::TraceFolder> folders;
    for (const std::string& name : names) {
        WAVETAP_TRY(store::TraceFolder folder, report::open_any(name));
        folders.push_back(std::move(folder));
    }
    return folders;
}

Result<store::TraceFolder> open_one(const std::string& dir) {
    std::vector<std::string> dirs;
    if (!dir.empty()) dirs.push_back(dir);
    WAVETAP_TRY(std::vector<store::TraceFolder> folders, open_folders(dirs));
    return std::move(folders.front());
}

} // namespace wavetap::cli
