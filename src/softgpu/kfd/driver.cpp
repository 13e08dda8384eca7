// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/driver.hpp"

#include "base/units.hpp"
#include "softgpu/kfd/real.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace wavetap::softgpu::kfd {
namespace {

constexpr std::uint32_t kInterfaceMajor = 1;
constexpr std::uint64_t kLdsAperture = 0x1000000000000, kScratchAperture = 0x2000000000000;
constexpr std::uint64_t kApertureSpan = 0xffffffff;
constexpr std::uint64_t kVmBase = 0x4000, kVmLimit = 0x7fffffffffff;
constexpr std::uint64_t kEventPageBytes = Events::kSignalLimit * sizeof(std::uint64_t);
constexpr std::uint64_t kIoctlsBetweenSaves = 256;
constexpr std::uint32_t kMaxListEntries = 65536;

} // namespace

/// How one request is decoded: only its number counts, sizes differ between releases.
struct Driver::Call {
    const char* name = nullptr;
    int (*run)(Driver& driver, void* argument, std::size_t size, bool copy_out) = nullptr;
};

struct DriverCalls {
    template <class Args, int (Driver::*method)(Args&)>
    static int run(Driver& driver, void* argument, std::size_t size, bool copy_out) {
        Args args{};
        const std::size_t known = std::min(size, sizeof args);
        std::memcpy(static_cast<void*>(&args), argument, known);
        const int error = (driver.*method)(args);
        if (copy_out) std::memcpy(argument, static_cast<const void*>(&args), known);
        return error;
    }

    using Table = std::array<Driver::Call, 256>;
    static constexpr Table make() {
        Table table{};
        const auto set = [&table](Request request, Driver::Call call) {
            table[static_cast<std::size_t>(request)] = call;
        };
        using D = Driver;
        set(Request::kGetVersion, {"GET_VERSION", &run<GetVersionArgs, &D::get_version>});
        set(Request::kCreateQueue, {"CREATE_QUEUE", &run<CreateQueueArgs, &D::create_queue>});
        set(Request::kDestroyQueue, {"DESTROY_QUEUE", &run<QueueArgs, &D::destroy_queue>});
        set(Request::kSetMemoryPolicy, {"SET_MEMORY_POLICY", &accept});
        set(Request::kGetClockCounters,
            {"GET_CLOCK_COUNTERS", &run<ClockCountersArgs, &D::clock_counters>});
        set(Request::kUpdateQueue, {"UPDATE_QUEUE", &run<UpdateQueueArgs, &D::update_queue>});
        set(Request::kCreateEvent, {"CREATE_EVENT", &run<CreateEventArgs, &D::create_event>});
        set(Request::kDestroyEvent, {"DESTROY_EVENT", &run<QueueArgs, &D::destroy_event>});
        set(Request::kSetEvent, {"SET_EVENT", &run<QueueArgs, &D::set_event>});
        set(Request::kResetEvent, {"RESET_EVENT", &run<QueueArgs, &D::reset_event>});
        set(Request::kWaitEvents, {"WAIT_EVENTS", &run<WaitEventsArgs, &D::wait_events>});
        set(Request::kSetScratchBackingVa,
            {"SET_SCRATCH_BACKING_VA", &run<ScratchBackingArgs, &D::set_scratch>});
        set(Request::kGetTileConfig, {"GET_TILE_CONFIG", &run<TileConfigArgs, &D::tile_config>});
        set(Request::kSetTrapHandler,
            {"SET_TRAP_HANDLER", &run<TrapHandlerArgs, &D::set_trap_handler>});
        set(Request::kGetProcessAperturesNew,
            {"GET_PROCESS_APERTURES_NEW", &run<AperturesNewArgs, &D::apertures>});
        set(Request::kAcquireVm, {"ACQUIRE_VM", &run<AcquireVmArgs, &D::acquire_vm>});
        set(Request::kAllocMemory, {"ALLOC_MEMORY", &run<AllocMemoryArgs, &D::allocate_memory>});
        set(Request::kFreeMemory, {"FREE_MEMORY", &run<FreeMemoryArgs, &D::free_memory>});
        set(Request::kMapMemory, {"MAP_MEMORY", &run<MapMemoryArgs, &D::map_memory>});
        set(Request::kUnmapMemory, {"UNMAP_MEMORY", &run<MapMemoryArgs, &D::unmap_memory>});
        set(Request::kSetCuMask, {"SET_CU_MASK", &run<CuMaskArgs, &D::set_cu_mask>});
        set(Request::kSetXnackMode, {"SET_XNACK_MODE", &run<XnackArgs, &D::set_xnack>});
        set(Request::kAvailableMemory,
            {"AVAILABLE_MEMORY", &run<AvailableMemoryArgs, &D::available_memory>});
        set(Request::kRuntimeEnable,
            {"RUNTIME_ENABLE", &run<RuntimeEnableArgs, &D::runtime_enable>});
        return table;
    }

  private:
    static int accept(Driver&, void*, std::size_t, bool) { return 0; }
};

