// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/chunks.hpp"

#include "compat/abi_records.hpp"
#include "decode/cut.hpp"

#include <chrono>
#include <cstring>

namespace wavetap::compat {
namespace {

constexpr Duration kWaitForChunk = std::chrono::milliseconds(100);

/// Passes on what the caller wants until it fails.
class ScanSink final : public decode::RecordSink {
  public:
    /// `version`: of the stream's header from gfx10 on; 0 on gfx9.
    ScanSink(RecordCallback callback, void* user, const Wanted& wanted, unsigned version)
        : callback_(callback), user_(user), wanted_(wanted), version_(version) {}
    void dispatch(const decode::DispatchRecord& record) override {
        Dispatch out = dispatch_of(record, version_);
        out.time = 0;
        send(kDispatch, &out);
    }
    void event(const decode::EventRecord& record) override {
        Event out = event_of(record, version_ == 0);
        out.time = 0;
        if (out.type != 0) send(kEvent, &out);
    }
    Status status() const { return status_; }

  private:
    void send(RecordType type, void* record) {
        if (status_ == kSuccess && wanted_.has(type)) status_ = callback_(type, record, 1, user_);
    }
    RecordCallback callback_;
    void* user_;
    Wanted wanted_;
    unsigned version_;
    Status status_ = kSuccess;
};

/// The state before chunk `index`.
Status entry_state(Decoder& decoder, std::uint64_t index, std::span<const std::byte> chunk,
                   Duration wait, Status missing, decode::ScanState& state) {
    if (index != 0) {
        auto entry = decoder.entry_of(index, wait);
        if (!entry) return missing;
        state = *std::move(entry);
        return kSuccess;
    }
    std::uint64_t raw = 0;
    if (chunk.size() < sizeof raw) return kInvalidArgument;
    std::memcpy(&raw, chunk.data(), sizeof raw);
    const auto header = sqtt::parse_header(raw);
    if (!header) return kInvalidShaderData;
    state.header = *header;
    return kSuccess;
}

} // namespace

Status quick_scan(Decoder& decoder, std::uint64_t index, std::span<const std::byte> chunk,
                  RecordCallback record, void* user) {
    decode::ScanState state;
    const Status entered =
        entry_state(decoder, index, chunk, kWaitForChunk, kOutOfResources, state);
    if (entered != kSuccess) return entered;
    const bool gfx9 = state.header.generation == sqtt::Generation::kGfx9;
    ScanSink sink(record, user, decoder.settings().wanted, gfx9 ? 0U : state.header.version);
    decode::scan_chunk(state, chunk, index == 0, sink);
    decoder.ended(index, std::move(state));
    return sink.status();
}

Status build_standalone(Decoder& decoder, std::uint64_t index, std::span<const std::byte> chunk,
                        std::uint64_t begin, std::uint64_t end, void* out, std::uint64_t* size) {
    if (end > chunk.size() || begin >= end) return kInvalidArgument;
    decode::ScanState state;
    const Status entered = entry_state(decoder, index, chunk, Duration(0), kInvalidArgument, state);
    if (entered != kSuccess) return entered;
    if (index == 0 && begin < sizeof(std::uint64_t)) begin = sizeof(std::uint64_t);
    if (begin >= end) return kInvalidArgument;
    const std::uint64_t last = decode::scan_chunk_until(state, chunk, index == 0, begin * 8);
    // A token may end in the first half byte of the piece; that half becomes padding.
    if (last > begin * 8 + 4) return kInvalidArgument;
    const std::vector<std::byte> front = decode::preamble_without_clock(state);
    const std::uint64_t total = front.size() + (end - begin);
    const bool fits = *size >= total;
    *size = total;
    if (!fits) return kOutOfResources;
    auto* bytes = static_cast<std::byte*>(out);
    std::memcpy(bytes, front.data(), front.size());
    std::memcpy(bytes + front.size(), chunk.data() + begin, static_cast<std::size_t>(end - begin));
    if (last > begin * 8) bytes[front.size()] &= std::byte{0xF0};
    return kSuccess;
}

} // namespace wavetap::compat
