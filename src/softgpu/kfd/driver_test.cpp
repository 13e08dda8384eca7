// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace wavetap::softgpu::kfd {
namespace {

using ::testing::HasSubstr;

template <class Args> unsigned long code(Request request) {
    return _IOC(_IOC_READ | _IOC_WRITE, 'K', static_cast<unsigned>(request), sizeof(Args));
}

/// What a chip was told; shared with the test's thread.
struct ChipLog {
    std::atomic<unsigned> queues{0};
    std::atomic<unsigned> destroyed{0};
    std::atomic<unsigned> suspended{0};
    std::atomic<std::uint64_t> last_doorbell{~std::uint64_t{0}};
    std::atomic<std::uint64_t> steps{0};
    std::atomic<bool> busy{false};
    Host* host = nullptr;
};

/// Executes nothing; says what the log wants.
class ChipForTest final : public Chip {
  public:
    explicit ChipForTest(ChipLog& log) : log_(log) {}
    Result<QueueId> create_aql_queue(const AqlQueueInfo&) override { return made(); }
    Result<QueueId> create_sdma_queue(const SdmaQueueInfo&) override { return made(); }
    void destroy_queue(QueueId) override { ++log_.destroyed; }
    void suspend_queue(QueueId, bool suspended) override { log_.suspended += suspended ? 1 : 100; }
    void doorbell(QueueId, std::uint64_t value) override { log_.last_doorbell = value; }
    Progress step(std::uint64_t clocks) override {
        clock_ += clocks;
        ++log_.steps;
        if (!log_.busy) return Progress::kIdle;
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
        while (std::chrono::steady_clock::now() < end) {
        }
        return Progress::kRunning;
    }
    std::uint64_t clock() const override { return clock_; }
    std::uint64_t counter() const override { return clock_; }
    std::uint64_t instructions() const override { return 42; }

  private:
    QueueId made() { return QueueId{++log_.queues}; }
    ChipLog& log_;
    std::uint64_t clock_ = 0;
};

class ChipsForTest final : public ChipSource {
  public:
    Result<std::unique_ptr<Chip>> make(const ChipSpec&, unsigned, AddressSpace&,
                                       Host& host) override {
        log.host = &host;
        return std::unique_ptr<Chip>(new ChipForTest(log));
    }
    void flush() override { ++flushes; }

    ChipLog log;
    std::atomic<unsigned> flushes{0};
};

class DriverTest : public ::testing::Test {
  protected:
    DriverTest() {
        config_.chips = {"gfx90a"};
        config_.hbm_bytes = 256 * kMiB;
        config_.queues_per_agent = 4;
        ChipSpec spec;
        spec.name = "gfx90a";
        agents_.push_back(describe_agent(spec, 0, config_.hbm_bytes).value());
    }
    Driver& driver() {
        if (driver_ == nullptr)
            driver_ = std::move(Driver::create(config_, agents_, chips_).value());
        return *driver_;
    }
    template <class Args> int call(Request request, Args& args) {
        return driver().handle(code<Args>(request), &args);
    }
    /// Memory at `va`, mapped to the agent; the client's view of it.
    std::uint64_t* map(std::uint64_t va, std::uint64_t bytes) {
        AllocMemoryArgs alloc;
        alloc.va = va;
        alloc.size = bytes;
        alloc.flags = kMemoryGtt;
        alloc.gpu_id = agents_[0].gpu_id;
        EXPECT_EQ(call(Request::kAllocMemory, alloc), 0);
        MapMemoryArgs args;
        args.handle = alloc.handle;
        args.devices = reinterpret_cast<std::uint64_t>(&agents_[0].gpu_id);
        args.device_count = 1;
        EXPECT_EQ(call(Request::kMapMemory, args), 0);
        EXPECT_EQ(args.success, 1u);
        return static_cast<std::uint64_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                                driver().fd(),
                                                static_cast<off_t>(alloc.mmap_offset)));
    }
    CreateQueueArgs queue_args(std::uint32_t type = kQueueComputeAql) const {
        CreateQueueArgs args;
        args.ring_base = kRing;
        args.ring_bytes = 8192;
        args.write_pointer = kPointers;
        args.read_pointer = kPointers + 8;
        args.gpu_id = agents_[0].gpu_id;
        args.type = type;
        args.percentage = 100;
        return args;
    }
    template <class Predicate> static bool soon(Predicate ready) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!ready() && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
        return ready();
    }

    static constexpr std::uint64_t kRing = 0x10000000, kPointers = 0x20000000;
    Config config_;
    std::vector<AgentDescription> agents_;
    ChipsForTest chips_;
    std::unique_ptr<Driver> driver_;
};

