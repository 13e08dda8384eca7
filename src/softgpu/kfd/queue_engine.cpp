// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/queue_engine.hpp"

#include "base/units.hpp"
#include "softgpu/kfd/loaded_code.hpp"
#include "softgpu/kfd/output.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>

namespace wavetap::softgpu::kfd {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kFewestClocks = 256, kMostClocks = 1u << 22, kFirstClocks = 4096;
constexpr auto kLongBatch = microseconds(700), kShortBatch = microseconds(250);

constexpr std::uint64_t kUtilityRingBytes = 64 * 64;

std::uint64_t load(const std::uint64_t* word) {
    return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word))
        .load(std::memory_order_acquire);
}

void store(std::byte* host, std::uint64_t value) {
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(host))
        .store(value, std::memory_order_release);
}

void back_off(unsigned quiet, Chip::Progress progress) {
    if (quiet < 50)
        std::this_thread::yield();
    else if (quiet < 100)
        std::this_thread::sleep_for(microseconds(20));
    else if (quiet < 300 || progress == Chip::Progress::kPolling)
        std::this_thread::sleep_for(microseconds(200));
    else
        std::this_thread::sleep_for(milliseconds(1));
}

int errno_of(const Error& error) {
    return error.code == ErrorCode::kNotFound ? EFAULT : EINVAL;
}

} // namespace

/// What one chip says, turned into events of the driver.
class QueueEngine::AgentHost final : public Host {
  public:
    AgentHost(QueueEngine& engine, std::uint32_t gpu_id) : engine_(engine), gpu_id_(gpu_id) {}

    void interrupt(std::uint32_t event_id) override { engine_.events_.interrupt(event_id); }

    void memory_fault(std::uint64_t va, Access access, const std::string& what) override {
        static constexpr const char* kNames[] = {"read", "write", "execute"};
        report(std::string("memory fault: ") + kNames[static_cast<int>(access)] + " of " +
               format_hex(va) + ", which is not mapped to the agent: " + what);
        MemoryFaultData fault;
        fault.not_present = 1;
        fault.va = va;
        fault.gpu_id = gpu_id_;
        engine_.events_.memory_fault(fault);
    }

    // The chip itself tells the runtime, through the queue's inactive signal.
    void queue_error(std::uint64_t queue, const std::string& what) override {
        report("queue " + std::to_string(queue) + " stopped: " + what);
    }

    std::string code_at(std::uint64_t pc) override {
        return describe_code(engine_.loaded_code_.load(std::memory_order_relaxed), pc);
    }

    std::uint64_t host_counter() override {
        timespec now{};
        clock_gettime(CLOCK_BOOTTIME, &now);
        return (static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                static_cast<std::uint64_t>(now.tv_nsec)) /
               10;
    }

  private:
    QueueEngine& engine_;
    std::uint32_t gpu_id_;
};

QueueEngine::QueueEngine(const std::vector<AgentDescription>& agents,
                         std::uint32_t queues_per_agent, DeviceFile& file, MemoryManager& memory,
                         Events& events, ChipSource& source)
    : queues_per_agent_(std::min(queues_per_agent, DeviceFile::kDoorbellSlots)), file_(file),
      memory_(memory), events_(events), source_(source) {
    for (const AgentDescription& description : agents) {
        Agent agent;
        agent.description = description;
        agent.host = std::make_unique<AgentHost>(*this, description.gpu_id);
        agent.slots.resize(queues_per_agent_);
        agents_.push_back(std::move(agent));
    }
}

QueueEngine::~QueueEngine() {
    if (!thread_) return;
    thread_->request_stop();
    wake();
    thread_->join();
}

int QueueEngine::check_memory(unsigned agent, const CreateQueueArgs& args) {
    AgentSpace& space = memory_.space(agent);
    const auto mapped = [&](std::uint64_t va, std::uint64_t size) {
        const AddressSpace::Window window = space.find(va);
        return window.size != 0 && size <= window.size - (va - window.va);
    };
    if (!mapped(args.ring_base, args.ring_bytes) || !mapped(args.write_pointer, 8) ||
        !mapped(args.read_pointer, 8))
        return EFAULT;
    return args.write_pointer % 8 == 0 && args.read_pointer % 8 == 0 ? 0 : EINVAL;
}

