// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "aqlprofile/packets.hpp"
#include "capture/fake_backend.hpp"
#include "capture/hub_engine.hpp"
#include "pm4/packets.hpp"
#include "sqtt/gfx9.hpp"
#include "stream_driver.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

// The adapter to aqlprofile against a stand-in that replays recorded packets (standin.cpp): what its tests share.

namespace wavetap::test {

using aqlprofile::Library;
using aqlprofile::Packets;
using capture::FakeBackend;
using capture::FakeGpu;
using testing::HasSubstr;

inline constexpr std::uint64_t kMiB = 1 << 20;
inline const pm4::TraceTopology kChip{"gfx90a", 1, 8, 14};

inline std::filesystem::path data_folder() {
    const char* set = std::getenv("WAVETAP_DATA");
    return set != nullptr && *set != '\0' ? set : WAVETAP_DATA_DEFAULT;
}

/// What the stand-in does, for one test.
class AqlprofileTest : public testing::Test {
  protected:
    void SetUp() override {
        const auto cases = data_folder() / "pm4-golden" / "gfx90a";
        if (!std::filesystem::exists(cases)) {
            if (std::getenv("CI") != nullptr || std::filesystem::exists(data_folder()))
                FAIL() << "no recorded streams in " << cases;
            GTEST_SKIP() << "no recorded streams in " << cases;
        }
        cases_of("aug25_");
        no_fault();
        log_ = testing::TempDir() + "/standin-" + std::to_string(::getpid()) + ".log";
        std::filesystem::remove(log_);
        ::setenv("WAVETAP_STANDIN_LOG", log_.c_str(), 1);
        before_ = all_live();
    }
    void TearDown() override {
        if (log_.empty()) return;
        for (const char* name : {"CASES", "FAULT", "LOG"})
            ::unsetenv((std::string("WAVETAP_STANDIN_") + name).c_str());
        std::filesystem::remove(log_);
    }