TEST_F(DriverTest, Version_UnknownRequest_NullArgument) {
    GetVersionArgs version;
    EXPECT_EQ(call(Request::kGetVersion, version), 0);
    EXPECT_EQ(version.major, 1u);
    EXPECT_EQ(version.minor, 11u);
    EXPECT_EQ(driver().handle(_IOC(_IOC_READ, 'K', 0x82, 8), &version), ENOTTY);
    EXPECT_EQ(driver().handle(_IOC(_IOC_READ, 'd', 0x01, 8), &version), ENOTTY);
    EXPECT_EQ(driver().handle(code<GetVersionArgs>(Request::kGetVersion), nullptr), EFAULT);
}

// Structures grew between releases: an older, shorter one is not written past its end.
TEST_F(DriverTest, ShorterStructure_IsNotOverrun) {
    std::uint32_t words[2] = {7, 7};
    EXPECT_EQ(driver().handle(_IOC(_IOC_READ, 'K', 1, 4), words), 0);
    EXPECT_EQ(words[0], 1u);
    EXPECT_EQ(words[1], 7u);
    std::uint32_t in_only[2] = {7, 7};
    EXPECT_EQ(driver().handle(_IOC(_IOC_WRITE, 'K', 1, 8), in_only), 0);
    EXPECT_EQ(in_only[0], 7u);
}

TEST_F(DriverTest, Apertures_CountThenEntries) {
    AperturesNewArgs args;
    EXPECT_EQ(call(Request::kGetProcessAperturesNew, args), 0);
    EXPECT_EQ(args.count, 1u);
    ApertureEntry entries[3];
    args.entries = reinterpret_cast<std::uint64_t>(entries);
    args.count = 3;
    EXPECT_EQ(call(Request::kGetProcessAperturesNew, args), 0);
    EXPECT_EQ(args.count, 1u);
    EXPECT_EQ(entries[0].gpu_id, agents_[0].gpu_id);
    EXPECT_NE(entries[0].lds_base >> 32, 0u);
    EXPECT_NE(entries[0].scratch_base >> 32, 0u);
    EXPECT_GE(entries[0].gpuvm_limit, (std::uint64_t{1} << 47) - 1);
}

