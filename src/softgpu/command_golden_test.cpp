// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/command_processor.hpp"
#include "softgpu/thread_trace_unit.hpp"
#include "sqtt/reader.hpp"
#include "tests/support/proof.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

// Recorded and re-created streams of AMD's aqlprofile, executed to their recorded effects. Clock
// and write pointer follow the model that made the effects (its README): a clock read gives
// 0x100000000 + 0x10 per read, WPTR is 0x100 * (engine + 1).

namespace wavetap::softgpu {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
namespace gfx9 = pm4::gfx9;

constexpr std::uint64_t kControlVa = 0x7e0000000000, kControlBytes = 16 << 20;
constexpr std::uint64_t kOutputVa = 0x7e1000000000, kOutputBytes = std::uint64_t{4} << 30;
constexpr std::uint32_t kUntouched = 0xDEADBEEF;

fs::path folder() {
    const char* set = std::getenv("WAVETAP_DATA");
    return fs::path(set != nullptr && *set != 0 ? set : WAVETAP_DATA_DEFAULT) / "pm4-golden";
}

bool required() {
    return std::getenv("CI") != nullptr || std::getenv("WAVETAP_DATA") != nullptr ||
           fs::exists(WAVETAP_DATA_DEFAULT);
}

/// Two windows of anonymous memory.
class Space final : public AddressSpace {
  public:
    Space() : control_(map(kControlBytes)), output_(map(kOutputBytes)) {
        for (std::uint64_t at = 0; at < kControlBytes; at += 4)
            std::memcpy(control_ + at, &kUntouched, 4);
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    ~Space() override {
        munmap(control_, kControlBytes);
        munmap(output_, kOutputBytes);
    }
    Window find(std::uint64_t va) override {
        if (va - kControlVa < kControlBytes) return {kControlVa, kControlBytes, control_, true};
        if (va - kOutputVa < kOutputBytes) return {kOutputVa, kOutputBytes, output_, true};
        return {};
    }
    std::uint64_t generation() const override { return 1; }

  private:
    static std::byte* map(std::uint64_t bytes) {
        void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) throw std::bad_alloc();
        return static_cast<std::byte*>(p);
    }
    std::byte* control_;
    std::byte* output_;
};

std::string key(std::uint32_t xcc, std::uint32_t se) {
    return std::to_string(xcc) + "." + std::to_string(se);
}

std::string hex(std::uint64_t value, int digits = 1) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%0*llx", digits, static_cast<unsigned long long>(value));
    return text;
}

/// Records everything a stream does; trace registers are plain, or those of real units.
class Recorder final : public CommandTarget {
  public:
    Recorder(std::uint32_t xccs, std::uint32_t engines, Memory& memory, bool real)
        : engines_(engines) {
        for (std::uint32_t i = 0; real && i < xccs * engines; ++i) {
            units_.push_back(std::make_unique<ThreadTraceUnit>(0, static_cast<std::uint16_t>(i),
                                                               memory, nullptr));
        }
    }
    Result<void> write_trace_register(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                                      std::uint32_t value) override {
        reg_writes[key(xcc, se)].push_back({hex(reg), hex(value, 8)});
        plain_[{xcc, se, reg}] = value;
        if (!units_.empty()) return unit(xcc, se).write_register(reg, value, now += 40);
        return {};
    }
    std::uint32_t read_trace_register(std::uint32_t xcc, std::uint32_t se,
                                      std::uint32_t reg) override {
        if (!units_.empty()) return unit(xcc, se).read_register(reg, now += 40);
        if (reg == gfx9::kSqThreadTraceWptr) return 0x100 * (se + 1);
        if (reg == gfx9::kSqThreadTraceStatus) return armed(xcc, se) ? 0x40000000 : 0;
        note_read(xcc, se, reg);
        return plain(xcc, se, reg);
    }
    void register_written(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                          std::uint32_t value) override {
        if (reg == gfx9::kGrbmGfxIndex) return;
        if (reg >= gfx9::kSqThreadTraceUserdata0 && reg <= gfx9::kSqThreadTraceUserdata3) {
            user_data[key(xcc, se)].push_back({reg - gfx9::kSqThreadTraceUserdata0, hex(value, 8)});
            if (!units_.empty())
                unit(xcc, se).register_write(now += 40, reg, value, sqtt::Gfx9RegType::kUserData);
            return;
        }
        reg_writes[key(xcc, se)].push_back({hex(reg), hex(value, 8)});
        plain_[{xcc, se, reg}] = value;
    }
    void register_read(std::uint32_t xcc, std::uint32_t reg) override {
        note_read(xcc, 0, reg);
        if (reg == 0x338) waits.push_back({packet, xcc, hex(reg), true});
    }
    void event(std::uint32_t, std::uint32_t) override {}
    std::uint64_t gpu_clock() override { return clock_ += 0x10; }
    std::uint64_t system_clock() override { return 0; }
    void acquire(std::uint32_t xcc, std::uint64_t va, std::uint64_t bytes, bool) override {
        flushes.push_back({packet, xcc, hex(va), hex(bytes)});
    }
    void interrupt(std::uint32_t) override {}
    void memory_fault(std::uint64_t va, Access, const std::string& what) override {
        ADD_FAILURE() << what << " at " << hex(va);
    }
    bool queue_drained() override { return true; }

