// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/chip.hpp"
#include "softgpu/space_for_test.hpp"
#include "softgpu/truth.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

// For tests and benchmarks: a chip with memory, queues and a few hand-assembled kernels, driven
// without any runtime.

namespace wavetap::softgpu {

class HostForTest final : public Host {
  public:
    void interrupt(std::uint32_t event_id) override { interrupts.push_back(event_id); }
    void memory_fault(std::uint64_t va, Access, const std::string& what) override {
        faults.push_back(va);
        messages.push_back(what);
    }
    void queue_error(std::uint64_t queue, const std::string& what) override {
        failed_queues.push_back(queue);
        messages.push_back(what);
    }
    std::uint64_t host_counter() override { return ++counter; }

    std::vector<std::uint32_t> interrupts;
    std::vector<std::uint64_t> faults, failed_queues;
    std::vector<std::string> messages;
    std::uint64_t counter = 1000;
};

/// Machine code of gfx90a, assembled with llvm-mc.
namespace kernels {

/// s_mov s4, s0 (argument pointer, low word = rounds); loop of VALU, SALU and a branch; s_nop.
inline constexpr std::uint32_t kSpin[] = {0xbe840000, 0x7e020280, 0x68020101, 0x80848104,
                                          0xbf078004, 0xbf85fffc, 0xbf800003, 0xbf810000};
/// Arguments: out pointer, count. 256 work-items a group; LDS, barrier, a loop, EXEC mask, global
/// store and load, 64-bit VALU, s_getpc and s_setpc, s_sleep.
/// out[i] = 12 * local + 3 * (local ^ 1).
inline constexpr std::uint32_t kWork[] = {
    0xc0060100, 0x00000000, 0xc0020180, 0x00000008, 0x260000ff, 0x000003ff, 0x24020082, 0xd2850002,
    0x00010700, 0xd81a0000, 0x00000201, 0xbf8cc07f, 0xbf8a0000, 0x2a060284, 0xd86c0000, 0x04000003,
    0xbe870084, 0x7e0a0280, 0x680a0505, 0x80878107, 0xbf078007, 0xbf85fffc, 0x8e088802, 0xbf8cc07f,
    0x68080b04, 0x680c0008, 0x7d980c06, 0xbe8a206a, 0xbf880009, 0x240c0c82, 0xdc708000, 0x00040406,
    0xdc508000, 0x07040006, 0xbf8c0f70, 0xd1cc0008, 0x04221108, 0x680e0907, 0xbe8c1c00, 0x800c8c0c,
    0x820d800d, 0xbe801d0c, 0xbf8e0001, 0xbf810000};
/// Runs until the word at the argument pointer is not 0.
inline constexpr std::uint32_t kUntilSet[] = {0xc0030100, 0x00000000, 0xbf8cc07f,
                                              0xbf068004, 0xbf85fffb, 0xbf810000};
/// s_ttracedata of the group's number (s2), then of 0x123.
inline constexpr std::uint32_t kMarkers[] = {0xbefc0002, 0xbf800000, 0xbf960000,
                                             0xb07c0123, 0xbf960000, 0xbf810000};
inline constexpr std::uint32_t kEnd[] = {0xbf810000};
/// s_trap 2; s_endpgm.
inline constexpr std::uint32_t kTrap[] = {0xbf920002, 0xbf810000};

} // namespace kernels

struct Launch {
    std::uint64_t kernel = 0; ///< of add_kernel()
    std::array<std::uint32_t, 3> grid{64, 1, 1};
    std::array<std::uint16_t, 3> group{64, 1, 1};
    std::uint64_t arguments = 0;
    std::uint64_t signal = 0;
    std::uint32_t lds_bytes = 0, private_bytes = 0;
    bool barrier = false;
};

/// One chip with its memory.
class Rig {
  public:
    static constexpr std::uint64_t kCode = 0x7f1000000000, kHeap = 0x7f2000000000;
    static constexpr std::uint64_t kHeapBytes = 1 << 20;
    static constexpr std::uint32_t kRingPackets = 64;

    explicit Rig(const ChipSpec& spec, TruthWriter* truth = nullptr) {
        space.map(kCode, 1 << 16);
        space.map(kHeap, kHeapBytes);
        auto made = Chip::create(spec, 0, space, host, truth);
        if (!made) {
            ADD_FAILURE() << to_string(made.error());
            return;
        }
        chip = *std::move(made);
    }
    /// A small gfx90a: two engines of two CUs.
    static ChipSpec small(std::uint64_t seed = 0) {
        ChipSpec spec;
        spec.name = "gfx90a";
        spec.shader_engines = 2;
        spec.cus_per_engine = 2;
        spec.seed = seed;
        return spec;
    }

    std::uint64_t allocate(std::uint64_t bytes, std::uint64_t align = 64) {
        heap_ = (heap_ + align - 1) / align * align;
        const std::uint64_t va = kHeap + heap_;
        heap_ += bytes;
        EXPECT_LE(heap_, kHeapBytes);
        return va;
    }
    template <class T> T read(std::uint64_t va) {
        T value{};
        const auto window = space.find(va);
        EXPECT_NE(window.size, 0U);
        std::memcpy(&value, window.host + (va - window.va), sizeof(T));
        return value;
    }
    template <class T> void write(std::uint64_t va, T value) {
        const auto window = space.find(va);
        ASSERT_NE(window.size, 0U);
        std::memcpy(window.host + (va - window.va), &value, sizeof(T));
    }
    /// Code with a kernel descriptor (user SGPRs: argument pointer in s[0:1]; then group id x).
    std::uint64_t add_kernel(std::span<const std::uint32_t> code, std::uint32_t vgprs = 16,
                             bool arguments = true) {
        code_ = (code_ + 255) / 256 * 256;
        const std::uint64_t object = kCode + code_;
        write(object + 16, std::int64_t{256});
        write(object + 44, std::uint32_t{(vgprs / 4 - 1) & 0x3F});
        write(object + 48, std::uint32_t{(vgprs + 7) / 8 - 1});
        write(object + 52, std::uint32_t{(arguments ? 2U << 1 : 0U) | 1U << 7});
        write(object + 56, std::uint32_t{arguments ? 8U : 0U});
        for (std::size_t i = 0; i < code.size(); ++i)
            write(object + 256 + i * 4, code[i]);
        code_ += 256 + code.size() * 4;
        return object;
    }
    std::uint64_t entry(std::uint64_t kernel) const { return kernel + 256; }