TEST_F(DriverTest, Clocks_AreOneClockAtTwoRates) {
    ClockCountersArgs a, b;
    EXPECT_EQ(call(Request::kGetClockCounters, a), 0);
    EXPECT_EQ(a.gpu, a.system / 10);
    EXPECT_EQ(a.system_hz, 1'000'000'000u);
    EXPECT_TRUE(soon([&] {
        call(Request::kGetClockCounters, b);
        return b.gpu > a.gpu;
    }));
}

TEST_F(DriverTest, CreateQueue_ChecksMemoryAndKind) {
    CreateQueueArgs args = queue_args();
    EXPECT_EQ(call(Request::kCreateQueue, args), EFAULT);
    map(kRing, 8192);
    EXPECT_EQ(call(Request::kCreateQueue, args), EFAULT);
    map(kPointers, 4096);
    args = queue_args(kQueueCompute);
    EXPECT_EQ(call(Request::kCreateQueue, args), EINVAL);
    args = queue_args();
    args.gpu_id = 1;
    EXPECT_EQ(call(Request::kCreateQueue, args), EINVAL);
    args = queue_args();
    args.ring_bytes = 16384;
    EXPECT_EQ(call(Request::kCreateQueue, args), EFAULT);
}

TEST_F(DriverTest, Queues_LimitIsEnomem_IdsAndDoorbellsComeBack) {
    map(kRing, 8192);
    std::uint64_t* pointers = map(kPointers, 4096);
    pointers[1] = 99;
    CreateQueueArgs args[5];
    for (int i = 0; i < 4; ++i) {
        args[i] = queue_args(i == 3 ? kQueueSdma : kQueueComputeAql);
        ASSERT_EQ(call(Request::kCreateQueue, args[i]), 0);
        EXPECT_EQ(args[i].doorbell_offset & 0xffffffff, 8u * static_cast<unsigned>(i));
    }
    EXPECT_EQ(pointers[1], 0u) << "read pointer starts at 0";
    args[4] = queue_args();
    EXPECT_EQ(call(Request::kCreateQueue, args[4]), ENOMEM);
    QueueArgs destroy{args[1].queue_id, 0};
    EXPECT_EQ(call(Request::kDestroyQueue, destroy), 0);
    EXPECT_EQ(call(Request::kDestroyQueue, destroy), EINVAL);
    args[4] = queue_args();
    EXPECT_EQ(call(Request::kCreateQueue, args[4]), 0);
    EXPECT_EQ(args[4].doorbell_offset, args[1].doorbell_offset);
    EXPECT_EQ(chips_.log.queues, 5u);
    EXPECT_EQ(chips_.log.destroyed, 1u);
}

TEST_F(DriverTest, Doorbell_ReachesTheChip_AndStandsForAllThatIsWritten) {
    map(kRing, 8192);
    std::uint64_t* pointers = map(kPointers, 4096);
    CreateQueueArgs args = queue_args();
    ASSERT_EQ(call(Request::kCreateQueue, args), 0);
    auto* doorbell =
        static_cast<std::uint64_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
                                         driver().fd(), static_cast<off_t>(args.doorbell_offset)));
    ASSERT_NE(doorbell, MAP_FAILED);
    EXPECT_EQ(*doorbell, ~std::uint64_t{0}) << "packet 0 is not rung yet";
    pointers[0] = 1;
    std::atomic_ref(*doorbell).store(0);
    EXPECT_TRUE(soon([&] { return chips_.log.last_doorbell == 0; }));
    // Packets 1 and 2 were published; the ring for 2 was overwritten by the late ring for 1.
    std::atomic_ref(pointers[0]).store(3);
    std::atomic_ref(*doorbell).store(1);
    EXPECT_TRUE(soon([&] { return chips_.log.last_doorbell == 2; }));
}

TEST_F(DriverTest, UpdateQueue_PercentageZeroSuspends) {
    map(kRing, 8192);
    map(kPointers, 4096);
    CreateQueueArgs args = queue_args();
    ASSERT_EQ(call(Request::kCreateQueue, args), 0);
    UpdateQueueArgs update;
    update.queue_id = args.queue_id;
    EXPECT_EQ(call(Request::kUpdateQueue, update), 0);
    EXPECT_EQ(chips_.log.suspended, 1u);
    update.percentage = 100;
    EXPECT_EQ(call(Request::kUpdateQueue, update), 0);
    EXPECT_EQ(chips_.log.suspended, 101u);
}

// The engine thread never gives the lock up for long by itself; callers must still get in.
TEST_F(DriverTest, BusyChip_CallersGetTheLockAfterOneBatch) {
    map(kRing, 8192);
    map(kPointers, 4096);
    CreateQueueArgs args = queue_args();
    ASSERT_EQ(call(Request::kCreateQueue, args), 0);
    chips_.log.busy = true;
    ASSERT_TRUE(soon([&] { return chips_.log.steps > 3; }));
    const std::uint64_t before = chips_.log.steps;
    AvailableMemoryArgs memory;
    memory.gpu_id = agents_[0].gpu_id;
    for (int i = 0; i < 50; ++i)
        EXPECT_EQ(call(Request::kAvailableMemory, memory), 0);
    EXPECT_LE(chips_.log.steps - before, 110u) << "at most two batches a call";
    EXPECT_EQ(memory.available, config_.hbm_bytes);
}

TEST_F(DriverTest, Events_PageHandleComesBackEveryTime) {
    AllocMemoryArgs page;
    page.va = 0x30000000;
    page.size = 32768;
    page.flags = kMemoryGtt;
    page.gpu_id = agents_[0].gpu_id;
    ASSERT_EQ(call(Request::kAllocMemory, page), 0);
    CreateEventArgs event;
    event.page_offset = page.handle;
    event.auto_reset = 1;
    ASSERT_EQ(call(Request::kCreateEvent, event), 0);
    EXPECT_NE(event.page_offset, 0u);
    EXPECT_EQ(event.slot, event.event_id);
    CreateEventArgs second;
    ASSERT_EQ(call(Request::kCreateEvent, second), 0);
    EXPECT_NE(second.page_offset, 0u);

    QueueArgs set{event.event_id, 0};
    EXPECT_EQ(call(Request::kSetEvent, set), 0);
    EventData data{};
    data.event_id = event.event_id;
    WaitEventsArgs wait;
    wait.events = reinterpret_cast<std::uint64_t>(&data);
    wait.count = 1;
    wait.timeout_ms = 0;
    EXPECT_EQ(call(Request::kWaitEvents, wait), 0);
    EXPECT_EQ(wait.result, kWaitComplete);
    EXPECT_EQ(call(Request::kWaitEvents, wait), 0);
    EXPECT_EQ(wait.result, kWaitTimeout);
}

