// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/elf_source.hpp"
#include "decode/engine.hpp"
#include "decode/mutate_for_test.hpp"
#include "sqtt/gfx9_writer.hpp"
#include "sqtt/rdna_writer.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <new>

// How much work and memory a decode takes, counted and not timed: the decoder is compiled once more
// such that each basic block adds a step, bytes that the C library moves add steps too, and operator
// new knows the largest sum of what is alive.

namespace {

std::uint64_t steps = 0;
std::uint64_t alive = 0;
std::uint64_t peak = 0;

void* take(std::size_t size) {
    void* memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    alive += malloc_usable_size(memory);
    peak = std::max(peak, alive);
    return memory;
}

void give(void* memory) {
    if (memory == nullptr) return;
    alive -= malloc_usable_size(memory);
    std::free(memory);
}

} // namespace

extern "C" {
void __sanitizer_cov_trace_pc() { // NOLINT: the compiler's name
    ++steps;
}
void* __real_memmove(void* to, const void* from, std::size_t size);  // NOLINT: the linker's names
void* __wrap_memmove(void* to, const void* from, std::size_t size);  // NOLINT
void* __wrap_memmove(void* to, const void* from, std::size_t size) { // NOLINT
    steps += size / 8;
    return __real_memmove(to, from, size);
}
void* __real_memset(void* to, int value, std::size_t size);  // NOLINT
void* __wrap_memset(void* to, int value, std::size_t size);  // NOLINT
void* __wrap_memset(void* to, int value, std::size_t size) { // NOLINT
    steps += size / 8;
    return __real_memset(to, value, size);
}
}

void* operator new(std::size_t size) {
    return take(size);
}
void* operator new[](std::size_t size) {
    return take(size);
}
void operator delete(void* memory) noexcept {
    give(memory);
}
void operator delete[](void* memory) noexcept {
    give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    give(memory);
}

namespace wavetap::decode {
namespace {

using wavetap::test::Bytes;

constexpr std::uint64_t kHeaders[] = {sqtt::Gfx9Header{}.encode(), 0x0000000000000091,
                                      0x0000000000000111,          0x0000000068900191,
                                      0x0913100868700211,          0x0800000000000291};

// Bounds for any input. A byte of a real trace takes some twenty steps; code that does not fit a
// wave at all costs up to a thousand lines for each of its program counters.
constexpr std::uint64_t kStepsPerByte = 3000;
constexpr std::uint64_t kFixedSteps = 2'000'000;
constexpr std::uint64_t kFixedMemory = 8 * 1024 * 1024;

Bytes with_header(std::uint64_t header) {
    Bytes bytes(8);
    std::memcpy(bytes.data(), &header, 8);
    return bytes;
}

/// Every line is the same text.
class OneLine final : public CodeSource {
  public:
    explicit OneLine(std::string_view text) : line_(line_from_text(text, 4, true)) {}
    CodeLine fetch(std::uint64_t, std::uint64_t) override { return line_; }
    bool knows(std::uint64_t) const override { return true; }