Driver::Driver(const Config& config, const std::vector<AgentDescription>& agents,
               std::unique_ptr<DeviceFile> file, ChipSource& source)
    : config_(config), agents_(agents), log_(config.log_path), file_(std::move(file)),
      memory_(*file_, static_cast<unsigned>(agents.size()), config.hbm_bytes),
      events_(config.interface_minor >= 14),
      engine_(agents_, config.queues_per_agent, *file_, memory_, events_, source) {}

Result<std::unique_ptr<Driver>> Driver::create(const Config& config,
                                               const std::vector<AgentDescription>& agents,
                                               ChipSource& source) {
    WAVETAP_TRY(auto file,
                DeviceFile::create(static_cast<unsigned>(agents.size()), config.hbm_bytes));
    return std::unique_ptr<Driver>(new Driver(config, agents, std::move(file), source));
}

int Driver::handle(unsigned long request, void* argument) {
    static constexpr DriverCalls::Table kCalls = DriverCalls::make();
    const Call& call = kCalls[_IOC_NR(request)];
    const std::uint64_t number = ioctls_.fetch_add(1, std::memory_order_relaxed) + 1;
    int error = ENOTTY;
    if (_IOC_TYPE(request) == 'K' && call.run != nullptr)
        error = argument == nullptr ? EFAULT
                                    : call.run(*this, argument, _IOC_SIZE(request),
                                               (_IOC_DIR(request) & _IOC_READ) != 0);
    if (log_.on()) {
        const char* name = error == ENOTTY ? "unknown request" : call.name;
        log_.line(std::string(name) + " (" + format_hex(request) +
                  ") = " + (error == 0 ? "0" : strerror(error)));
    }
    const bool changes_queues = _IOC_NR(request) == unsigned(Request::kCreateQueue) ||
                                _IOC_NR(request) == unsigned(Request::kDestroyQueue);
    if (changes_queues || number % kIoctlsBetweenSaves == 0) save_counters();
    return error;
}

void Driver::save_counters() {
    if (config_.counters_folder.empty()) return;
    const MutexLock lock(counters_mutex_);
    Counters counters;
    {
        const EngineHold hold(engine_.lock());
        engine_.count(counters);
        counters.vram_bytes = memory_.vram_bytes();
        counters.vram_peak_bytes = memory_.vram_peak_bytes();
        counters.buffer_objects_peak = memory_.buffer_objects_peak();
        counters.agents.resize(agents_.size());
        for (unsigned i = 0; i < counters.agents.size(); ++i) {
            counters.agents[i].vram_bytes = memory_.vram_bytes(i);
            counters.agents[i].vram_peak_bytes = memory_.vram_peak_bytes(i);
        }
    }
    counters.ioctls = ioctls_.load(std::memory_order_relaxed);
    if (auto saved = write_counters(config_.counters_folder, counters); !saved)
        if (!counters_failed_.exchange(true)) report(to_string(saved.error()));
}

void Driver::flush() {
    engine_.flush();
    save_counters();
}

int Driver::agent_of(std::uint32_t gpu_id) const {
    for (std::size_t i = 0; i < agents_.size(); ++i)
        if (agents_[i].gpu_id == gpu_id) return static_cast<int>(i);
    return -1;
}

int Driver::get_version(GetVersionArgs& args) {
    args = {kInterfaceMajor, config_.interface_minor};
    return 0;
}

int Driver::apertures(AperturesNewArgs& args) {
    if (args.entries == 0) {
        args.count = static_cast<std::uint32_t>(agents_.size());
        return 0;
    }
    auto* const entries = reinterpret_cast<ApertureEntry*>(args.entries);
    args.count = std::min(args.count, static_cast<std::uint32_t>(agents_.size()));
    for (std::uint32_t i = 0; i < args.count; ++i)
        entries[i] = {kLdsAperture,      kLdsAperture + kApertureSpan,
                      kScratchAperture,  kScratchAperture + kApertureSpan,
                      kVmBase,           kVmLimit,
                      agents_[i].gpu_id, 0};
    return 0;
}

int Driver::acquire_vm(AcquireVmArgs& args) {
    struct ::stat identity {};
    if (agent_of(args.gpu_id) < 0) return EINVAL;
    if (real::fstat(static_cast<int>(args.drm_fd), &identity) != 0) return EBADF;
    return is_file(identity.st_dev, identity.st_ino) ? 0 : EINVAL;
}

int Driver::clock_counters(ClockCountersArgs& args) {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    args.system = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                  static_cast<std::uint64_t>(now.tv_nsec);
    args.system_hz = 1'000'000'000;
    args.gpu = args.system / 10; // 100 MHz, as Host::host_counter
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    args.cpu = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec);
    return 0;
}

int Driver::create_queue(CreateQueueArgs& args) {
    const int agent = agent_of(args.gpu_id);
    if (agent < 0) return EINVAL;
    const int error =
        engine_.create_queue(static_cast<unsigned>(agent), args, owner_of_this_thread());
    if (log_.on())
        log_.line("  queue " + std::to_string(args.queue_id) + " type " +
                  std::to_string(args.type) + " of agent " + std::to_string(agent) + ", ring " +
                  format_hex(args.ring_base) + " of " + std::to_string(args.ring_bytes) +
                  " bytes, doorbell at " + format_hex(args.doorbell_offset));
    return error;
}