    std::uint32_t plain(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg) const {
        const auto at = plain_.find({xcc, se, reg});
        return at == plain_.end() ? 0 : at->second;
    }
    bool armed(std::uint32_t xcc, std::uint32_t se) {
        if (!units_.empty()) return unit(xcc, se).armed();
        return (plain(xcc, se, gfx9::kSqThreadTraceMode) >> 21 & 3) == 1;
    }
    std::uint64_t base(std::uint32_t xcc, std::uint32_t se) {
        if (!units_.empty()) return unit(xcc, se).base();
        return std::uint64_t{plain(xcc, se, gfx9::kSqThreadTraceBase)} << 12 |
               std::uint64_t{plain(xcc, se, gfx9::kSqThreadTraceBase2) & 0xF} << 44;
    }
    ThreadTraceUnit& unit(std::uint32_t xcc, std::uint32_t se) {
        return *units_[xcc * engines_ + se];
    }

    std::string packet;
    std::uint64_t now = 4000;
    std::map<std::string, json> reg_writes, user_data;
    json waits = json::array(), flushes = json::array();
    std::set<std::string> read_first;

  private:
    void note_read(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg) {
        if (plain_.find({xcc, se, reg}) == plain_.end()) read_first.insert(hex(reg));
    }
    std::uint32_t engines_;
    std::uint64_t clock_ = 0x100000000;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> plain_;
    std::vector<std::unique_ptr<ThreadTraceUnit>> units_;
};

/// One golden case, executed.
class Case {
  public:
    Case(const json& golden, bool real)
        : xccs_(golden["arch"] == "gfx90a" ? 1 : 8), engines_(golden["arch"] == "gfx90a" ? 8 : 4),
          memory_(space_), registers_(xccs_, engines_), recorder_(xccs_, engines_, memory_, real) {
        const json& packets = golden["packets"];
        const bool has_start = run_named(packets, "start");
        if (has_start) {
            armed_after_start_ = armed();
            bases_ = bases();
        }
        for (const json& packet : packets)
            if (packet["name"] != "start" && packet["name"] != "stop") run(packet);
        run_named(packets, "stop");
    }

    json armed() {
        json list = json::array();
        for (std::uint32_t x = 0; x < xccs_; ++x)
            for (std::uint32_t s = 0; s < engines_; ++s)
                if (recorder_.armed(x, s)) list.push_back({x, s});
        return list;
    }
    json bases() {
        json map = json::object();
        for (std::uint32_t x = 0; x < xccs_; ++x)
            for (std::uint32_t s = 0; s < engines_; ++s)
                if (recorder_.armed(x, s)) map[key(x, s)] = hex(recorder_.base(x, s));
        return map;
    }
    Recorder& recorder() { return recorder_; }
    Memory& memory() { return memory_; }
    json armed_after_start_ = json::array(), bases_ = json::object();

    json final_grbm() {
        json list = json::array();
        for (std::uint32_t x = 0; x < xccs_; ++x)
            list.push_back(hex(registers_.grbm_gfx_index(x)));
        return list;
    }
    /// Words that differ from their first content, outside the command buffers.
    std::map<std::string, std::string> touched_words() {
        std::map<std::string, std::string> words;
        for (std::uint64_t va = kControlVa; va < kControlVa + kControlBytes; va += 4) {
            std::uint32_t value = 0;
            memory_.read(va, value);
            if (value != kUntouched && !in_command_buffer(va)) words[hex(va)] = hex(value, 8);
        }
        return words;
    }

  private:
    bool run_named(const json& packets, const char* name) {
        for (const json& packet : packets) {
            if (packet["name"] != name) continue;
            run(packet);
            return true;
        }
        return false;
    }
    void run(const json& packet) {
        const std::uint64_t va = std::stoull(packet["ib_addr"].get<std::string>(), nullptr, 16);
        const auto dwords = static_cast<std::uint32_t>(packet["ib"].size());
        for (std::uint32_t i = 0; i < dwords; ++i) {
            const auto word = static_cast<std::uint32_t>(
                std::stoul(packet["ib"][i].get<std::string>(), nullptr, 16));
            ASSERT_TRUE(memory_.write(va + i * 4, word));
        }
        buffers_.push_back({va, va + dwords * 4});
        recorder_.packet = packet["name"];
        auto run = CommandRun::create(registers_, recorder_, memory_, va, dwords);
        ASSERT_TRUE(run) << to_string(run.error());
        for (int guard = 0; guard < 100000; ++guard) {
            const CommandRun::Step step = run->step(recorder_.now += 40);
            ASSERT_NE(step.state, CommandRun::State::kFailed) << to_string(run->error());
            ASSERT_NE(step.state, CommandRun::State::kWaiting);
            if (step.state == CommandRun::State::kDone) return;
            EXPECT_GT(step.clocks, 0U);
        }
        FAIL() << "the stream does not end";
    }
    bool in_command_buffer(std::uint64_t va) const {
        return std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& range) {
            return va >= range.first && va < range.second;
        });
    }

    std::uint32_t xccs_, engines_;
    Space space_;
    Memory memory_;
    RegisterFile registers_;
    Recorder recorder_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> buffers_;
};

