// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/truth.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>

namespace wavetap::softgpu {

namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'W', 'T', 'T', 'R', 'U', 'T', 'H', 1};
constexpr std::size_t kBatchBytes = 64 * 1024;

enum class RecordType : std::uint8_t {
    kChip = 1,
    kDispatch = 2,
    kWave = 3,
    kTraceEvent = 4,
    kSampling = 5,
    kSample = 6
};

std::uint64_t zigzag(std::uint64_t difference) {
    const auto value = static_cast<std::int64_t>(difference);
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

std::uint64_t unzigzag(std::uint64_t code) {
    return code >> 1 ^ (~(code & 1) + 1);
}

class Encoder {
  public:
    void number(std::uint64_t value) {
        while (value >= 0x80) {
            bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
            value >>= 7;
        }
        bytes_.push_back(static_cast<std::uint8_t>(value));
    }
    void text(const std::string& value) {
        number(value.size());
        bytes_.insert(bytes_.end(), value.begin(), value.end());
    }
    void raw(std::span<const std::uint8_t> value) {
        bytes_.insert(bytes_.end(), value.begin(), value.end());
    }
    void clear() { bytes_.clear(); }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    std::vector<std::uint8_t> bytes_;
};

/// Reads varints of one span; once anything is missing, ok() is false and the rest reads as 0.
class Decoder {
  public:
    explicit Decoder(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ >= bytes_.size()) break;
            const std::uint8_t byte = bytes_[at_++];
            if (shift == 63 && byte > 1) break;
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if ((byte & 0x80) == 0) return value;
        }
        ok_ = false;
        at_ = bytes_.size();
        return 0;
    }
    template <class T> T narrow() {
        const std::uint64_t value = number();
        if (value > std::numeric_limits<T>::max()) ok_ = false;
        return static_cast<T>(value);
    }
    std::string text() {
        const std::uint64_t size = number();
        if (size > bytes_.size() - at_) {
            ok_ = false;
            return {};
        }
        std::string value(size, '\0');
        std::memcpy(value.data(), bytes_.data() + at_, size);
        at_ += size;
        return value;
    }
    std::size_t at() const { return at_; }
    std::size_t left() const { return bytes_.size() - at_; }
    bool ok() const { return ok_; }

  private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

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

TruthWave decode_wave(Decoder& in) {
    TruthWave w;
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
    std::uint64_t count = in.number();
    if (count > in.left()) count = in.left() + 1; // each entry takes two bytes at least
    w.instructions.reserve(count);
    std::uint64_t pc = w.entry_pc, time = w.start;
    for (; count != 0 && in.ok(); --count) {
        pc += unzigzag(in.number());
        time += in.number();
        w.instructions.push_back({pc, time});
    }
    return w;
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

Error corrupt(const std::string& path, std::size_t offset, const std::string& what) {
    return Error{ErrorCode::kCorrupt, "truth log: " + what,
                 path + ", offset " + std::to_string(offset), ""};
}

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        return Error{ErrorCode::kIo, std::string("cannot open truth log: ") + std::strerror(errno),
                     path, ""};
    }
    std::vector<std::uint8_t> bytes;
    std::array<std::uint8_t, kBatchBytes> block{};
    std::size_t got = 0;
    while ((got = std::fread(block.data(), 1, block.size(), file)) != 0)
        bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
    const bool failed = std::ferror(file) != 0;
    std::fclose(file);
    if (failed) return Error{ErrorCode::kIo, "cannot read truth log", path, ""};
    return bytes;
}

} // namespace

struct TruthWriter::Impl {
    int fd = -1;
    std::vector<std::uint8_t> batch;
    Encoder record;

    void append(RecordType type) {
        Encoder head;
        head.number(static_cast<std::uint64_t>(type));
        head.number(record.bytes().size());
        batch.insert(batch.end(), head.bytes().begin(), head.bytes().end());
        batch.insert(batch.end(), record.bytes().begin(), record.bytes().end());
        record.clear();
        if (batch.size() >= kBatchBytes) write_out();
    }

    void write_out() {
        std::size_t done = 0;
        while (done < batch.size()) {
            const ssize_t n = ::write(fd, batch.data() + done, batch.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) break; // a full disk leaves a log that reads as truncated
            done += static_cast<std::size_t>(n);
        }
        batch.clear();
    }
};

TruthWriter::TruthWriter() : impl_(std::make_unique<Impl>()) {}

TruthWriter::~TruthWriter() {
    if (impl_->fd < 0) return;
    impl_->write_out();
    ::close(impl_->fd);
}

Result<std::unique_ptr<TruthWriter>> TruthWriter::create(const std::string& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        return Error{ErrorCode::kIo,
                     std::string("cannot create truth log: ") + std::strerror(errno), path, ""};
    }
    std::unique_ptr<TruthWriter> writer(new TruthWriter);
    writer->impl_->fd = fd;
    writer->impl_->batch.assign(kMagic.begin(), kMagic.end());
    writer->impl_->write_out();
    return writer;
}

