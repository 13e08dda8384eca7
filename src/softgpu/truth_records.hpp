// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "softgpu/truth.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The records of a truth log as they lie in the file (docs/formats/truth.md).

namespace wavetap::softgpu {

inline constexpr std::array<std::uint8_t, 8> kTruthMagic = {'W', 'T', 'T', 'R', 'U', 'T', 'H', 1};
inline constexpr std::size_t kTruthBatchBytes = 64 * 1024;

enum class RecordType : std::uint8_t {
    kChip = 1,
    kDispatch = 2,
    kWave = 3,
    kTraceEvent = 4,
    kSampling = 5,
    kSample = 6
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

TruthDispatch decode_dispatch(Decoder& in);
/// Leaves the instructions unread; returns how many there are.
std::uint64_t decode_wave_head(Decoder& in, TruthWave& w);
void decode_instructions(Decoder& in, std::uint64_t count, TruthWave& w);
TruthSample decode_sample(Decoder& in);

/// Where a record lies in the file.
struct RecordPlace {
    std::uint64_t offset = 0, end = 0;
};

/// What is told of records as they are read; everything else goes into the Truth.
struct RecordSinks {
    std::function<void(const RecordPlace&, TruthDispatch)> dispatch;
    std::function<void(const RecordPlace&, TruthWave)> wave;
    std::function<void(const RecordPlace&, TruthSample)> sample;
};

/// Reads a whole log, in memory for one batch, or for one record if that is longer. Errors: those of
/// read_truth().
Result<void> read_records(const std::string& path, const RecordSinks& sinks, Truth& truth);

Error corrupt_truth(const std::string& path, std::uint64_t offset, const std::string& what);

} // namespace wavetap::softgpu
