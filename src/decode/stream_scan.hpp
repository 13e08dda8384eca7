// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "decode/blob_source.hpp"
#include "decode/code_map.hpp"
#include "decode/decoder.hpp"
#include "decode/register_replay.hpp"
#include "decode/register_state.hpp"
#include "decode/sink.hpp"
#include "sqtt/header.hpp"
#include "sqtt/reader.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

// The quick way through a stream: dispatches, events, code objects and clocks; no waves, no
// instructions. Needs no vector unit; several times as fast as a decode.

namespace wavetap::decode {

/// What the tokens read so far mean for those that follow, waves left out. A value: whoever has a
/// copy can go on from there, or write the tokens that bring a fresh decoder there (cut.hpp).
struct ScanState {
    sqtt::Header header; ///< the newest of the stream
    std::uint64_t time = 0;
    RegisterValues registers;
    std::vector<LiveObject> live;            ///< at most CodeMap::kMaxObjects
    std::optional<std::uint64_t> clock_base; ///< gfx9, as BlobRecords::clock_base
    /// gfx9: a time reset whose timestamp must follow in the next chunk.
    struct OpenReset {
        std::uint64_t time = 0;       ///< before the reset
        std::uint64_t left_bytes = 0; ///< of the next chunk, that may hold it; 0 = no reset is open
    };
    OpenReset open_reset;
    /// gfx1250: the wave slots that VALU tokens name by place; -1 = none yet.
    std::array<int, 5> recent{-1, -1, -1, -1, -1};
    std::uint8_t cluster = 0; ///< gfx1250
    bool cluster_ends = false;
    /// The bytes of a token that the end of a chunk cut, and where in its first byte it begins.
    std::array<std::byte, 12> rest{};
    std::uint8_t rest_bytes = 0;
    std::uint8_t rest_skip_bits = 0;
    bool after_extended_start = false; ///< bytes with bit 0 set go with the token before them
};

/// Where a wave of a token stands.
struct WavePlace {
    std::uint8_t sa = 0, cu = 0, simd = 0, slot = 0;
    std::size_t index() const {
        return ((std::size_t{sa & 1U} * 16 + (cu & 15U)) * 4 + (simd & 3U)) * 32 + (slot & 31U);
    }
    static constexpr std::size_t kCount = 2 * 16 * 4 * 32;
};

/// Reads token by token. One thread.
class StreamScanner {
  public:
    /// `objects` and `sink` outlive it.
    StreamScanner(const ScanState& from, const std::vector<LoadedObject>& objects,
                  RecordSink& sink);
    StreamScanner(const StreamScanner&) = delete;
    StreamScanner& operator=(const StreamScanner&) = delete;

    /// The next token; padding may be left out. `bytes` hold it and (gfx9) the 64 KiB behind it, or
    /// all that there are; they begin at byte `origin` of what token.offset_bits counts in.
    void take(const sqtt::Token& token, std::span<const std::byte> bytes, std::uint64_t origin = 0);

    std::uint64_t time() const { return state_.time; }
    ScanState state() const;
    /// gfx9: the last time reset and the timestamp that it used, in bits; nothing if there was none.
    struct Reset {
        std::uint64_t token_bits = 0, timestamp_bits = 0;
        std::uint64_t time_before = 0;
    };
    const std::optional<Reset>& last_reset() const { return reset_; }

    /// Of a wave start or end. A program counter token names less: gfx9 SIMD and slot, later the
    /// slot only.
    WavePlace place(const sqtt::Token& token) const;
    /// True if instruction detail is recorded there.
    bool on_target(const WavePlace& place) const;
    sqtt::Generation generation() const { return generation_; }
    /// Index of the queue that a wave start names.
    std::size_t start_queue(const sqtt::Token& token) const;
    /// True for a wave start that begins a wave (not a context switch).
    bool begins_wave(const sqtt::Token& token) const;

  private:
    struct Layout;
    static const Layout& layout_of(sqtt::Generation generation);
    void take_gfx9(const sqtt::Token& token, std::span<const std::byte> bytes, std::uint64_t origin,
                   StreamPoint at);
    void take_rdna(const sqtt::Token& token, StreamPoint at);
    void time_reset(const sqtt::Token& token, std::span<const std::byte> bytes,
                    std::uint64_t origin);
    bool take_open_timestamp(const sqtt::Token& token);
    std::uint64_t time_by(const sqtt::Token& timestamp, std::uint64_t reset_time);
    void timestamp(const sqtt::Token& token, StreamPoint at);
    void misc(const sqtt::Token& token, StreamPoint at);
    void event(StreamPoint at, EventKind kind);

