// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/truth_log.hpp"

#include "softgpu/truth_records.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace wavetap::softgpu {

namespace {

void note(TruthBlock& block, const TruthWave& wave) {
    block.waves.add(wave.start, wave.end == 0 ? ~std::uint64_t{0} : wave.end);
}

void note(TruthBlock& block, const TruthSample& sample) {
    block.samples.add(sample.token_clock(), sample.token_clock());
}

} // namespace

struct TruthLog::Impl {
    Truth truth; ///< all of it only if there is no file
    std::vector<TruthBlock> blocks;
    std::string path;
    int fd = -1;

    ~Impl() {
        if (fd >= 0) ::close(fd);
    }

    TruthBlock& block_at(const RecordPlace& place) {
        if (blocks.empty() || blocks.back().bytes >= kTruthBatchBytes) {
            blocks.emplace_back();
            blocks.back().offset = place.offset;
        }
        blocks.back().bytes = place.end - blocks.back().offset;
        return blocks.back();
    }

    Result<std::vector<std::uint8_t>> read(const TruthBlock& block) const {
        std::vector<std::uint8_t> bytes(block.bytes);
        std::size_t filled = 0;
        while (filled < bytes.size()) {
            const ssize_t got = ::pread(fd, bytes.data() + filled, bytes.size() - filled,
                                        static_cast<off_t>(block.offset + filled));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return Error{ErrorCode::kIo, "cannot read truth log", path, ""};
            filled += static_cast<std::size_t>(got);
        }
        return bytes;
    }

    /// Hands the bodies of one type's records over.
    template <class Take>
    Result<void> each(const TruthBlock& block, RecordType type, Take&& take) const {
        WAVETAP_TRY(const std::vector<std::uint8_t> bytes, read(block));
        std::size_t at = 0;
        while (at < bytes.size()) {
            Decoder head(std::span<const std::uint8_t>(bytes).subspan(at));
            const std::uint64_t its_type = head.number();
            const std::uint64_t size = head.number();
            if (!head.ok() || size > head.left())
                return corrupt_truth(path, block.offset + at, "the file has changed");
            Decoder body(std::span<const std::uint8_t>(bytes).subspan(at + head.at(), size));
            at += head.at() + size;
            if (its_type == static_cast<std::uint64_t>(type)) take(body);
        }
        return {};
    }
};

TruthLog::TruthLog() : impl_(std::make_unique<Impl>()) {}
TruthLog::TruthLog(TruthLog&&) noexcept = default;
TruthLog& TruthLog::operator=(TruthLog&&) noexcept = default;
TruthLog::~TruthLog() = default;

TruthLog::TruthLog(Truth truth) : TruthLog() {
    impl_->truth = std::move(truth);
    TruthBlock block;
    block.dispatches = impl_->truth.dispatches.size();
    for (const TruthWave& wave : impl_->truth.waves)
        note(block, wave);
    for (const TruthSample& sample : impl_->truth.samples)
        note(block, sample);
    impl_->blocks.push_back(block);
}

Result<TruthLog> TruthLog::open(const std::string& path) {
    TruthLog log;
    Impl& impl = *log.impl_;
    impl.path = path;
    impl.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (impl.fd < 0)
        return Error{ErrorCode::kIo, std::string("cannot open truth log: ") + std::strerror(errno),
                     path, ""};
    const RecordSinks sinks{
        [&](const RecordPlace& place, const TruthDispatch&) { ++impl.block_at(place).dispatches; },
        [&](const RecordPlace& place, const TruthWave& wave) { note(impl.block_at(place), wave); },
        [&](const RecordPlace& place, const TruthSample& sample) {
            note(impl.block_at(place), sample);
        }};
    WAVETAP_CHECK_OK(read_records(path, sinks, impl.truth));
    return log;
}

const Truth& TruthLog::about() const {
    return impl_->truth;
}
const std::vector<TruthBlock>& TruthLog::blocks() const {
    return impl_->blocks;
}

Result<void> TruthLog::dispatches(const TruthBlock& block,
                                  const std::function<void(const TruthDispatch&)>& take) const {
    if (block.dispatches == 0) return {};
    if (impl_->fd >= 0)
        return impl_->each(block, RecordType::kDispatch,
                           [&](Decoder& body) { take(decode_dispatch(body)); });
    for (const TruthDispatch& dispatch : impl_->truth.dispatches)
        take(dispatch);
    return {};
}

Result<std::vector<TruthWave>>
TruthLog::waves(const TruthBlock& block,
                const std::function<bool(const TruthWave&)>& wanted) const {
    std::vector<TruthWave> found;
    if (block.waves.count == 0) return found;
    if (impl_->fd >= 0) {
        WAVETAP_CHECK_OK(impl_->each(block, RecordType::kWave, [&](Decoder& body) {
            TruthWave wave;
            const std::uint64_t count = decode_wave_head(body, wave);
            if (!wanted(wave)) return;
            decode_instructions(body, count, wave);
            found.push_back(std::move(wave));
        }));
        return found;
    }
    for (const TruthWave& wave : impl_->truth.waves)
        if (wanted(wave)) found.push_back(wave);
    return found;
}

Result<void> TruthLog::samples(const TruthBlock& block,
                               const std::function<void(const TruthSample&)>& take) const {
    if (block.samples.count == 0) return {};
    if (impl_->fd >= 0)
        return impl_->each(block, RecordType::kSample,
                           [&](Decoder& body) { take(decode_sample(body)); });
    for (const TruthSample& sample : impl_->truth.samples)
        take(sample);
    return {};
}

} // namespace wavetap::softgpu