int Driver::destroy_queue(QueueArgs& args) {
    return engine_.destroy_queue(args.id);
}

int Driver::update_queue(UpdateQueueArgs& args) {
    return engine_.update_queue(args);
}

// Placement ignores the mask: which CUs a queue may use changes no result.
int Driver::set_cu_mask(CuMaskArgs& args) {
    return engine_.has_queue(args.queue_id) && args.mask != 0 ? 0 : EINVAL;
}

int Driver::create_event(CreateEventArgs& args) {
    const EngineHold hold(engine_.lock());
    if (args.page_offset != 0 && args.page_offset != event_page_handle_) {
        const auto [host, size] = memory_.host(args.page_offset);
        if (host == nullptr || size < kEventPageBytes) return EINVAL;
        events_.set_page(reinterpret_cast<std::uint64_t*>(host));
        event_page_handle_ = args.page_offset;
    }
    std::uint32_t id = 0;
    if (const int error = events_.create(args.type, args.auto_reset != 0, id); error != 0)
        return error;
    args.event_id = id;
    args.trigger_data = id;
    args.slot = id;
    args.page_offset = event_page_handle_ != 0 ? event_page_handle_ : 1; // 0 would mean "no page"
    return 0;
}

int Driver::destroy_event(QueueArgs& args) {
    return events_.destroy(args.id);
}

int Driver::set_event(QueueArgs& args) {
    return events_.set(args.id);
}

int Driver::reset_event(QueueArgs& args) {
    return events_.reset(args.id);
}

int Driver::wait_events(WaitEventsArgs& args) {
    if (args.count > kMaxListEntries || (args.events == 0 && args.count != 0)) return EINVAL;
    const std::span data(reinterpret_cast<EventData*>(args.events), args.count);
    return events_.wait(data, args.wait_for_all != 0, args.timeout_ms, args.result);
}

int Driver::set_scratch(ScratchBackingArgs& args) {
    return agent_of(args.gpu_id) < 0 ? EINVAL : 0;
}

int Driver::tile_config(TileConfigArgs& args) {
    const int agent = agent_of(args.gpu_id);
    if (agent < 0) return EINVAL;
    args.gb_addr_config = agents_[static_cast<std::size_t>(agent)].identity.gb_addr_config;
    args.banks = 0;
    args.ranks = 0;
    args.tile_configs = 0;
    args.macro_tile_configs = 0;
    return 0;
}

int Driver::set_trap_handler(TrapHandlerArgs& args) {
    return agent_of(args.gpu_id) < 0 ? EINVAL : 0;
}

int Driver::allocate_memory(AllocMemoryArgs& args) {
    const int agent = agent_of(args.gpu_id);
    if (agent < 0) return EINVAL;
    const EngineHold hold(engine_.lock());
    const int error = memory_.allocate(static_cast<unsigned>(agent), args);
    if (log_.on())
        log_.line("  buffer " + format_hex(args.va) + " of " + std::to_string(args.size) +
                  " bytes, flags " + format_hex(args.flags) + ", handle " +
                  std::to_string(args.handle) + ", offset " + format_hex(args.mmap_offset));
    return error;
}

int Driver::free_memory(FreeMemoryArgs& args) {
    const EngineHold hold(engine_.lock());
    if (args.handle != 0 && args.handle == event_page_handle_) {
        events_.set_page(nullptr);
        event_page_handle_ = 0;
    }
    return memory_.free(args.handle);
}

int Driver::for_devices(MapMemoryArgs& args,
                        int (MemoryManager::*change)(std::uint64_t, unsigned)) {
    if (args.devices == 0 || args.device_count > kMaxListEntries) return EINVAL;
    const auto* const devices = reinterpret_cast<const std::uint32_t*>(args.devices);
    const EngineHold hold(engine_.lock());
    for (std::uint32_t i = args.success; i < args.device_count; ++i) {
        const int agent = agent_of(devices[i]);
        if (agent < 0) return EINVAL;
        if (const int error = (memory_.*change)(args.handle, static_cast<unsigned>(agent)))
            return error;
        args.success = i + 1;
    }
    return 0;
}

int Driver::map_memory(MapMemoryArgs& args) {
    return for_devices(args, &MemoryManager::map);
}

int Driver::unmap_memory(MapMemoryArgs& args) {
    return for_devices(args, &MemoryManager::unmap);
}

int Driver::set_xnack(XnackArgs& args) {
    if (args.enabled > 0) return EPERM;
    args.enabled = 0;
    return 0;
}

int Driver::available_memory(AvailableMemoryArgs& args) {
    const int agent = agent_of(args.gpu_id);
    if (agent < 0) return EINVAL;
    const EngineHold hold(engine_.lock());
    args.available = memory_.vram_free(static_cast<unsigned>(agent));
    return 0;
}

int Driver::runtime_enable(RuntimeEnableArgs&) {
    return 0;
}

} // namespace wavetap::softgpu::kfd
