// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/code_object.hpp"
#include "code/object_for_test.hpp"
#include "decode/decoder.hpp"
#include "sqtt/gfx9_writer.hpp"
#include "sqtt/rdna_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Streams that tests write, and the code that their waves run. Test code only.

namespace wavetap::test {

using Bytes = std::vector<std::byte>;
using sqtt::Generation;

inline constexpr std::uint16_t kUserData2 = 0xC342;

struct Marker {
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0x1000;
    bool unload = false, from_start = false;
    bool wide = false; ///< the id as two words, not in the last one
};

/// The words that ROCm writes into USERDATA_2 for one code object.
inline std::vector<std::uint32_t> words_of(const Marker& marker) {
    std::vector<std::uint32_t> words{0x434F5200};
    const auto pair = [&words](std::uint32_t type, std::uint64_t value) {
        words.push_back(4 | type << 8);
        words.push_back(static_cast<std::uint32_t>(value));
    };
    if (!marker.unload) {
        pair(1, marker.size);
        pair(4, marker.size >> 32);
        pair(2, marker.address);
        pair(3, marker.address >> 32);
    }
    if (marker.wide) {
        pair(5, marker.id);
        pair(6, marker.id >> 32);
    }
    pair(0, (marker.wide ? 0 : marker.id << 2) | (marker.from_start ? 2 : 0) |
                (marker.unload ? 1 : 0));
    return words;
}

class VectorSink final : public sqtt::TokenSink {
  public:
    bool write(std::span<const std::byte> bytes) override {
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    Bytes data;
};

/// A stream of one wave after another on the target, of any generation.
class Stream {
  public:
    explicit Stream(Generation generation) : generation_(generation) {
        static constexpr std::uint64_t kHeaders[] = {sqtt::Gfx9Header{}.encode(), 0x111, 0x68900191,
                                                     0x0113100868700211, 0x0000000000000291};
        const std::uint64_t header = kHeaders[static_cast<std::size_t>(generation)];
        if (generation == Generation::kGfx9) {
            sink_.data.resize(8);
            std::memcpy(sink_.data.data(), &header, 8);
            gfx9_.emplace(sink_);
        } else {
            rdna_.emplace(generation, sink_);
            EXPECT_TRUE(rdna_->header(header));
        }
    }
    void mark(const Marker& marker) {
        for (const std::uint32_t word : words_of(marker)) {
            clock_ += 4;
            if (gfx9_)
                EXPECT_TRUE(gfx9_->reg_write(clock_, kUserData2, word));
            else
                EXPECT_TRUE(rdna_->reg_write(clock_, kUserData2, word));
        }
    }
    /// A wave that runs `scalars` scalar instructions from `pc` on, then ends.
    void wave(std::uint64_t pc, unsigned scalars, bool exec_tokens = false) {
        const auto low = static_cast<std::uint32_t>(pc >> 8);
        const auto high = static_cast<std::uint32_t>(pc >> 40);
        clock_ += 40;
        if (gfx9_) {
            EXPECT_TRUE(gfx9_->reg_cs(clock_, 0xC, low) && gfx9_->reg_cs(clock_, 0xD, high));
            EXPECT_TRUE(gfx9_->wave_start(clock_, {}));
            for (unsigned i = 0; i < scalars; ++i)
                issue(sqtt::Gfx9Inst::kSalu);
            issue(sqtt::Gfx9Inst::kMessage);
            EXPECT_TRUE(gfx9_->wave_end(clock_ += 40, {}));
            return;
        }
        EXPECT_TRUE(rdna_->reg_cs(clock_, 0xC, low));
        EXPECT_TRUE(rdna_->reg_cs(clock_, 0xD, high));
        EXPECT_TRUE(rdna_->wave_start(clock_, {}, 127));
        for (unsigned i = 0; i < scalars; ++i) {
            EXPECT_TRUE(rdna_->inst(clock_ += 8, 0, 0));
            if (exec_tokens) exec(clock_ + 4);
        }
        EXPECT_TRUE(rdna_->wave_end(clock_ += 40, {}));
    }
    void exec(std::uint64_t clock) {
        EXPECT_TRUE(
            rdna_->put(clock, sqtt::TokenType::kAluExec, {{sqtt::FieldId::kSaluExecuted, 1}}));
        EXPECT_TRUE(
            rdna_->put(clock + 1, sqtt::TokenType::kVmemExec, {{sqtt::FieldId::kIsVmem, 1}}));
    }
    const Bytes& bytes() const { return sink_.data; }
    bool has_exec() const {
        return rdna_ && sqtt::find_row(generation_, sqtt::TokenType::kAluExec) != nullptr;
    }

    /// gfx9: the wave of slot 0 issues an instruction; what it was is told by name().
    void issue() {
        std::array<sqtt::Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
        states[0] = sqtt::Gfx9Issue::kInstruction;
        EXPECT_TRUE(gfx9_->issue(clock_ += 40, 0, states));
    }
    void name(sqtt::Gfx9Inst type) { EXPECT_TRUE(gfx9_->inst(clock_ + 4, 0, 0, type)); }
    /// Bytes that the writer would not write. It does not know of them.
    void raw(std::initializer_list<unsigned> bytes) {
        for (const unsigned byte : bytes)
            sink_.data.push_back(static_cast<std::byte>(byte));
    }
    void cut(std::size_t bytes) { sink_.data.resize(sink_.data.size() - bytes); }
    std::uint64_t next_clock() { return clock_ += 40; }
    sqtt::Gfx9Writer& gfx9() { return *gfx9_; }
    sqtt::RdnaWriter& rdna() { return *rdna_; }

  private:
    void issue(sqtt::Gfx9Inst type) {
        issue();
        name(type);
    }
    Generation generation_;
    VectorSink sink_;
    std::optional<sqtt::Gfx9Writer> gfx9_;
    std::optional<sqtt::RdnaWriter> rdna_;
    std::uint64_t clock_ = 1000;
};

/// The diagnostic of a kind, or null.
inline const decode::Diagnostic* find(const decode::BlobRecords& records, const std::string& kind) {
    for (const decode::Diagnostic& diagnostic : records.diagnostics) {
        if (diagnostic.kind == kind) return &diagnostic;
    }
    return nullptr;
}

/// An ELF file of a chip with code at 0x100.
inline code::CodeObject object_of(std::uint8_t mach, const std::vector<std::uint32_t>& code) {
    return object_for_test(mach, std::as_bytes(std::span(code)), 0x100, 0);
}

} // namespace wavetap::test
