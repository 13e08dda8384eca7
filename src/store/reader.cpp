// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/units.hpp"
#include "store/files.hpp"
#include "store/manifest.hpp"
#include "store/pieces.hpp"
#include "store/trace_folder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace wavetap::store {

namespace {

namespace fs = std::filesystem;

/// PREFIXnumber[-copy]SUFFIX -> number; -1 for any other name.
int pid_of_name(std::string_view name, std::string_view prefix, std::string_view suffix) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) return -1;
    name.remove_prefix(prefix.size());
    name.remove_suffix(std::min(suffix.size(), name.size()));
    int pid = -1;
    const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (code != std::errc() || pid < 0) return -1;
    std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
    if (rest.empty()) return pid;
    if (rest.size() < 2 || rest.front() != '-') return -1;
    rest.remove_prefix(1);
    const bool digits =
        std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits ? pid : -1;
}

std::string existing(const std::string& path) {
    std::error_code code;
    return fs::exists(path, code) ? path : std::string();
}

/// A manifest without a last line feed, or without any line, is that of a killed process.
Result<ProcessTrace> read_process(const std::string& parent, const std::string& dir, int pid) {
    ProcessTrace trace;
    trace.pid = pid;
    trace.dir = dir;
    const std::string path = dir + "/manifest.jsonl";
    Result<std::vector<std::byte>> bytes = read_file(path);
    if (!bytes && bytes.error().code != ErrorCode::kNotFound) return bytes.error();
    std::string_view text;
    if (bytes) text = {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
    bool cut = false;
    for (std::uint64_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            cut = true;
            break;
        }
        if (Result<void> applied = apply_line(text.substr(0, end), number, trace); !applied) {
            Error error = applied.error();
            error.where = path + ":" + std::to_string(number);
            if (error.hint.empty()) error.hint = "the trace folder was altered; record again";
            return error;
        }
        text.remove_prefix(end + 1);
    }
    if (cut) trace.complete = false;
    const std::string id = std::to_string(trace.pid);
    trace.truth_file = existing(parent + "/truth-" + id + ".bin");
    trace.driver_file = existing(parent + "/driver-" + id + ".json");
    return trace;
}

Error not_a_folder(const std::string& dir, const std::error_code& code) {
    if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory)
        return io_error("cannot read the folder", dir, code.value());
    if (code == std::errc::not_a_directory)
        return Error{
            ErrorCode::kNotFound, "this is not a folder", dir,
            "name a trace folder; of a single .att file `wavetap decode` tells what is in it"};
    return Error{ErrorCode::kNotFound, "there is no such folder", dir,
                 "name a folder that `wavetap record` wrote"};
}

} // namespace

Result<TraceFolder> open_folder(const std::string& dir) {
    TraceFolder folder;
    folder.dir = dir;
    std::error_code code;
    std::vector<std::pair<int, std::string>> found;
    for (fs::directory_iterator entry(dir, code), end; !code && entry != end;
         entry.increment(code)) {
        const int pid = pid_of_name(entry->path().filename().string(), "proc-", "");
        if (pid >= 0 && entry->is_directory(code)) found.emplace_back(pid, entry->path().string());
    }
    if (code) return not_a_folder(dir, code);
    std::string parent = dir;
    if (found.empty() && !existing(dir + "/manifest.jsonl").empty()) {
        found.emplace_back(0, dir);
        parent = dir + "/..";
    }
    std::sort(found.begin(), found.end());
    for (const auto& [pid, path] : found) {
        WAVETAP_TRY(ProcessTrace process, read_process(parent, path, pid));
        folder.processes.push_back(std::move(process));
    }
    if (folder.processes.empty())
        return Error{ErrorCode::kNotFound, "there is no trace in this folder", dir,
                     "it should hold proc-PID folders, as `wavetap record` writes them"};
    return folder;
}

