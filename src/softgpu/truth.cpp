// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/truth.hpp"

#include "softgpu/truth_records.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace wavetap::softgpu {

namespace {

std::uint64_t zigzag(std::uint64_t difference) {
    const auto value = static_cast<std::int64_t>(difference);
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
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
        if (batch.size() >= kTruthBatchBytes) write_out();
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
    writer->impl_->batch.assign(kTruthMagic.begin(), kTruthMagic.end());
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
    Truth truth;
    const RecordSinks sinks{
        [&](const RecordPlace&, TruthDispatch dispatch) { truth.dispatches.push_back(dispatch); },
        [&](const RecordPlace&, TruthWave wave) { truth.waves.push_back(std::move(wave)); },
        [&](const RecordPlace&, TruthSample sample) { truth.samples.push_back(sample); }};
    WAVETAP_CHECK_OK(read_records(path, sinks, truth));
    return truth;
}

} // namespace wavetap::softgpu