int QueueEngine::ensure_chip(unsigned agent) {
    Agent& a = agents_[agent];
    if (a.chip != nullptr) return 0;
    auto made = source_.make(a.description.spec, agent, memory_.space(agent), *a.host);
    if (!made) {
        report(to_string(made.error()));
        return ENODEV;
    }
    a.chip = std::move(*made);
    return 0;
}

int QueueEngine::create_queue(unsigned agent, CreateQueueArgs& args, Owner owner) {
    const bool is_aql = args.type == kQueueComputeAql;
    if (!is_aql && args.type != kQueueSdma) return EINVAL;
    if (loaded_code_.load(std::memory_order_relaxed) == nullptr)
        loaded_code_.store(find_loaded_code_list(), std::memory_order_relaxed);
    {
        const EngineHold hold(lock_);
        if (agent >= agents_.size()) return EINVAL;
        Agent& a = agents_[agent];
        const auto slot = std::find(a.slots.begin(), a.slots.end(), false);
        if (slot == a.slots.end()) return ENOMEM;
        if (const int error = check_memory(agent, args); error != 0) return error;
        if (const int error = ensure_chip(agent); error != 0) return error;

        Queue queue;
        queue.agent = agent;
        queue.is_aql = is_aql;
        queue.slot = static_cast<unsigned>(slot - a.slots.begin());
        queue.doorbell =
            reinterpret_cast<std::uint64_t*>(file_.host(file_.doorbell_offset(agent))) + queue.slot;
        queue.last_doorbell = is_aql ? ~std::uint64_t{0} : 0;
        queue.write_index_va = args.write_pointer;
        const AddressSpace::Window window = memory_.space(agent).find(args.read_pointer);
        store(window.host + (args.read_pointer - window.va), 0);
        store(reinterpret_cast<std::byte*>(queue.doorbell), queue.last_doorbell);

        auto made =
            is_aql ? a.chip->create_aql_queue({args.ring_base, args.ring_bytes, args.write_pointer,
                                               args.read_pointer, next_id_})
                   : a.chip->create_sdma_queue({args.ring_base, args.ring_bytes, args.write_pointer,
                                                args.read_pointer, next_id_});
        if (!made) {
            report(to_string(made.error()));
            return errno_of(made.error());
        }
        queue.chip_queue = *made;
        *slot = true;
        ++a.queues;
        if (!is_aql || (!a.had_aql_queue && args.ring_bytes == kUtilityRingBytes))
            owner = Owner::kRuntime;
        a.had_aql_queue |= is_aql;
        args.queue_id = next_id_++;
        args.doorbell_offset = file_.doorbell_offset(agent) + 8 * queue.slot;
        queues_.emplace(args.queue_id, queue);
        counters_.queues_live = static_cast<std::uint32_t>(queues_.size());
        counters_.queues_peak = std::max(counters_.queues_peak, counters_.queues_live);
        ++counters_.queues_created[static_cast<int>(owner)];
        counters_.agents.resize(agents_.size());
        AgentCounters& counted = counters_.agents[agent];
        counted.queues_live = a.queues;
        counted.queues_peak = std::max(counted.queues_peak, counted.queues_live);
        ++counted.queues_created[static_cast<int>(owner)];
        start_thread();
    }
    wake();
    return 0;
}