namespace {

Error wrong_size(const std::string& path, std::uint64_t bytes, const ChunkInfo& chunk) {
    return Error{ErrorCode::kCorrupt,
                 "the file has " + std::to_string(bytes) + " bytes, the manifest says " +
                     std::to_string(chunk.bytes),
                 path, "the file was cut or altered; copy the trace folder again or record again"};
}
Error not_there(const std::string& path) {
    return Error{ErrorCode::kCorrupt, "the manifest names a file that is not there", path,
                 "copy the trace folder whole"};
}
Result<std::string> path_of(const ProcessTrace& process, const ChunkInfo& chunk) {
    std::string path = process.dir + "/" + chunk.file;
    if (is_safe_relative_path(chunk.file)) return path;
    return Error{ErrorCode::kCorrupt, "the name does not stay below the folder", path, ""};
}

} // namespace

Result<void> check_chunk(const ProcessTrace& process, const ChunkInfo& chunk) {
    WAVETAP_TRY(const std::string path, path_of(process, chunk));
    const auto file = PieceReader::open(path);
    if (!file && file.error().code != ErrorCode::kNotFound) return file.error();
    if (!file) return not_there(path);
    if (file->bytes() != chunk.bytes) return wrong_size(path, file->bytes(), chunk);
    return {};
}

Result<std::vector<std::byte>> read_chunk(const ProcessTrace& process, const ChunkInfo& chunk) {
    WAVETAP_TRY(const std::string path, path_of(process, chunk));
    Result<std::vector<std::byte>> bytes = read_file(path);
    if (!bytes) {
        if (bytes.error().code != ErrorCode::kNotFound) return bytes.error();
        return not_there(path);
    }
    if (bytes->size() != chunk.bytes) return wrong_size(path, bytes->size(), chunk);
    return bytes;
}

const DispatchInfo* dispatch_of(const ProcessTrace& process, const RunInfo& run) {
    const std::uint64_t number = run.first_dispatch;
    if (number == 0 || run.last_dispatch != number) return nullptr;
    const auto& all = process.dispatches;
    // Where it is if every launch has a line and no two threads raced for theirs.
    if (number <= all.size() && all[number - 1].dispatch == number) return &all[number - 1];
    const auto found = std::ranges::find(all, number, &DispatchInfo::dispatch);
    return found != all.end() ? &*found : nullptr;
}

std::vector<Segment> segments_of(const Run& run, std::uint32_t se) {
    std::vector<Segment> segments;
    bool open = false;
    for (const ChunkInfo& chunk : run.chunks) {
        if (chunk.se != se) continue;
        if (!open) segments.emplace_back();
        segments.back().push_back(&chunk);
        open = !chunk.end;
    }
    return segments;
}

Result<std::vector<std::byte>> read_segment(const ProcessTrace& process, const Segment& segment) {
    std::vector<std::byte> bytes;
    for (const ChunkInfo* chunk : segment) {
        WAVETAP_TRY(std::vector<std::byte> part, read_chunk(process, *chunk));
        if (bytes.empty())
            bytes = std::move(part);
        else
            bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
}

std::string code_object_path(const ProcessTrace& process, const CodeObjectInfo& object) {
    if (!is_safe_relative_path(object.file)) return "";
    return process.dir + "/" + object.file;
}

Result<void> write_summary(const std::string& dir, std::string_view json) {
    const std::string path = dir + "/summary.json";
    const std::string temporary = path + "." + std::to_string(::getpid());
    ::unlink(temporary.c_str());
    Result<void> written = write_new_file(temporary, std::as_bytes(std::span(json)));
    if (written && std::rename(temporary.c_str(), path.c_str()) != 0)
        written = io_error("cannot rename to", path, errno);
    if (!written) ::unlink(temporary.c_str());
    return written;
}

Result<void> clear_folder(const std::string& dir) {
    std::error_code code;
    std::vector<fs::path> ours;
    for (fs::directory_iterator entry(dir, code), end; !code && entry != end;
         entry.increment(code)) {
        const std::string name = entry->path().filename().string();
        if (name == "summary.json" || pid_of_name(name, "proc-", "") >= 0 ||
            pid_of_name(name, "truth-", ".bin") >= 0 || pid_of_name(name, "driver-", ".json") >= 0)
            ours.push_back(entry->path());
    }
    if (code) return not_a_folder(dir, code);
    for (const fs::path& path : ours) {
        fs::remove_all(path, code);
        if (code) return io_error("cannot remove", path.string(), code.value());
    }
    return {};
}

} // namespace wavetap::store