  private:
    CodeLine line_;
};

struct Cost {
    std::uint64_t steps = 0; ///< basic blocks and words moved
    std::uint64_t peak = 0;  ///< most bytes alive at once
    bool decoded = false;
};

Cost cost_of(std::span<const std::byte> bytes, CodeSource* source,
             const std::vector<LoadedObject>& objects = {}) {
    const std::uint64_t alive_before = alive;
    peak = alive;
    const std::uint64_t steps_before = steps;
    Cost cost;
    {
        CodeMap code(source, objects);
        Diagnostics diagnostics;
        RecordSink sink;
        StreamOptions options;
        options.insert_barrier_waits = true;
        cost.decoded = decode_stream(bytes, options, code, sink, diagnostics).has_value();
    }
    cost.steps = steps - steps_before;
    cost.peak = peak - alive_before;
    return cost;
}

class VectorSink final : public sqtt::TokenSink {
  public:
    explicit VectorSink(std::uint64_t header) : data(with_header(header)) {}
    bool write(std::span<const std::byte> bytes) override {
        data.insert(data.end(), bytes.begin(), bytes.end());
        return true;
    }
    Bytes data;
};

Bytes repeated(std::uint64_t header, const Bytes& pattern, std::size_t count) {
    Bytes bytes = with_header(header);
    bytes.reserve(8 + pattern.size() * count);
    for (std::size_t i = 0; i < count; ++i)
        bytes.insert(bytes.end(), pattern.begin(), pattern.end());
    return bytes;
}

Bytes bytes_of(std::initializer_list<unsigned> values) {
    Bytes bytes;
    for (const unsigned value : values)
        bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

Bytes issues_then_instructions(std::size_t count, sqtt::Gfx9Inst type) {
    VectorSink sink(kHeaders[0]);
    sqtt::Gfx9Writer writer(sink);
    std::array<sqtt::Gfx9Issue, sqtt::kGfx9SlotsPerIssue> states{};
    states[0] = sqtt::Gfx9Issue::kInstruction;
    writer.wave_start(4000, {});
    for (std::size_t i = 0; i < count; ++i)
        writer.issue(4000 + 4 * i, 0, states);
    for (std::size_t i = 0; i < count; ++i)
        writer.inst(4000 + 4 * (count + i), 0, 0, type);
    writer.wave_end(4000 + 8 * count, {});
    return sink.data;
}

/// A long wave of the target whose tokens alternate between kinds, with program counters now and
/// then.
Bytes long_wave(sqtt::Generation generation, std::uint64_t header, std::size_t count) {
    VectorSink sink(header);
    sqtt::RdnaWriter writer(generation, sink);
    std::uint64_t clock = 1000;
    EXPECT_TRUE(writer.reg_cs(clock, 0xC, 0x100));
    EXPECT_TRUE(writer.wave_start(clock, {}, 127));
    for (std::size_t i = 0; i < count; ++i) {
        clock += 3;
        switch (i % 5) {
        case 0:
            EXPECT_TRUE(writer.valu(clock, 0));
            break;
        case 1:
            EXPECT_TRUE(writer.inst(clock, 0, 1));
            break;
        case 2:
            EXPECT_TRUE(writer.immediate(clock, 0));
            break;
        case 3:
            EXPECT_TRUE(writer.inst(clock, 0, 5));
            break;
        default:
            EXPECT_TRUE(writer.new_pc(clock, 0, 0x10000));
            break;
        }
    }
    EXPECT_TRUE(writer.wave_end(clock + 1, {}));
    return sink.data;
}

/// A wave in a loop: `s_barrier_wait` excluded from the trace, then an instruction that leaves a
/// token.
class BarrierLoop final : public CodeSource {
  public:
    CodeLine fetch(std::uint64_t, std::uint64_t address) override {
        return line_from_text(address / 4 % 2 == 0 ? "s_barrier_wait 0xffff" : "v_nop", 4, true);
    }
    bool knows(std::uint64_t) const override { return true; }
};

Bytes barrier_loop(std::size_t count) {
    VectorSink sink(kHeaders[4]);
    sqtt::RdnaWriter writer(sqtt::Generation::kGfx12, sink);
    EXPECT_TRUE(writer.reg_cs(1000, 0xC, 0x100));
    EXPECT_TRUE(writer.wave_start(1000, {}, 127));
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(writer.valu(1010 + 7 * i, 0));
        EXPECT_TRUE(writer.wave_ready(1012 + 7 * i, 1));
    }
    EXPECT_TRUE(writer.wave_end(1020 + 7 * count, {}));
    return sink.data;
}

struct Crafted {
    const char* name;
    std::function<Bytes(std::size_t)> make; ///< input of about that many bytes
    const char* line = nullptr;             ///< code: this line everywhere
    /// Most bytes of memory for a byte of input: an open wave keeps its instructions.
    unsigned memory_per_byte = 0;
};

std::vector<Crafted> crafted() {
    using sqtt::Generation;
    using sqtt::Gfx9Inst;
    std::vector<Crafted> all;
    for (const std::uint64_t header : {kHeaders[1], kHeaders[3], kHeaders[4]}) {
        all.push_back({"ends without starts", [header](std::size_t size) {
                           return repeated(header, bytes_of({0x15, 0x00, 0x00}), size / 3);
                       }});
        all.push_back({"starts of live waves", [header](std::size_t size) {
                           return repeated(header, bytes_of({0x0C, 0x00, 0x00, 0xFE}), size / 4);
                       }});
        all.push_back({"tokens that never advance the time", [header](std::size_t size) {
                           return repeated(header, bytes_of({0x03, 0x00}), size / 2);
                       }});
    }
    all.push_back({"ends without starts, gfx9", [](std::size_t size) {
                       return repeated(kHeaders[0], bytes_of({0x06, 0x00}), size / 2);
                   }});
    all.push_back({"resets without a timestamp", [](std::size_t size) {
                       return repeated(kHeaders[0], bytes_of({0xF0, 0x2F}), size / 2);
                   }});
    all.push_back(
        {"a reset, then anything but a timestamp", [](std::size_t size) {
             return repeated(kHeaders[0], bytes_of({0xF0, 0x2F, 0x06, 0x00, 0x10, 0x00}), size / 6);
         }});
    all.push_back({"losses", [](std::size_t size) {
                       return repeated(kHeaders[0], bytes_of({0x00, 0x40}), size / 2);
                   }});
    for (const Gfx9Inst type : {Gfx9Inst::kFlatRead, Gfx9Inst::kFlatReplay0, Gfx9Inst::kExportGds,
                                Gfx9Inst::kTrap, Gfx9Inst::kPc}) {
        all.push_back(
            {"issues, then their instructions",
             [type](std::size_t size) { return issues_then_instructions(size / 6, type); },
             "s_nop 0", 64});
    }
    for (const char* line : {"s_delay_alu 0", "unknown_thing v0", "s_waitcnt 0", "s_branch 65535",
                             "s_barrier_wait 0xffff", "global_load_b32 v0, v1, off", "v_nop"}) {
        all.push_back(
            {line,
             [](std::size_t size) { return long_wave(Generation::kGfx12, kHeaders[4], size / 4); },
             line, 64});
        all.push_back(
            {line,
             [](std::size_t size) { return long_wave(Generation::kGfx11, kHeaders[3], size / 4); },
             line, 64});
    }
    return all;
}

TEST(Work, GrowsWithTheInputAndNoFaster) {
    constexpr std::size_t kSmall = 20'000, kFactor = 8;
    for (const Crafted& input : crafted()) {
        OneLine source(input.line == nullptr ? "s_nop 0" : input.line);
        CodeSource* code = input.line == nullptr ? nullptr : &source;
        const Bytes small = input.make(kSmall), large = input.make(kSmall * kFactor);
        const Cost first = cost_of(small, code), second = cost_of(large, code);
        EXPECT_TRUE(first.decoded && second.decoded) << input.name;
        std::cout << input.name << ": " << second.steps / large.size() << " steps and "
                  << static_cast<double>(second.peak) / static_cast<double>(large.size())
                  << " bytes of memory a byte\n";
        EXPECT_LE(second.steps, kFixedSteps + kStepsPerByte * large.size()) << input.name;
        // Linear: eight times the input, not much more than eight times the steps.
        EXPECT_LE(second.steps, first.steps * (kFactor + 2)) << input.name;
        EXPECT_LE(second.peak, first.peak + std::uint64_t{input.memory_per_byte} * large.size())
            << input.name;
    }
}

// Excluded waits are put into the wave's lists, each at its place.
TEST(Work, BarrierWaitsAreInsertedInOnePass) {
    BarrierLoop source;
    const Bytes small = barrier_loop(4'000), large = barrier_loop(32'000);
    const Cost first = cost_of(small, &source), second = cost_of(large, &source);
    std::cout << second.steps / large.size() << " steps a byte\n";
    EXPECT_LE(second.steps, first.steps * 10);
    EXPECT_LE(second.steps, kStepsPerByte * large.size());
}

TEST(Work, AnUnalignedBufferIsTheSame) {
    const Bytes bytes = long_wave(sqtt::Generation::kGfx12, kHeaders[4], 1000);
    Bytes shifted(bytes.size() + 1);
    std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
    const Cost plain = cost_of(bytes, nullptr);
    const Cost odd = cost_of(std::span(shifted).subspan(1), nullptr);
    EXPECT_TRUE(odd.decoded);
    EXPECT_EQ(plain.steps, odd.steps);
}

class Mutated : public testing::TestWithParam<const char*> {};

TEST_P(Mutated, RealBlobsTakeBoundedWorkAndMemory) {
    const auto files = wavetap::test::trace_files(GetParam(), ".att");
    WAVETAP_NEED_DATA(files);
    constexpr std::size_t kCount = 10'000;
    std::size_t decoded = 0;
    double most_steps = 0, most_memory = 0;
    for (std::size_t f = 0; f < files.size(); ++f) {
        const Bytes original = wavetap::test::read_bytes(files[f]);
        const auto object = code::CodeObject::load(files[f].parent_path() / "code.elf");
        ASSERT_TRUE(object);
        const std::vector<LoadedObject> objects{{&*object, 0x200000000000, 0}};
        auto source = ElfSource::create(object->gfx(), objects);
        ASSERT_TRUE(source);
        for (std::size_t n = f; n < kCount; n += files.size()) {
            wavetap::test::Random random(n);
            // An own heap block of the exact size, so that a sanitizer sees any byte too many.
            const Bytes mutant = wavetap::test::mutate(original, static_cast<unsigned>(n), random);
            const Cost cost = cost_of(mutant, &*source, objects);
            decoded += cost.decoded ? 1 : 0;
            ASSERT_LE(cost.steps, kFixedSteps + kStepsPerByte * mutant.size())
                << files[f] << " mutation " << n;
            ASSERT_LE(cost.peak, kFixedMemory + 128 * mutant.size())
                << files[f] << " mutation " << n;
            if (mutant.empty()) continue;
            const auto size = static_cast<double>(mutant.size());
            most_steps = std::max(most_steps, static_cast<double>(cost.steps) / size);
            most_memory = std::max(most_memory, static_cast<double>(cost.peak));
        }
    }
    std::cout << GetParam() << ": " << kCount << " mutated blobs, " << decoded
              << " decoded, at most " << most_steps << " steps a byte and " << most_memory / 1024
              << " KiB\n";
    EXPECT_GT(decoded, kCount / 2);
}

INSTANTIATE_TEST_SUITE_P(Silicon, Mutated, testing::Values("gfx950", "gfx1100", "gfx1200"));

} // namespace
} // namespace wavetap::decode