// The thread inherits the mask: no signal of the application may ever run on it.
void QueueEngine::start_thread() {
    if (thread_) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_.emplace([this](const std::stop_token& stop) { run(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int QueueEngine::destroy_queue(std::uint32_t id) {
    const EngineHold hold(lock_);
    const auto it = queues_.find(id);
    if (it == queues_.end()) return EINVAL;
    Agent& agent = agents_[it->second.agent];
    agent.chip->destroy_queue(it->second.chip_queue);
    agent.slots[it->second.slot] = false;
    --agent.queues;
    counters_.agents[it->second.agent].queues_live = agent.queues;
    queues_.erase(it);
    counters_.queues_live = static_cast<std::uint32_t>(queues_.size());
    source_.flush();
    return 0;
}

int QueueEngine::update_queue(const UpdateQueueArgs& args) {
    const EngineHold hold(lock_);
    const auto it = queues_.find(args.queue_id);
    if (it == queues_.end()) return EINVAL;
    agents_[it->second.agent].chip->suspend_queue(it->second.chip_queue, args.percentage == 0);
    return 0;
}

bool QueueEngine::has_queue(std::uint32_t id) {
    const EngineHold hold(lock_);
    return queues_.contains(id);
}

void QueueEngine::count(Counters& counters) {
    counters = counters_;
    for (const Agent& agent : agents_) {
        if (agent.chip == nullptr) continue;
        counters.instructions += agent.chip->instructions();
        counters.clock = std::max(counters.clock, agent.chip->clock());
    }
}

void QueueEngine::flush() {
    const EngineHold hold(lock_);
    source_.flush();
}

std::uint64_t QueueEngine::written_packets(const Queue& queue) {
    const AddressSpace::Window window = memory_.space(queue.agent).find(queue.write_index_va);
    if (window.size == 0) return 0;
    return load(
        reinterpret_cast<const std::uint64_t*>(window.host + (queue.write_index_va - window.va)));
}

// Several producers may ring in the wrong order, and a later, smaller value hides the larger one
// between two polls. Every packet below the write index whose header is valid was published, so a
// ring stands for all of them.
void QueueEngine::poll_doorbells() {
    for (auto& [id, queue] : queues_) {
        const std::uint64_t value = load(queue.doorbell);
        if (value == queue.last_doorbell) continue;
        queue.last_doorbell = value;
        std::uint64_t meant = value;
        if (queue.is_aql) {
            const std::uint64_t written = written_packets(queue);
            if (written != 0) meant = std::max(meant, written - 1);
        }
        agents_[queue.agent].chip->doorbell(queue.chip_queue, meant);
    }
}

QueueEngine::Round QueueEngine::run_round(std::uint64_t clocks) {
    const EngineHold hold(lock_);
    Round round;
    round.has_queues = !queues_.empty();
    if (!round.has_queues) return round;
    poll_doorbells();
    bool running = false, polling = false;
    for (Agent& agent : agents_) {
        if (agent.queues == 0) continue;
        const Chip::Progress progress = agent.chip->step(clocks);
        running |= progress == Chip::Progress::kRunning;
        polling |= progress == Chip::Progress::kPolling;
    }
    round.progress = running   ? Chip::Progress::kRunning
                     : polling ? Chip::Progress::kPolling
                               : Chip::Progress::kIdle;
    if (!running && unflushed_) source_.flush();
    unflushed_ = running;
    return round;
}

void QueueEngine::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "softgpu-engine");
    std::uint64_t clocks = kFirstClocks;
    unsigned quiet = 0;
    while (!stop.stop_requested()) {
        const auto start = std::chrono::steady_clock::now();
        const Round round = run_round(clocks);
        const auto spent = std::chrono::steady_clock::now() - start;
        if (!round.has_queues) {
            wait_for_queues(stop);
        } else if (round.progress == Chip::Progress::kRunning) {
            quiet = 0;
            if (spent > kLongBatch) clocks = std::max(clocks / 2, kFewestClocks);
            if (spent < kShortBatch) clocks = std::min(clocks * 2, kMostClocks);
        } else {
            back_off(quiet++, round.progress);
        }
    }
}

void QueueEngine::wake() {
    const MutexLock lock(wake_);
    work_ = true;
    woken_.notify_all();
}

void QueueEngine::wait_for_queues(const std::stop_token& stop) {
    const MutexLock lock(wake_);
    const auto deadline = std::chrono::steady_clock::now() + milliseconds(500);
    woken_.wait_until(wake_, deadline, [&]() WAVETAP_NO_THREAD_SAFETY_ANALYSIS {
        return work_ || stop.stop_requested();
    });
    work_ = false;
}

} // namespace wavetap::softgpu::kfd
