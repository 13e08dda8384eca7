// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/blob.hpp"

#include "base/task_pool.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace wavetap::report {
namespace {

template <class Items, class Number>
auto find_by(const Items& items, Number number, Number Items::value_type::*member) ->
    typename Items::const_pointer {
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const auto& item) { return item.*member == number; });
    return found == items.end() ? nullptr : &*found;
}

std::uint64_t count_zero_tail(const std::vector<std::byte>& bytes) {
    const auto last =
        std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte b) { return b != std::byte{0}; });
    return static_cast<std::uint64_t>(last - bytes.rbegin());
}

/// A blob and what it is made of.
struct Work {
    Blob blob;
    store::Segment chunks;
    decode::Options options;
};

void read_and_decode(Work& work) {
    Blob& blob = work.blob;
    for (const store::ChunkInfo* chunk : work.chunks) {
        blob.bytes += chunk->bytes;
        blob.capacity_bytes = std::max(blob.capacity_bytes, chunk->capacity_bytes);
        blob.gpu_full |= chunk->gpu_full;
        blob.cpu_full |= chunk->cpu_full;
        blob.lost |= chunk->lost;
        blob.halted |= chunk->halted;
        blob.ended = chunk->end;
        blob.status = chunk->status;
        blob.dropped = chunk->dropped;
    }
    const auto bytes = store::read_segment(*blob.process, work.chunks);
    if (!bytes) {
        blob.error = bytes.error();
        return;
    }
    blob.zero_tail_bytes = count_zero_tail(*bytes);
    // A segment that broke off before its header was stored.
    if (bytes->empty() && blob.lost) return;
    auto records = decode::decode_blob(*bytes, work.options);
    if (records) {
        blob.records = *std::move(records);
    } else {
        blob.error = records.error();
    }
}

/// Decodes side by side what was collected and hands it over in order.
class Batch {
  public:
    Batch(const std::function<void(const Blob&)>& visit, unsigned threads)
        : visit_(&visit), pool_(thread_count(threads)) {}

    void add(Work work) {
        work_.push_back(std::move(work));
        if (work_.size() == pool_.threads()) run();
    }
    void run() {
        // What few blobs leave idle works inside of them.
        const auto count = static_cast<unsigned>(work_.size());
        for (Work& work : work_)
            work.options.threads = std::max(1U, pool_.threads() / std::max(1U, count));
        pool_.for_each(work_.size(), [this](std::size_t i) { read_and_decode(work_[i]); });
        for (Work& work : work_) {
            (*visit_)(work.blob);
            work.blob = {};
        }
        work_.clear();
    }

  private:
    const std::function<void(const Blob&)>* visit_;
    TaskPool pool_;
    std::vector<Work> work_;
};

} // namespace

Result<void> visit_blobs(const store::TraceFolder& folder, CodeTable& code,
                         const std::function<void(const Blob&)>& visit, unsigned threads) {
    Batch batch(visit, threads);
    for (const store::ProcessTrace& process : folder.processes) {
        code.add(process);
        for (const store::Run& run : process.runs) {
            const auto* context =
                find_by(process.contexts, run.info.context, &store::ContextInfo::id);
            const auto* agent = context == nullptr ? nullptr
                                                   : find_by(process.agents, context->agent,
                                                             &store::AgentInfo::index);
            if (agent == nullptr)
                return Error{ErrorCode::kCorrupt,
                             "run " + std::to_string(run.info.id) +
                                 " belongs to no context that the manifest describes",
                             process.dir, "record again; the manifest is damaged"};
            std::set<std::uint32_t> engines;
            for (const store::ChunkInfo& chunk : run.chunks)
                engines.insert(chunk.se);
            for (const std::uint32_t se : engines) {
                const std::vector<store::Segment> segments = store::segments_of(run, se);
                for (std::size_t i = 0; i < segments.size(); ++i) {
                    Work work;
                    Blob& blob = work.blob;
                    blob.process = &process;
                    blob.agent = agent;
                    blob.context = context;
                    blob.run = &run;
                    blob.se = se;
                    blob.segment = static_cast<std::uint32_t>(i);
                    blob.segments = static_cast<std::uint32_t>(segments.size());
                    work.chunks = segments[i];
                    work.options.gfx = agent->name;
                    work.options.objects = code.loaded(process, agent->index);
                    batch.add(std::move(work));
                }
            }
        }
        // The table of code objects changes with the process.
        batch.run();
    }
    return {};
}

} // namespace wavetap::report