TEST_F(DriverTest, MemoryFaultOfTheChip_BecomesAnEvent) {
    map(kRing, 8192);
    map(kPointers, 4096);
    CreateQueueArgs args = queue_args();
    ASSERT_EQ(call(Request::kCreateQueue, args), 0);
    CreateEventArgs event;
    event.type = kEventMemory;
    event.auto_reset = 1;
    ASSERT_EQ(call(Request::kCreateEvent, event), 0);
    ::testing::internal::CaptureStderr();
    chips_.log.host->memory_fault(0xabc000, Access::kWrite, "store of kernel k at 0x123");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("wavetap-softgpu: memory fault: write of 0xabc000"));
    EventData data{};
    data.event_id = event.event_id;
    WaitEventsArgs wait;
    wait.events = reinterpret_cast<std::uint64_t>(&data);
    wait.count = 1;
    wait.timeout_ms = 10'000;
    EXPECT_EQ(call(Request::kWaitEvents, wait), 0);
    EXPECT_EQ(data.memory_fault.va, 0xabc000u);
    EXPECT_EQ(data.memory_fault.gpu_id, agents_[0].gpu_id);
}

TEST_F(DriverTest, Counters_AreWrittenAtomically) {
    config_.counters_folder = ::testing::TempDir() + "wavetap-driver-" + std::to_string(getpid());
    ASSERT_EQ(mkdir(config_.counters_folder.c_str(), 0755), 0);
    map(kRing, 8192);
    map(kPointers, 4096);
    CreateQueueArgs args = queue_args(), sdma = queue_args(kQueueSdma);
    ASSERT_EQ(call(Request::kCreateQueue, args), 0);
    ASSERT_EQ(call(Request::kCreateQueue, sdma), 0);
    QueueArgs destroy{args.queue_id, 0};
    ASSERT_EQ(call(Request::kDestroyQueue, destroy), 0);
    const std::string path =
        config_.counters_folder + "/driver-" + std::to_string(getpid()) + ".json";
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_THAT(text.str(), HasSubstr("\"queues_peak\": 2,"));
    EXPECT_THAT(text.str(), HasSubstr("\"queues_live\": 1,"));
    EXPECT_THAT(text.str(), HasSubstr("\"agents\": [{\"queues_peak\": 2,"));
    EXPECT_THAT(text.str(), HasSubstr("{\"application\": 1, \"runtime\": 1, \"wavetap\": 0}"));
    EXPECT_THAT(text.str(), HasSubstr("\"instructions\": 42"));
    EXPECT_NE(access((path + ".new").c_str(), F_OK), 0);
    unlink(path.c_str());
    rmdir(config_.counters_folder.c_str());
}

TEST_F(DriverTest, MapMemory_ResumesBehindWhatSucceeded) {
    AllocMemoryArgs alloc;
    alloc.va = 0x40000000;
    alloc.size = 4096;
    alloc.flags = kMemoryVram;
    alloc.gpu_id = agents_[0].gpu_id;
    ASSERT_EQ(call(Request::kAllocMemory, alloc), 0);
    const std::uint32_t devices[2] = {agents_[0].gpu_id, 12345};
    MapMemoryArgs args;
    args.handle = alloc.handle;
    args.devices = reinterpret_cast<std::uint64_t>(devices);
    args.device_count = 2;
    EXPECT_EQ(call(Request::kMapMemory, args), EINVAL);
    EXPECT_EQ(args.success, 1u);
    FreeMemoryArgs free{alloc.handle};
    EXPECT_EQ(call(Request::kFreeMemory, free), EBUSY);
    args.device_count = 1;
    args.success = 0;
    EXPECT_EQ(call(Request::kUnmapMemory, args), 0);
    EXPECT_EQ(call(Request::kFreeMemory, free), 0);
}

} // namespace
} // namespace wavetap::softgpu::kfd
