// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "base/mutex.hpp"
#include "store/files.hpp"
#include "store/manifest.hpp"
#include "store/trace_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <optional>

namespace wavetap::store {

struct FolderWriter::Impl {
    std::string dir;      ///< const after construction
    std::string manifest; ///< const after construction
    Mutex mutex;
    int descriptor WAVETAP_GUARDED_BY(mutex) = -1;
    bool finished WAVETAP_GUARDED_BY(mutex) = false;
    std::optional<Error> failure WAVETAP_GUARDED_BY(mutex);
    /// Files of each stem in the folder written last, so that a run of many chunks is not searched
    /// for a free name each time.
    std::string last_folder WAVETAP_GUARDED_BY(mutex);
    std::map<std::string, std::uint32_t> copies WAVETAP_GUARDED_BY(mutex);

    Result<void> usable() WAVETAP_REQUIRES(mutex) {
        if (failure) return *failure;
        if (finished) return Error{ErrorCode::kWrongState, "the trace folder is finished", dir, ""};
        return {};
    }
    Result<void> keep(Result<void> result) WAVETAP_REQUIRES(mutex) {
        if (!result && !failure) failure = result.error();
        return result;
    }
    Result<void> append(std::string line) WAVETAP_REQUIRES(mutex) {
        WAVETAP_CHECK_OK(usable());
        line += '\n';
        return keep(write_all(descriptor, std::as_bytes(std::span(line)), manifest));
    }
    /// Takes the next name STEM.SUFFIX, STEM.2.SUFFIX, … in a folder that is relative to the
    /// process folder. The file may exist.
    Result<std::string> next_name(const std::string& folder, const std::string& stem,
                                  const char* suffix) WAVETAP_EXCLUDES(mutex) {
        const MutexLock lock(mutex);
        WAVETAP_CHECK_OK(usable());
        if (folder != last_folder) copies.clear();
        last_folder = folder;
        const std::uint32_t copy = ++copies[stem];
        return folder + "/" + stem + (copy == 1 ? "" : "." + std::to_string(copy)) + suffix;
    }
    /// Writes `bytes` below the first free name, which it returns. A slow disk must not stop those who
    /// only append a line (the application's launches do): no lock is held meanwhile.
    Result<std::string> add_file(const std::string& folder, const std::string& stem,
                                 const char* suffix, std::span<const std::byte> bytes)
        WAVETAP_EXCLUDES(mutex) {
        Result<void> written = make_directories(dir + "/" + folder);
        while (written) {
            WAVETAP_TRY(std::string name, next_name(folder, stem, suffix));
            written = write_new_file(dir + "/" + name, bytes);
            if (written) return name;
            if (written.error().code == ErrorCode::kWrongState) written = {}; // the name is taken
        }
        const MutexLock lock(mutex);
        WAVETAP_CHECK_OK(usable());
        return std::move(keep(std::move(written)).error());
    }
};

FolderWriter::FolderWriter() : impl_(std::make_unique<Impl>()) {}

FolderWriter::~FolderWriter() {
    const MutexLock lock(impl_->mutex);
    if (impl_->descriptor >= 0) ::close(impl_->descriptor);
}

Result<std::unique_ptr<FolderWriter>> FolderWriter::create(const std::string& dir, int pid) {
    WAVETAP_CHECK_OK(make_directories(dir));
    std::unique_ptr<FolderWriter> writer(new FolderWriter);
    Impl& impl = *writer->impl_;
    const std::string first = dir + "/proc-" + std::to_string(pid);
    impl.dir = first;
    for (int copy = 2; ::mkdir(impl.dir.c_str(), 0755) != 0; ++copy) {
        if (errno != EEXIST) return io_error("cannot make the folder", impl.dir, errno);
        impl.dir = first + "-" + std::to_string(copy);
    }
    impl.manifest = impl.dir + "/manifest.jsonl";
    const MutexLock lock(impl.mutex);
    impl.descriptor =
        ::open(impl.manifest.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (impl.descriptor < 0) return io_error("cannot make the file", impl.manifest, errno);
    WAVETAP_CHECK_OK(impl.append(folder_line(pid)));
    return writer;
}

const std::string& FolderWriter::process_dir() const {
    return impl_->dir;
}

Result<void> FolderWriter::agent(const AgentInfo& agent) {
    const MutexLock lock(impl_->mutex);
    return impl_->append(agent_line(agent));
}

Result<void> FolderWriter::context(const ContextInfo& context) {
    const MutexLock lock(impl_->mutex);
    return impl_->append(context_line(context));
}

Result<void> FolderWriter::code_object(const CodeObjectInfo& object,
                                       std::span<const std::byte> elf) {
    CodeObjectInfo stored = object;
    stored.file.clear();
    if (!elf.empty()) {
        WAVETAP_TRY(stored.file, impl_->add_file("code", std::to_string(object.id), ".elf", elf));
    }
    const MutexLock lock(impl_->mutex);
    return impl_->append(code_object_line(stored));
}

Result<void> FolderWriter::code_object_unloaded(std::uint64_t id) {
    const MutexLock lock(impl_->mutex);
    return impl_->append(code_object_unloaded_line(id));
}

Result<void> FolderWriter::dispatch(const DispatchInfo& dispatch) {
    const MutexLock lock(impl_->mutex);
    return impl_->append(dispatch_line(dispatch));
}

Result<void> FolderWriter::begin_run(const RunInfo& run) {
    const MutexLock lock(impl_->mutex);
    return impl_->append(run_begin_line(run));
}

Result<void> FolderWriter::chunk(const ChunkInfo& chunk, std::span<const std::byte> bytes) {
    ChunkInfo stored = chunk;
    stored.bytes = bytes.size();
    WAVETAP_TRY(stored.file, impl_->add_file("runs/" + std::to_string(chunk.run),
                                             "se" + std::to_string(chunk.se), ".att", bytes));
    const MutexLock lock(impl_->mutex);
    return impl_->append(chunk_line(stored));
}

Result<void> FolderWriter::end_run(const RunInfo& run) {
    const MutexLock lock(impl_->mutex);
    return impl_->append(run_end_line(run));
}

Result<void> FolderWriter::statistics(const std::string& json_object) {
    WAVETAP_TRY(std::string line, statistics_line(json_object));
    const MutexLock lock(impl_->mutex);
    return impl_->append(std::move(line));
}

Result<void> FolderWriter::note(std::string_view severity, std::string_view text) {
    if (severity != "info" && severity != "warning" && severity != "error")
        return Error{ErrorCode::kInvalidArgument,
                     "'" + std::string(severity) + "' is not a severity", "",
                     "use info, warning or error"};
    const MutexLock lock(impl_->mutex);
    return impl_->append(note_line(severity, text));
}

Result<void> FolderWriter::finish() {
    const MutexLock lock(impl_->mutex);
    if (impl_->finished) return {};
    WAVETAP_CHECK_OK(impl_->append(finish_line()));
    impl_->finished = true;
    return {};
}

} // namespace wavetap::store