    static void cases_of(const char* prefix) { ::setenv("WAVETAP_STANDIN_CASES", prefix, 1); }
    static void fault(const char* word) { ::setenv("WAVETAP_STANDIN_FAULT", word, 1); }
    static void no_fault() { ::unsetenv("WAVETAP_STANDIN_FAULT"); }
    std::string log() const {
        std::ifstream file(log_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static std::shared_ptr<const Library> library(const char* path = STANDIN_RINGS_LIBRARY) {
        auto opened = Library::open(path);
        EXPECT_TRUE(opened) << to_string(opened.error());
        return opened ? *opened : nullptr;
    }
    /// Handles that the stand-in still has, of this test.
    std::uint64_t live() const { return all_live() - before_; }
    static std::uint64_t all_live() {
        void* opened = ::dlopen(STANDIN_RINGS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        const auto ask =
            reinterpret_cast<std::uint64_t (*)()>(::dlsym(opened, "wavetap_standin_live"));
        return ask();
    }

    std::string log_;
    std::uint64_t before_ = 0; ///< handles that an earlier test's library forgot
};

/// A fault of the stand-in, and what is said of it.
struct FaultRow {
    const char* word;
    const char* message;
};

/// The configuration of a recorded case.
inline pm4::TraceConfig detail() {
    pm4::TraceConfig config;
    config.buffer_bytes = 96 * kMiB;
    return config;
}
inline pm4::TraceConfig occupancy() {
    pm4::TraceConfig config;
    config.se_mask = 2;
    config.target_cu = 0;
    config.detail = false;
    config.buffer_bytes = 64 * kMiB;
    return config;
}
inline pm4::TraceConfig all_engines() {
    pm4::TraceConfig config;
    config.se_mask = 0xff;
    config.target_cu = 3;
    config.simd_mask = 5;
    config.clock_markers = false;
    config.buffer_bytes = 256 * kMiB;
    return config;
}

inline std::vector<std::uint32_t> words_of(const Packets& packets,
                                           const capture::CommandBuffer& buffer) {
    std::vector<std::uint32_t> words(buffer.dwords);
    std::memcpy(words.data(), packets.words(buffer), words.size() * 4);
    return words;
}

/// The address of the control block that a stop stream writes.
inline std::uint64_t control_of(const std::vector<std::uint32_t>& stop,
                                const pm4::TraceConfig& config) {
    const auto engine = static_cast<std::uint32_t>(std::countr_zero(config.se_mask));
    pm4::Parser parser(stop);
    for (auto next = parser.next(); next && *next; next = parser.next())
        if ((*next)->opcode == pm4::Opcode::kCopyData &&
            (*next)->body[1] == pm4::gfx9::kSqThreadTraceStatus)
            return ((*next)->body[3] | std::uint64_t{(*next)->body[4]} << 32) -
                   pm4::engine_entry_offset(config.dialect, engine);
    return 0;
}
/// The address of the first engine's part that a start stream names.
inline std::uint64_t base_of(const std::vector<std::uint32_t>& start) {
    std::uint64_t va = 0;
    pm4::Parser parser(start);
    for (auto next = parser.next(); next && *next; next = parser.next()) {
        if ((*next)->opcode != pm4::Opcode::kSetUconfigReg) continue;
        const std::uint32_t reg = pm4::kUconfigBase + ((*next)->body[0] & 0xffff);
        if (reg == pm4::gfx9::kSqThreadTraceBase) va = std::uint64_t{(*next)->body[1]} << 12;
        if (reg == pm4::gfx9::kSqThreadTraceBase2)
            return va | std::uint64_t{(*next)->body[1]} << 44;
    }
    return va;
}

/// A GPU with one output slot of 512 MiB, and the adapter on it.
struct Bench {
    explicit Bench(std::shared_ptr<const Library> library) : backend(gpu) {
        slots.slots[0] = *backend.allocate_device(512 * kMiB);
        packets.emplace(backend, kChip, std::move(library), aqlprofile::Agent{77});
        EXPECT_TRUE(packets->ensure());
    }
    ~Bench() {
        packets->release();
        EXPECT_EQ(gpu.host_blocks, 0);
    }
    FakeGpu gpu;
    FakeBackend backend;
    capture::OutputSlots slots;
    std::optional<Packets> packets;
};

struct Delivered {
    struct One {
        std::uint32_t engine = 0, flags = 0;
        std::uint64_t bytes = 0, header = 0, capacity = 0;
    };
    std::vector<One> chunks;
};
inline void deliver(const capture::Chunk& chunk, void* user) {
    Delivered::One one{chunk.engine, chunk.flags, chunk.data.size(), 0, chunk.capacity_bytes};
    if (chunk.data.size() >= 8) std::memcpy(&one.header, chunk.data.data(), 8);
    static_cast<Delivered*>(user)->chunks.push_back(one);
}

/// A hub's engine on a GPU that writes what `gpu` says.
struct Hub {
    explicit Hub(std::shared_ptr<const Library> library) {
        auto owned = std::make_unique<FakeBackend>(gpu);
        capture::HubEngine::Options options;
        options.topology = {"gfx90a", 1, 8, 14, 4};
        options.packets = aqlprofile::packet_maker(std::move(library), 77);
        engine.emplace(std::move(owned), options, clock, log, silenced);
        engine->on_delivery([] {});
    }
    /// The lease that was begun has run: its data are delivered.
    Result<capture::RunSummary> end_lease() {
        engine->retire_lease({});
        std::optional<Result<capture::RunSummary>> ended;
        while (!ended) {
            if (engine->deliver_lease(ended)) continue;
            if (!engine->wait_for_lease_handler(clock.deadline_after(std::chrono::seconds(10))))
                return Error{ErrorCode::kTimeout, "the lease does not end", "", ""};
        }
        return std::move(*ended);
    }
    capture::RunRequest request(pm4::TraceConfig config) {
        capture::RunRequest made;
        made.config = std::move(config);
        made.handler = deliver;
        made.user = &delivered;
        return made;
    }
    Result<void> start(const pm4::TraceConfig& config) {
        const capture::RunRequest made = request(config);
        capture::SlotPlan plan;
        plan.add(capture::requirement_of(made));
        return engine->start(made, plan, ++run);
    }
    FakeGpu gpu;
    SteadyClock clock;
    capture::MarkerLog log;
    std::atomic<bool> silenced{false};
    Delivered delivered;
    std::uint64_t run = 0;
    std::optional<capture::HubEngine> engine;
};

} // namespace wavetap::test
