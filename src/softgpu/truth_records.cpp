// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/truth_records.hpp"

#include <cerrno>
#include <utility>

namespace wavetap::softgpu {

namespace {

std::uint64_t unzigzag(std::uint64_t code) {
    return code >> 1 ^ (~(code & 1) + 1);
}

TruthTraceEvent decode_event(Decoder& in) {
    TruthTraceEvent e;
    e.agent = in.narrow<std::uint32_t>();
    e.se = in.narrow<std::uint16_t>();
    e.kind = static_cast<TruthTraceEvent::Kind>(in.narrow<std::uint8_t>());
    e.time = in.number();
    e.buffer_va = in.number();
    e.buffer_bytes = in.number();
    e.count = in.number();
    return e;
}

TruthSampling decode_sampling(Decoder& in) {
    TruthSampling s;
    s.agent = in.narrow<std::uint32_t>();
    s.se = in.narrow<std::uint16_t>();
    s.time = in.number();
    s.period = in.narrow<std::uint32_t>();
    s.cu_mask = in.narrow<std::uint32_t>();
    for (std::uint32_t& counter : s.counters)
        counter = in.narrow<std::uint32_t>();
    return s;
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// A record of the file.
struct Record {
    RecordType type{};
    std::uint64_t offset = 0, end = 0; ///< in the file
    std::span<const std::uint8_t> body;
};

/// Reads a file record by record; holds one batch, or one record if that is longer.
class RecordReader {
  public:
    static Result<RecordReader> open(const std::string& path) {
        RecordReader reader;
        reader.path_ = path;
        reader.file_.reset(std::fopen(path.c_str(), "rb"));
        if (!reader.file_)
            return Error{ErrorCode::kIo,
                         std::string("cannot open truth log: ") + std::strerror(errno), path, ""};
        WAVETAP_TRY(const bool whole, reader.fill(kTruthMagic.size()));
        if (!whole ||
            std::memcmp(reader.bytes_.data(), kTruthMagic.data(), kTruthMagic.size()) != 0)
            return corrupt_truth(path, 0, "not a truth log of this version");
        reader.at_ = kTruthMagic.size();
        return reader;
    }
    /// Nothing at the end.
    Result<std::optional<Record>> next() {
        constexpr std::size_t kMostHead = 20; // two varints
        WAVETAP_CHECK_OK(fill(kMostHead));
        if (left() == 0) return std::optional<Record>();
        Decoder head(std::span<const std::uint8_t>(bytes_).subspan(at_));
        Record record;
        const std::uint64_t type = head.number();
        const std::uint64_t size = head.number();
        const std::size_t head_bytes = head.at();
        bool whole = head.ok() && size <= ~std::uint64_t{0} - kMostHead;
        if (whole && size > head.left()) {
            // No more is read than there is.
            WAVETAP_TRY(whole, fill(head_bytes + size));
        }
        if (!whole) {
            truncated_ = true;
            return std::optional<Record>();
        }
        record.type = static_cast<RecordType>(type);
        record.offset = origin_ + at_;
        record.body = std::span<const std::uint8_t>(bytes_).subspan(at_ + head_bytes, size);
        at_ += head_bytes + size;
        record.end = origin_ + at_;
        if (type < 1 || type > static_cast<std::uint64_t>(RecordType::kSample))
            return corrupt_truth(path_, record.offset,
                                 "unknown record type " + std::to_string(type));
        return std::optional<Record>(record);
    }
    bool truncated() const { return truncated_; }

  private:
    std::size_t left() const { return bytes_.size() - at_; }
    /// Whether that many bytes are here; false at the end of the file.
    Result<bool> fill(std::uint64_t wanted) {
        if (left() >= wanted) return true;
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
        origin_ += at_;
        at_ = 0;
        while (bytes_.size() < wanted) {
            const std::size_t filled = bytes_.size();
            bytes_.resize(filled + kTruthBatchBytes);
            const std::size_t got =
                std::fread(bytes_.data() + filled, 1, kTruthBatchBytes, file_.get());
            bytes_.resize(filled + got);
            if (std::ferror(file_.get()) != 0)
                return Error{ErrorCode::kIo, "cannot read truth log", path_, ""};
            if (got == 0) return false;
        }
        return true;
    }

    std::string path_;
    File file_;
    std::vector<std::uint8_t> bytes_;
    std::size_t at_ = 0;       ///< in bytes_
    std::uint64_t origin_ = 0; ///< of bytes_[0] in the file
    bool truncated_ = false;
};

/// A record that needs no sink.
Result<void> take_other(const Record& record, Decoder& body, const std::string& path,
                        Truth& truth) {
    switch (record.type) {
    case RecordType::kChip: {
        const auto agent = body.narrow<std::uint16_t>();
        if (truth.chips.size() <= agent) truth.chips.resize(agent + std::size_t{1});
        truth.chips[agent] = body.text();
        break;
    }
    case RecordType::kTraceEvent:
        truth.trace_events.push_back(decode_event(body));
        if (truth.trace_events.back().kind > TruthTraceEvent::Kind::kDrop)
            return corrupt_truth(path, record.end - record.body.size(), "unknown trace event");
        break;
    case RecordType::kSampling:
        truth.samplings.push_back(decode_sampling(body));
        break;
    default:
        break;
    }
    return {};
}

} // namespace

TruthDispatch decode_dispatch(Decoder& in) {
    TruthDispatch d;
    d.agent = in.narrow<std::uint32_t>();
    d.id = in.number();
    d.entry_pc = in.number();
    d.queue = in.number();
    d.time = in.number();
    d.workgroups = in.narrow<std::uint32_t>();
    return d;
}

std::uint64_t decode_wave_head(Decoder& in, TruthWave& w) {
    w.agent = in.narrow<std::uint32_t>();
    w.dispatch = in.number();
    w.se = in.narrow<std::uint16_t>();
    w.cu = in.narrow<std::uint16_t>();
    w.simd = in.narrow<std::uint16_t>();
    w.slot = in.narrow<std::uint16_t>();
    w.threads = in.narrow<std::uint32_t>();
    w.entry_pc = in.number();
    w.start = in.number();
    const std::uint64_t length = in.number();
    w.end = length == 0 ? 0 : w.start + length - 1;
    return in.number();
}

void decode_instructions(Decoder& in, std::uint64_t count, TruthWave& w) {
    if (count > in.left()) count = in.left() + 1; // each entry takes two bytes at least
    w.instructions.reserve(count);
    std::uint64_t pc = w.entry_pc, time = w.start;
    for (; count != 0 && in.ok(); --count) {
        pc += unzigzag(in.number());
        time += in.number();
        w.instructions.push_back({pc, time});
    }
}

TruthSample decode_sample(Decoder& in) {
    TruthSample s;
    s.agent = in.narrow<std::uint32_t>();
    s.se = in.narrow<std::uint16_t>();
    s.cu = in.narrow<std::uint8_t>();
    s.bank = in.narrow<std::uint8_t>();
    s.latched = in.number();
    for (std::uint16_t& counter : s.counters)
        counter = in.narrow<std::uint16_t>();
    return s;
}

Result<void> read_records(const std::string& path, const RecordSinks& sinks, Truth& truth) {
    WAVETAP_TRY(RecordReader reader, RecordReader::open(path));
    for (;;) {
        WAVETAP_TRY(const std::optional<Record> record, reader.next());
        if (!record) break;
        const RecordPlace place{record->offset, record->end};
        Decoder body(record->body);
        const auto whole = [&body] { return body.ok() && body.left() == 0; };
        if (record->type == RecordType::kDispatch) {
            const TruthDispatch dispatch = decode_dispatch(body);
            if (whole()) sinks.dispatch(place, dispatch);
        } else if (record->type == RecordType::kWave) {
            TruthWave wave;
            const std::uint64_t count = decode_wave_head(body, wave);
            decode_instructions(body, count, wave);
            if (whole()) sinks.wave(place, std::move(wave));
        } else if (record->type == RecordType::kSample) {
            const TruthSample sample = decode_sample(body);
            if (whole()) sinks.sample(place, sample);
        } else {
            WAVETAP_CHECK_OK(take_other(*record, body, path, truth));
        }
        if (!whole())
            return corrupt_truth(path, record->end - record->body.size(), "record does not fit");
    }
    truth.truncated = reader.truncated();
    return {};
}

Error corrupt_truth(const std::string& path, std::uint64_t offset, const std::string& what) {
    return Error{ErrorCode::kCorrupt, "truth log: " + what,
                 path + ", offset " + std::to_string(offset), ""};
}

} // namespace wavetap::softgpu