void TruthWriter::chip(std::uint32_t agent, const std::string& name) {
    impl_->record.number(agent);
    impl_->record.text(name);
    impl_->append(RecordType::kChip);
}

void TruthWriter::dispatch(const TruthDispatch& d) {
    for (const std::uint64_t value :
         {std::uint64_t{d.agent}, d.id, d.entry_pc, d.queue, d.time, std::uint64_t{d.workgroups}})
        impl_->record.number(value);
    impl_->append(RecordType::kDispatch);
}

void TruthWriter::wave(const TruthWave& w) {
    Encoder& out = impl_->record;
    for (const std::uint64_t value :
         {std::uint64_t{w.agent}, w.dispatch, std::uint64_t{w.se}, std::uint64_t{w.cu},
          std::uint64_t{w.simd}, std::uint64_t{w.slot}, std::uint64_t{w.threads}, w.entry_pc,
          w.start, w.end == 0 ? 0 : w.end - w.start + 1, std::uint64_t{w.instructions.size()}})
        out.number(value);
    std::uint64_t pc = w.entry_pc, time = w.start;
    for (const TruthInstruction& i : w.instructions) {
        out.number(zigzag(i.pc - pc));
        out.number(i.time - time);
        pc = i.pc;
        time = i.time;
    }
    impl_->append(RecordType::kWave);
}

void TruthWriter::trace_event(const TruthTraceEvent& e) {
    for (const std::uint64_t value :
         {std::uint64_t{e.agent}, std::uint64_t{e.se}, static_cast<std::uint64_t>(e.kind), e.time,
          e.buffer_va, e.buffer_bytes, e.count})
        impl_->record.number(value);
    impl_->append(RecordType::kTraceEvent);
}

void TruthWriter::sampling(const TruthSampling& s) {
    for (const std::uint64_t value : {std::uint64_t{s.agent}, std::uint64_t{s.se}, s.time,
                                      std::uint64_t{s.period}, std::uint64_t{s.cu_mask}})
        impl_->record.number(value);
    for (const std::uint32_t counter : s.counters)
        impl_->record.number(counter);
    impl_->append(RecordType::kSampling);
}

void TruthWriter::sample(const TruthSample& s) {
    for (const std::uint64_t value : {std::uint64_t{s.agent}, std::uint64_t{s.se},
                                      std::uint64_t{s.cu}, std::uint64_t{s.bank}, s.latched})
        impl_->record.number(value);
    for (const std::uint16_t counter : s.counters)
        impl_->record.number(counter);
    impl_->append(RecordType::kSample);
}

void TruthWriter::flush() {
    impl_->write_out();
}

Result<Truth> read_truth(const std::string& path) {
    WAVETAP_TRY(const std::vector<std::uint8_t> bytes, read_file(path));
    if (bytes.size() < kMagic.size() ||
        std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        return corrupt(path, 0, "not a truth log of this version");
    Truth truth;
    std::size_t at = kMagic.size();
    while (at < bytes.size()) {
        Decoder head(std::span<const std::uint8_t>(bytes).subspan(at));
        const std::uint64_t type = head.number();
        const std::uint64_t size = head.number();
        if (!head.ok() || size > head.left()) {
            truth.truncated = true;
            break;
        }
        const std::size_t body_at = at + head.at();
        Decoder body(std::span<const std::uint8_t>(bytes).subspan(body_at, size));
        switch (static_cast<RecordType>(type)) {
        case RecordType::kChip: {
            const auto agent = body.narrow<std::uint16_t>();
            if (truth.chips.size() <= agent) truth.chips.resize(agent + std::size_t{1});
            truth.chips[agent] = body.text();
            break;
        }
        case RecordType::kDispatch:
            truth.dispatches.push_back(decode_dispatch(body));
            break;
        case RecordType::kWave:
            truth.waves.push_back(decode_wave(body));
            break;
        case RecordType::kTraceEvent:
            truth.trace_events.push_back(decode_event(body));
            if (truth.trace_events.back().kind > TruthTraceEvent::Kind::kDrop)
                return corrupt(path, body_at, "unknown trace event");
            break;
        case RecordType::kSampling:
            truth.samplings.push_back(decode_sampling(body));
            break;
        case RecordType::kSample:
            truth.samples.push_back(decode_sample(body));
            break;
        default:
            return corrupt(path, at, "unknown record type " + std::to_string(type));
        }
        if (!body.ok() || body.left() != 0) return corrupt(path, body_at, "record does not fit");
        at = body_at + size;
    }
    return truth;
}

} // namespace wavetap::softgpu