    std::uint64_t add_signal(std::int64_t value = 1, std::uint32_t event = 0) {
        const std::uint64_t signal = allocate(64);
        write(signal + 8, value);
        if (event != 0) {
            write(signal + 16, allocate(8));
            write(signal + 24, event);
        }
        return signal;
    }
    std::int64_t value(std::uint64_t signal) { return read<std::int64_t>(signal + 8); }

    struct Queue {
        QueueId id;
        std::uint64_t base = 0; ///< amd_queue_t
        std::uint64_t ring = 0;
        std::uint64_t written = 0;
        std::uint64_t inactive = 0; ///< signal
    };
    Queue add_queue(std::uint64_t driver_id = 1) {
        Queue queue;
        queue.base = allocate(256);
        queue.ring = allocate(kRingPackets * 64, 4096);
        queue.inactive = add_signal(0, 4000 + static_cast<std::uint32_t>(driver_id));
        write(queue.base + 0xC0, queue.inactive);
        for (std::uint32_t i = 0; i < kRingPackets; ++i)
            write(queue.ring + i * 64, std::uint16_t{1});
        auto id = chip->create_aql_queue(
            {queue.ring, kRingPackets * 64, queue.base + 0x38, queue.base + 0x80, driver_id});
        EXPECT_TRUE(id);
        if (id) queue.id = *id;
        return queue;
    }
    void submit(Queue& queue, const std::array<std::uint32_t, 16>& packet) {
        const std::uint64_t slot = queue.ring + queue.written % kRingPackets * 64;
        for (std::size_t i = 0; i < 16; ++i)
            write(slot + i * 4, packet[i]);
        write(queue.base + 0x38, ++queue.written);
        chip->doorbell(queue.id, queue.written - 1);
    }
    void launch(Queue& queue, const Launch& l) {
        std::array<std::uint32_t, 16> p{};
        p[0] = 2U | (l.barrier ? 0x100U : 0U) | 3U << 16;
        p[1] = l.group[0] | std::uint32_t{l.group[1]} << 16;
        p[2] = l.group[2];
        for (unsigned i = 0; i < 3; ++i)
            p[3 + i] = l.grid[i];
        p[6] = l.private_bytes;
        p[7] = l.lds_bytes;
        set64(p, 8, l.kernel);
        set64(p, 10, l.arguments);
        set64(p, 14, l.signal);
        submit(queue, p);
    }
    void barrier_and(Queue& queue, const std::vector<std::uint64_t>& wait_for, std::uint64_t signal,
                     bool barrier_bit = false, bool any = false) {
        std::array<std::uint32_t, 16> p{};
        p[0] = (any ? 5U : 3U) | (barrier_bit ? 0x100U : 0U);
        for (std::size_t i = 0; i < wait_for.size(); ++i)
            set64(p, 2 + 2 * i, wait_for[i]);
        set64(p, 14, signal);
        submit(queue, p);
    }
    void commands(Queue& queue, const std::vector<std::uint32_t>& words, std::uint64_t signal,
                  bool barrier_bit = false) {
        const std::uint64_t va = allocate(words.size() * 4);
        for (std::size_t i = 0; i < words.size(); ++i)
            write(va + i * 4, words[i]);
        std::array<std::uint32_t, 16> p{};
        p[0] = (barrier_bit ? 0x100U : 0U) | 1U << 16;
        p[1] = 0xC0023F00;
        p[2] = static_cast<std::uint32_t>(va);
        p[3] = static_cast<std::uint32_t>(va >> 32);
        p[4] = 0x10800000 | static_cast<std::uint32_t>(words.size());
        p[5] = 10;
        set64(p, 14, signal);
        submit(queue, p);
    }

    /// Steps until the signal is 0. False after `limit` clocks.
    bool run_until(std::uint64_t signal, std::uint64_t limit = 4'000'000) {
        const std::uint64_t end = chip->clock() + limit;
        while (value(signal) != 0) {
            if (chip->step(400) == Chip::Progress::kIdle || chip->clock() >= end)
                return value(signal) == 0;
        }
        return true;
    }
    /// Steps until nothing is left to do.
    bool run_to_idle(int steps = 100000) {
        while (steps-- > 0)
            if (chip->step(4000) == Chip::Progress::kIdle) return true;
        return false;
    }

    SpaceForTest space;
    HostForTest host;
    std::unique_ptr<Chip> chip;

  private:
    static void set64(std::array<std::uint32_t, 16>& p, std::size_t at, std::uint64_t value) {
        p[at] = static_cast<std::uint32_t>(value);
        p[at + 1] = static_cast<std::uint32_t>(value >> 32);
    }
    std::uint64_t heap_ = 0, code_ = 0;
};

} // namespace wavetap::softgpu