void check_map(const std::map<std::string, json>& got, const json& wanted, const char* what) {
    EXPECT_EQ(json(got), wanted) << what;
}

void check_plain(const json& golden) {
    const json& effects = golden["model_effects"];
    Case run(golden, false);
    EXPECT_EQ(run.armed_after_start_, effects.value("armed(xcc,se)", json::array()));
    EXPECT_EQ(run.bases_, effects.value("base_after_start", json::object()));
    EXPECT_EQ(run.armed(), effects.value("still_armed_after_stop", json::array()));
    EXPECT_EQ(run.final_grbm(), effects["final_grbm"]);
    check_map(run.recorder().user_data, effects["userdata_writes"], "user data");
    check_map(run.recorder().reg_writes, effects["reg_writes"], "registers");
    EXPECT_EQ(run.recorder().waits, effects["waits"]);
    EXPECT_EQ(run.recorder().flushes, effects["cache_flush"]);
    std::set<std::string> read_first = effects["regs_read_before_written"];
    EXPECT_EQ(run.recorder().read_first, read_first);
    std::map<std::string, std::string> memory;
    for (const json& write : effects["mem_writes"])
        memory[write[0]] = write[1];
    EXPECT_EQ(run.touched_words(), memory);
}

/// USERDATA tokens of one engine's buffer, as [register, value].
json tokens_of(Memory& memory, std::uint64_t base) {
    json list = json::array();
    std::vector<std::byte> bytes(4096);
    std::memcpy(bytes.data(), memory.at(base, bytes.size(), Access::kRead), bytes.size());
    sqtt::TokenReader reader(sqtt::Generation::kGfx9, bytes);
    sqtt::Token token;
    while (reader.next(token)) {
        if (token.type != sqtt::TokenType::kReg) continue;
        const auto reg = static_cast<std::uint32_t>(token.bits.low >> 16 & 0xFFFF);
        if (reg < gfx9::kSqThreadTraceUserdata0) continue;
        list.push_back({reg - gfx9::kSqThreadTraceUserdata0, hex(token.bits.low >> 32, 8)});
    }
    return list;
}

void check_with_units(const json& golden) {
    const json& effects = golden["model_effects"];
    Case run(golden, true);
    EXPECT_EQ(run.armed_after_start_, effects.value("armed(xcc,se)", json::array()));
    EXPECT_EQ(run.bases_, effects.value("base_after_start", json::object()));
    EXPECT_EQ(run.armed(), effects.value("still_armed_after_stop", json::array()));
    for (const json& engine : effects.value("armed(xcc,se)", json::array())) {
        const std::string name = key(engine[0], engine[1]);
        // The first bytes lie where BASE pointed when the engine was armed.
        std::uint64_t base = 0;
        std::uint32_t base2 = 0;
        for (const json& write : run.recorder().reg_writes[name]) {
            const auto value =
                static_cast<std::uint32_t>(std::stoul(write[1].get<std::string>(), nullptr, 16));
            if (write[0] == "0xc330") base = std::uint64_t{value} << 12;
            if (write[0] == "0xc337") base2 = value;
            if (write[0] == "0xc336" && (value >> 21 & 3) == 1) break;
        }
        EXPECT_EQ(tokens_of(run.memory(), base | std::uint64_t{base2 & 0xF} << 44),
                  effects["userdata_writes"].value(name, json::array()))
            << name;
    }
}

TEST(CommandGoldenTest, EveryGfx9StreamHasItsRecordedEffects) {
    if (!fs::exists(folder())) {
        if (required()) FAIL() << "no recorded streams in " << folder();
        std::cerr << "SKIPPED: no recorded streams in " << folder() << "\n";
        ::wavetap::test::count_proof("skipped", 0, 1);
        GTEST_SKIP() << "no recorded streams; set WAVETAP_DATA";
    }
    int cases = 0, streams = 0;
    for (const char* arch : {"gfx90a", "gfx942", "gfx950"}) {
        for (const auto& entry : fs::directory_iterator(folder() / arch)) {
            if (entry.path().extension() != ".json") continue;
            SCOPED_TRACE(entry.path().string());
            const json golden = json::parse(std::ifstream(entry.path()));
            check_plain(golden);
            check_with_units(golden);
            ++cases;
            streams += static_cast<int>(golden["packets"].size());
        }
    }
    EXPECT_GT(cases, 30);
    std::cout << "AMD streams executed to their recorded effects: " << streams << " of " << streams
              << " (" << cases << " cases)\n";
}

} // namespace
} // namespace wavetap::softgpu