    /// Keeps the list of live objects beside what the caller's sink gets.
    class LiveSink final : public RecordSink {
      public:
        LiveSink(RecordSink& next, std::vector<LiveObject>& live);
        void dispatch(const DispatchRecord& record) override { next_->dispatch(record); }
        void realtime(const RealtimeRecord& record) override { next_->realtime(record); }
        void register_write(const RegisterWrite& record) override { next_->register_write(record); }
        void code_object(const CodeObjectEvent& record) override;
        void event(const EventRecord& record) override { next_->event(record); }

      private:
        RecordSink* next_;
        std::vector<LiveObject>* live_;
        std::unordered_set<std::uint64_t> ids_; ///< of live_
    };

    ScanState state_;
    LiveSink sink_;
    CodeMap code_;
    RegisterState registers_;
    const Layout* layout_;
    sqtt::Generation generation_;
    std::optional<Reset> reset_;
};

struct ScanOptions {
    std::vector<LoadedObject> objects;   ///< for the entries of dispatches
    std::optional<std::uint64_t> header; ///< as Options::header
};

/// A dispatch and where its waves are in the stream.
struct DispatchExtent {
    DispatchRecord record;
    std::uint64_t begin_bits = 0; ///< its token
    /// Behind the last token that ends one of its waves (or tells a program counter of one that has
    /// ended); the end of the stream if a wave never ends.
    std::uint64_t end_bits = 0;
    std::uint64_t end_time = 0; ///< of that token
    std::uint64_t waves = 0, waves_ended = 0;
};

/// Which records of a stream a scan keeps. Dispatches and events are counted together, in their order
/// in the stream.
struct ScanWindow {
    std::uint64_t first = 0;
    std::uint64_t most = ~std::uint64_t{0};
};

struct BlobScan {
    sqtt::Header header;
    std::vector<DispatchExtent> dispatches; ///< of the window
    std::vector<EventRecord> events;        ///< of the window
    std::uint64_t first_dispatch = 0;       ///< number of dispatches[0] in the blob
    std::uint64_t dispatches_total = 0, events_total = 0;
    std::vector<CodeObjectEvent> code_objects; ///< none where `most` bounds the window
    std::uint64_t waves_before = 0;            ///< starts before the first dispatch
    std::uint64_t last_time = 0;
    std::uint64_t end_bits = 0; ///< behind the last complete token
};

/// Everything that a scan finds in one blob, equal to what decode_blob() gives for it. Errors as
/// decode_blob().
Result<BlobScan> scan_blob(std::span<const std::byte> bytes, const ScanOptions& options);
/// The same, read piece by piece: memory for the records of the window only. Errors: also those of the
/// source.
Result<BlobScan> scan_blob(BlobSource& source, const ScanOptions& options, ScanWindow window = {});

/// Scans one chunk of a stream; `state` is where the chunk before ended and becomes where this one
/// ends. `has_header`: the chunk begins with the eight bytes that every stream begins with; else it
/// continues. Byte offsets of records count from the chunk's start; a token that began in the chunk
/// before has offset 0. Times are those of the whole stream, with one exception: what lies between a
/// time reset of gfx9 at the end of a chunk and its timestamp in the next one (four tokens at most in
/// real streams) is told with the time before the reset.
void scan_chunk(ScanState& state, std::span<const std::byte> chunk, bool has_header,
                RecordSink& sink);

/// The same up to `stop_bits` of the chunk: tokens that begin there or later are not read. Returns
/// the bit behind the last token read, padding left out; more than `stop_bits` if that is inside it.
/// The state is fit for cut.hpp only, not for the next chunk.
std::uint64_t scan_chunk_until(ScanState& state, std::span<const std::byte> chunk, bool has_header,
                               std::uint64_t stop_bits);

/// The state before the token at `bits`; a blob from its start.
Result<ScanState> state_before(BlobSource& source, std::uint64_t bits, const ScanOptions& options);
Result<ScanState> state_before(std::span<const std::byte> bytes, std::uint64_t bits,
                               const ScanOptions& options);
/// Where the first token of a blob begins. `has_header`: the blob begins with its eight bytes.
std::uint64_t first_token(const ScanState& state, bool has_header);

} // namespace wavetap::decode
