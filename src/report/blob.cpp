// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/blob.hpp"

#include "base/task_pool.hpp"
#include "store/pieces.hpp"

#include <algorithm>
#include <set>
#include <span>
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

std::uint64_t count_zero_tail(std::span<const std::byte> bytes) {
    const auto last =
        std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte b) { return b != std::byte{0}; });
    return static_cast<std::uint64_t>(last - bytes.rbegin());
}

/// A blob and what it is made of.
struct Work {
    Blob blob;
    store::Segment chunks;
    decode::Options options;
    // While it is decoded piece by piece.
    std::optional<store::PieceReader> reader;
    std::optional<decode::PieceDecoder> decoder;
    bool done = false;
};

void describe(Work& work) {
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
}

void read_and_decode(Work& work) {
    Blob& blob = work.blob;
    describe(work);
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

/// Decodes the next piece; `blob.records` has the waves that ended in it.
Result<void> decode_piece(Work& work) {
    Blob& blob = work.blob;
    if (!work.reader) {
        WAVETAP_TRY(work.reader, store::PieceReader::open(*blob.process, work.chunks));
        if (work.reader->bytes() == 0 && blob.lost) {
            work.done = true;
            return {};
        }
        work.decoder.emplace(work.options);
    }
    WAVETAP_TRY(const auto piece, work.reader->next());
    if (!piece.empty()) {
        const std::uint64_t zeros = count_zero_tail(piece);
        blob.zero_tail_bytes = zeros == piece.size() ? blob.zero_tail_bytes + zeros : zeros;
        WAVETAP_CHECK_OK(work.decoder->feed(piece));
    }
    if (work.reader->at_end()) {
        WAVETAP_CHECK_OK(work.decoder->finish());
        work.done = true;
    }
    decode::BlobRecords& records = work.decoder->records();
    if (work.done)
        blob.records = std::move(records);
    else
        blob.records.take_lists(records);
    work.decoder->drop();
    return {};
}

void step(Work& work) {
    if (work.done) return;
    if (const Result<void> decoded = decode_piece(work); !decoded) {
        work.blob.error = decoded.error();
        work.blob.records = {};
        work.done = true;
    }
    if (!work.done) return;
    work.decoder.reset();
    work.reader.reset();
}

/// Decodes side by side what was collected and hands it over.
class Batch {
  public:
    /// Whole blobs.
    Batch(const BlobVisitor& whole, unsigned threads)
        : whole_(&whole), pool_(thread_count(threads)) {}
    /// By and by.
    Batch(const BlobVisitor& on_piece, const BlobVisitor& on_end, bool events, unsigned threads)
        : on_piece_(&on_piece), on_end_(&on_end), events_(events), pool_(thread_count(threads)) {}

    void add(Work work) {
        work_.push_back(std::move(work));
        if (work_.size() == pool_.threads()) run();
    }
    void run() {
        // What few blobs leave idle works inside of them.
        const auto count = static_cast<unsigned>(work_.size());
        for (Work& work : work_)
            work.options.threads = std::max(1U, pool_.threads() / std::max(1U, count));
        if (whole_ != nullptr)
            run_whole();
        else
            run_in_pieces();
        work_.clear();
    }

  private:
    void run_whole() {
        pool_.for_each(work_.size(), [this](std::size_t i) { read_and_decode(work_[i]); });
        for (Work& work : work_) {
            (*whole_)(work.blob);
            work.blob = {};
        }
    }
    // In rounds: all decode a piece each, then the waves of these are handed over.
    void run_in_pieces() {
        constexpr std::uint64_t kWorthAThread = 64 * 1024;
        for (Work& work : work_) {
            describe(work);
            work.options.want_events = events_;
            work.options.threads = static_cast<unsigned>(
                std::min<std::uint64_t>(work.options.threads, work.blob.bytes / kWorthAThread + 1));
        }
        for (bool more = true; more;) {
            pool_.for_each(work_.size(), [this](std::size_t i) { step(work_[i]); });
            more = false;
            for (Work& work : work_) {
                more = more || !work.done;
                Blob& blob = work.blob;
                if (!blob.records.has_lists()) continue;
                if (*on_piece_) (*on_piece_)(blob);
                blob.handed_over.add(blob.records.waves);
                blob.records.clear_lists();
            }
        }
        for (const Work& work : work_)
            (*on_end_)(work.blob);
    }

    const BlobVisitor* whole_ = nullptr;
    const BlobVisitor* on_piece_ = nullptr;
    const BlobVisitor* on_end_ = nullptr;
    bool events_ = false;
    TaskPool pool_;
    std::vector<Work> work_;
};

Result<void> visit(const store::TraceFolder& folder, CodeTable& code, Batch& batch) {
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

} // namespace

void WaveCounts::add(const std::vector<decode::WaveRecord>& records) {
    waves += records.size();
    for (const decode::WaveRecord& wave : records) {
        on_target += wave.on_target || !wave.instructions.empty();
        foreign += wave.entry.code_object == 0 && wave.entry.absolute != 0;
        open += !wave.complete;
    }
}

Result<void> visit_blobs(const store::TraceFolder& folder, CodeTable& code,
                         const BlobVisitor& visit_one, unsigned threads) {
    Batch batch(visit_one, threads);
    return visit(folder, code, batch);
}

Result<void> visit_waves(const store::TraceFolder& folder, CodeTable& code,
                         const BlobVisitor& on_waves, const BlobVisitor& on_end, unsigned threads) {
    Batch batch(on_waves, on_end, false, threads);
    return visit(folder, code, batch);
}

Result<void> visit_pieces(const store::TraceFolder& folder, CodeTable& code,
                          const BlobVisitor& on_piece, const BlobVisitor& on_end) {
    Batch batch(on_piece, on_end, true, 1);
    return visit(folder, code, batch);
}

} // namespace wavetap::report
