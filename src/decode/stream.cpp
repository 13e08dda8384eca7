// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/stream.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace wavetap::decode {
namespace {

constexpr std::size_t kHeaderBytes = 8;
constexpr std::size_t kPartAlone = 48 * 1024; ///< its columns stay in the cache
/// Each thread has the columns of two parts, some 30 bytes for each of their bytes at worst.
constexpr std::size_t kPartTogether = 64 * 1024;
/// gfx10 to gfx12: what comes out of a part, some 20 bytes for each of its own, waits for its turn and
/// should not drive the columns out of the cache.
constexpr std::size_t kPartJoined = 32 * 1024;
constexpr unsigned kManyThreads = 8;
/// What is fed in small pieces is collected up to this.
constexpr std::size_t kCollect = 256 * 1024;

bool only_zeros(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::size_t part_bytes_for(sqtt::Generation generation, std::size_t threads) {
    if (threads == 1 || threads > kManyThreads) return kPartAlone;
    const bool large =
        generation == sqtt::Generation::kGfx9 || generation == sqtt::Generation::kGfx1250;
    return large ? kPartTogether : kPartJoined;
}

} // namespace

StreamDecoder::StreamDecoder(const StreamOptions& options, CodeMap& code, RecordSink& sink,
                             Diagnostics& diagnostics)
    : options_(options), code_(&code), sink_(&sink), diagnostics_(&diagnostics) {}

StreamDecoder::~StreamDecoder() = default;

Result<sqtt::Header> StreamDecoder::read_header(std::span<const std::byte> bytes) {
    if (bytes.size() < kHeaderBytes) {
        return Error{ErrorCode::kCorrupt,
                     "a thread trace of " + std::to_string(bytes.size()) +
                         " bytes has no room for its header of 8",
                     "byte 0", "the trace unit wrote nothing, or the file was cut"};
    }
    std::uint64_t raw = 0;
    std::memcpy(&raw, bytes.data(), sizeof raw);
    return sqtt::parse_header(raw);
}

Result<void> StreamDecoder::begin(std::span<const std::byte> bytes, bool whole) {
    if (options_.header) {
        WAVETAP_TRY(header_, sqtt::parse_header(*options_.header));
    } else {
        WAVETAP_TRY(header_, read_header(bytes));
    }
    std::size_t threads = thread_count(options_.threads);
    const std::size_t part_bytes = options_.part_bytes != 0
                                       ? options_.part_bytes
                                       : part_bytes_for(header_->generation, threads);
    // A small blob has no work for many.
    if (whole) threads = std::min(threads, bytes.size() / part_bytes + 1);
    if (threads > 1) pool_ = std::make_unique<TaskPool>(static_cast<unsigned>(threads));
    EngineSetup setup;
    setup.header = *header_;
    setup.code = code_;
    setup.sink = sink_;
    setup.diagnostics = diagnostics_;
    setup.want_instructions = options_.want_instructions;
    setup.insert_barrier_waits = options_.insert_barrier_waits;
    setup.pool = pool_.get();
    setup.part_bytes = part_bytes;
    const bool gfx9 = header_->generation == sqtt::Generation::kGfx9;
    constexpr unsigned kGfx9Cus = 16; // tokens have four bits for it
    if (gfx9 && header_->target_cu >= kGfx9Cus) diagnostics_->add(Fault::kTargetOutOfRange, 0, 0);
    engine_ = gfx9 ? make_gfx9_engine(setup) : make_rdna_engine(setup);
    if (gfx9 && !options_.header) start_bits_ = 64;
    return {};
}

// Decodes what can be decoded; returns how many bytes of `bytes` are done with.
std::size_t StreamDecoder::consume(std::span<const std::byte> bytes, bool last) {
    const std::uint64_t next = engine_->consume(bytes, start_bits_, origin_, last);
    const auto done = static_cast<std::size_t>(next / 8);
    start_bits_ = next % 8;
    origin_ += done;
    return done;
}

Result<void> StreamDecoder::feed(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (!engine_) {
            const std::size_t missing =
                options_.header ? 0 : kHeaderBytes - std::min(kHeaderBytes, pending_.size());
            const std::size_t taken = std::min(missing, bytes.size());
            pending_.insert(pending_.end(), bytes.begin(),
                            bytes.begin() + static_cast<std::ptrdiff_t>(taken));
            bytes = bytes.subspan(taken);
            if (taken < missing) return {};
            WAVETAP_CHECK_OK(begin(pending_, false));
            continue;
        }
        if (pending_.empty()) {
            const std::size_t done = consume(bytes, false);
            bytes = bytes.subspan(done);
            pending_.assign(bytes.begin(), bytes.end());
            return {};
        }
        // Join what is left over with as much as gets it decoded; then go on in the caller's bytes.
        const std::size_t taken = std::min(bytes.size(), kCollect);
        pending_.insert(pending_.end(), bytes.begin(),
                        bytes.begin() + static_cast<std::ptrdiff_t>(taken));
        bytes = bytes.subspan(taken);
        if (pending_.size() < kCollect && bytes.empty()) return {};
        const std::size_t done = consume(pending_, false);
        const std::size_t left = pending_.size() - done;
        if (left <= taken && !bytes.empty()) {
            bytes = {bytes.data() - left, bytes.size() + left};
            pending_.clear();
        } else {
            pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
        }
    }
    return {};
}

void StreamDecoder::gap() {
    if (!engine_) return;
    const std::size_t left = pending_.size() - consume(pending_, true);
    origin_ += left;
    start_bits_ = 0;
    pending_.clear();
    engine_->gap();
}

Result<void> StreamDecoder::feed_chunk(std::span<const std::byte> bytes, std::size_t read_offset,
                                       bool missing) {
    WAVETAP_TRY(const ChunkPart part,
                part_of_chunk(options_.header ? nullptr : header(), bytes, read_offset, missing));
    if (part.gap) gap();
    return feed(part.bytes);
}

Result<StreamDecoder::ChunkPart> StreamDecoder::part_of_chunk(const sqtt::Header* header,
                                                              std::span<const std::byte> bytes,
                                                              std::size_t read_offset,
                                                              bool missing) {
    if (read_offset > bytes.size())
        return Error{ErrorCode::kInvalidArgument,
                     "a read offset of " + std::to_string(read_offset) + " in a chunk of " +
                         std::to_string(bytes.size()) + " bytes",
                     "", ""};
    if (header != nullptr && read_offset == 0 && bytes.size() >= kHeaderBytes) {
        std::uint64_t raw = 0;
        std::memcpy(&raw, bytes.data(), sizeof raw);
        if (raw == header->raw && only_zeros(bytes.subspan(kHeaderBytes)))
            return ChunkPart{{}, true};
    }
    return ChunkPart{missing ? bytes.subspan(read_offset) : bytes, missing};
}

Result<BlobTotals> StreamDecoder::finish() {
    if (!engine_) {
        WAVETAP_CHECK_OK(begin(pending_, true));
    }
    consume(pending_, true);
    pending_.clear();
    return engine_->finish();
}

Result<BlobTotals> decode_stream(std::span<const std::byte> bytes, const StreamOptions& options,
                                 CodeMap& code, RecordSink& sink, Diagnostics& diagnostics) {
    StreamDecoder decoder(options, code, sink, diagnostics);
    WAVETAP_CHECK_OK(decoder.begin(bytes, true));
    decoder.consume(bytes, true);
    return decoder.engine_->finish();
}

} // namespace wavetap::decode
