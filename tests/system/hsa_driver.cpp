// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A plain HSA program that walks through what the runtime asks of the driver. It knows nothing of
// wavetap. usage: hsa_driver CASE [LIBRARY] (see kCases); status
// 0 = good.
#include <dlfcn.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void fail(const char* file, int line, const std::string& what) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
    std::_Exit(1);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) fail(__FILE__, __LINE__, "expected " #condition);                        \
    } while (false)
void check(hsa_status_t status, const char* file, int line, const char* call) {
    if (status != HSA_STATUS_SUCCESS)
        fail(file, line, std::string(call) + " gave " + std::to_string(status));
}
#define CHECK(call) check((call), __FILE__, __LINE__, #call)

constexpr std::uint64_t kDeadlineNs = 60'000'000'000;

struct Machine {
    std::vector<hsa_agent_t> gpus;
    hsa_agent_t cpu{};
    hsa_amd_memory_pool_t host_pool{};
    std::vector<hsa_amd_memory_pool_t> gpu_pools;
};

hsa_amd_memory_pool_t find_pool(hsa_agent_t agent, std::uint32_t flag) {
    struct Search {
        std::uint32_t flag;
        hsa_amd_memory_pool_t found;
    } search{flag, {}};
    CHECK(hsa_amd_agent_iterate_memory_pools(
        agent,
        [](hsa_amd_memory_pool_t pool, void* data) {
            auto& s = *static_cast<Search*>(data);
            hsa_amd_segment_t segment{};
            CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
            if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
            std::uint32_t flags = 0;
            CHECK(
                hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
            if ((flags & s.flag) != 0 && s.found.handle == 0) s.found = pool;
            return HSA_STATUS_SUCCESS;
        },
        &search));
    EXPECT(search.found.handle != 0);
    return search.found;
}

Machine open_machine() {
    CHECK(hsa_init());
    Machine machine;
    CHECK(hsa_iterate_agents(
        [](hsa_agent_t agent, void* data) {
            auto& m = *static_cast<Machine*>(data);
            hsa_device_type_t type{};
            CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
            if (type == HSA_DEVICE_TYPE_GPU)
                m.gpus.push_back(agent);
            else
                m.cpu = agent;
            return HSA_STATUS_SUCCESS;
        },
        &machine));
    EXPECT(!machine.gpus.empty());
    machine.host_pool = find_pool(machine.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    for (const hsa_agent_t gpu : machine.gpus)
        machine.gpu_pools.push_back(find_pool(gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED));
    return machine;
}

hsa_status_t try_queue(hsa_agent_t gpu, hsa_queue_t** queue, std::uint32_t size = 64) {
    return hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, queue);
}

hsa_queue_t* make_queue(hsa_agent_t gpu, std::uint32_t size = 64) {
    hsa_queue_t* queue = nullptr;
    CHECK(try_queue(gpu, &queue, size));
    return queue;
}

hsa_signal_t make_signal(hsa_signal_value_t value) {
    hsa_signal_t signal{};
    CHECK(hsa_signal_create(value, 0, nullptr, &signal));
    return signal;
}

void wait_zero(hsa_signal_t signal) {
    EXPECT(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, kDeadlineNs,
                                     HSA_WAIT_STATE_BLOCKED) == 0);
}

std::uint8_t* allocate(const Machine& m, hsa_amd_memory_pool_t pool, std::size_t bytes) {
    void* memory = nullptr;
    CHECK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
    std::vector<hsa_agent_t> agents = m.gpus;
    if (pool.handle != m.host_pool.handle) agents.push_back(m.cpu);
    hsa_amd_agents_allow_access(static_cast<std::uint32_t>(agents.size()), agents.data(), nullptr,
                                memory);
    return static_cast<std::uint8_t*>(memory);
}

/// Writes one barrier packet; the caller is the queue's only producer.
void submit_barrier(hsa_queue_t* queue, const std::vector<hsa_signal_t>& dependencies,
                    hsa_signal_t done, std::uint16_t type = HSA_PACKET_TYPE_BARRIER_AND) {
    const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
        std::this_thread::yield();
    auto* packet =
        static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + index % queue->size;
    std::memset(reinterpret_cast<char*>(packet) + 2, 0, sizeof *packet - 2);
    for (std::size_t i = 0; i < dependencies.size(); ++i)
        packet->dep_signal[i] = dependencies[i];
    packet->completion_signal = done;
    const std::uint16_t header = type | 1u << HSA_PACKET_HEADER_BARRIER |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

void case_queues(const Machine& m) {
    for (int round = 0; round < 4; ++round) {
        std::vector<hsa_queue_t*> queues;
        for (const hsa_agent_t gpu : m.gpus)
            for (int i = 0; i < 16; ++i)
                queues.push_back(make_queue(gpu));
        for (hsa_queue_t* queue : queues) {
            const hsa_signal_t done = make_signal(1);
            submit_barrier(queue, {}, done);
            wait_zero(done);
            CHECK(hsa_signal_destroy(done));
        }
        for (hsa_queue_t* queue : queues)
            CHECK(hsa_queue_destroy(queue));
    }
}

// The runtime's own utility queue is one of the 128.
void case_limit(const Machine& m) {
    std::vector<hsa_queue_t*> queues;
    hsa_status_t status = HSA_STATUS_SUCCESS;
    while (queues.size() < 1000) {
        hsa_queue_t* queue = nullptr;
        status = try_queue(m.gpus[0], &queue);
        if (status != HSA_STATUS_SUCCESS) break;
        queues.push_back(queue);
    }
    EXPECT(status == HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    EXPECT(queues.size() == 127);
    CHECK(hsa_queue_destroy(queues.back()));
    queues.back() = make_queue(m.gpus[0]);
    const hsa_signal_t done = make_signal(1);
    submit_barrier(queues.back(), {}, done);
    wait_zero(done);
    for (hsa_queue_t* queue : queues)
        CHECK(hsa_queue_destroy(queue));
}

void case_barriers(const Machine& m) {
    hsa_queue_t* a = make_queue(m.gpus[0], 256);
    hsa_queue_t* b = make_queue(m.gpus.back(), 256);
    const hsa_signal_t gate = make_signal(1), other = make_signal(1), middle = make_signal(1),
                       end = make_signal(1);
    submit_barrier(a, {gate, other}, middle);
    submit_barrier(b, {middle}, end);
    EXPECT(hsa_signal_wait_scacquire(end, HSA_SIGNAL_CONDITION_LT, 1, 20'000'000,
                                     HSA_WAIT_STATE_BLOCKED) == 1);
    hsa_signal_store_screlease(gate, 0);
    EXPECT(hsa_signal_wait_scacquire(end, HSA_SIGNAL_CONDITION_LT, 1, 20'000'000,
                                     HSA_WAIT_STATE_BLOCKED) == 1);
    hsa_signal_store_screlease(other, 0);
    wait_zero(end);

    const hsa_signal_t never = make_signal(1), any = make_signal(1);
    submit_barrier(a, {never, other}, any, HSA_PACKET_TYPE_BARRIER_OR);
    wait_zero(any);

    const hsa_signal_t counter = make_signal(3000);
    for (int i = 0; i < 3000; ++i)
        submit_barrier(i % 2 == 0 ? a : b, {}, counter);
    wait_zero(counter);
    CHECK(hsa_queue_destroy(a));
    CHECK(hsa_queue_destroy(b));
}

void copy(const Machine& m, void* to, const void* from, std::size_t bytes,
          const std::vector<hsa_signal_t>& dependencies, hsa_signal_t done, bool from_host,
          bool to_host) {
    CHECK(hsa_amd_memory_async_copy(
        to, to_host ? m.cpu : m.gpus[0], from, from_host ? m.cpu : m.gpus[0], bytes,
        static_cast<std::uint32_t>(dependencies.size()), dependencies.data(), done));
}

void case_copies(const Machine& m) {
    constexpr std::size_t kBytes = 300'001;
    std::uint8_t* source = allocate(m, m.host_pool, kBytes);
    std::uint8_t* back = allocate(m, m.host_pool, kBytes);
    std::uint8_t* first = allocate(m, m.gpu_pools[0], kBytes);
    std::uint8_t* second = allocate(m, m.gpu_pools[0], kBytes);
    for (std::size_t i = 0; i < kBytes; ++i)
        source[i] = static_cast<std::uint8_t>(i * 31 + i / 251);
    std::memset(back, 0, kBytes);
    const hsa_signal_t gate = make_signal(1), up = make_signal(1), across = make_signal(1),
                       down = make_signal(1);
    copy(m, first, source, kBytes, {gate}, up, true, false);
    copy(m, second, first, kBytes, {up}, across, false, false);
    copy(m, back, second, kBytes, {across}, down, false, true);
    EXPECT(hsa_signal_wait_scacquire(down, HSA_SIGNAL_CONDITION_LT, 1, 10'000'000,
                                     HSA_WAIT_STATE_BLOCKED) == 1);
    hsa_signal_store_screlease(gate, 0);
    wait_zero(down);
    EXPECT(std::memcmp(source, back, kBytes) == 0);
    for (void* memory : {source, back, first, second})
        CHECK(hsa_amd_memory_pool_free(memory));
}

void case_rectangle(const Machine& m) {
    constexpr std::uint32_t kPitch = 256, kSlice = kPitch * 16, kBytes = kSlice * 4;
    std::uint8_t* source = allocate(m, m.host_pool, kBytes);
    std::uint8_t* target = allocate(m, m.gpu_pools[0], kBytes);
    std::uint8_t* back = allocate(m, m.host_pool, kBytes);
    for (std::uint32_t i = 0; i < kBytes; ++i)
        source[i] = static_cast<std::uint8_t>(i * 13 + i / 255 + 1);
    std::memset(back, 0, kBytes);
    hsa_signal_t done = make_signal(1);
    copy(m, target, back, kBytes, {}, done, true, false);
    wait_zero(done);
    const hsa_pitched_ptr_t from{source, kPitch, kSlice}, to{target, kPitch, kSlice};
    const hsa_dim3_t from_offset{8, 2, 1}, to_offset{16, 5, 0}, range{100, 7, 2};
    done = make_signal(1);
    CHECK(hsa_amd_memory_async_copy_rect(&to, &to_offset, &from, &from_offset, &range, m.gpus[0],
                                         hsaHostToDevice, 0, nullptr, done));
    wait_zero(done);
    done = make_signal(1);
    copy(m, back, target, kBytes, {}, done, false, true);
    wait_zero(done);
    std::vector<std::uint8_t> expected(kBytes);
    for (std::uint32_t z = 0; z < range.z; ++z)
        for (std::uint32_t y = 0; y < range.y; ++y)
            std::memcpy(&expected[(z + to_offset.z) * kSlice + (y + to_offset.y) * kPitch + 16],
                        source + (z + from_offset.z) * kSlice + (y + from_offset.y) * kPitch + 8,
                        range.x);
    EXPECT(std::memcmp(expected.data(), back, kBytes) == 0);
}

// Always the runtime's own kernels.
void case_fill(const Machine& m) {
    constexpr std::size_t kWords = 50'000;
    std::uint8_t* memory = allocate(m, m.gpu_pools[0], kWords * 4);
    std::uint8_t* back = allocate(m, m.host_pool, kWords * 4);
    CHECK(hsa_amd_memory_fill(memory, 0xdeadbeef, kWords));
    CHECK(hsa_memory_copy(back, memory, kWords * 4));
    std::vector<std::uint32_t> words(kWords);
    std::memcpy(words.data(), back, kWords * 4);
    EXPECT(std::count(words.begin(), words.end(), 0xdeadbeef) == kWords);
    CHECK(hsa_memory_copy(back + 1, memory + 2, 1001)); // misaligned
    EXPECT(back[1] == 0xad && back[0] == 0xef);
}

void case_lock(const Machine& m) {
    constexpr std::size_t kBytes = 70'000;
    std::vector<std::uint8_t> host(kBytes, 0x5a), result(kBytes);
    void *locked = nullptr, *locked_result = nullptr;
    hsa_agent_t gpu = m.gpus[0];
    CHECK(hsa_amd_memory_lock(host.data(), kBytes, &gpu, 1, &locked));
    CHECK(hsa_amd_memory_lock(result.data(), kBytes, &gpu, 1, &locked_result));
    std::uint8_t* device = allocate(m, m.gpu_pools[0], kBytes);
    const hsa_signal_t up = make_signal(1), down = make_signal(1);
    copy(m, device, locked, kBytes, {}, up, true, false);
    copy(m, locked_result, device, kBytes, {up}, down, false, true);
    wait_zero(down);
    EXPECT(host == result);
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    CHECK(hsa_amd_pointer_info(host.data(), &info, nullptr, nullptr, nullptr));
    EXPECT(info.type == HSA_EXT_POINTER_TYPE_LOCKED);
    EXPECT(info.hostBaseAddress == host.data());
    CHECK(hsa_amd_memory_unlock(host.data()));
    CHECK(hsa_amd_memory_unlock(result.data()));
}

void case_pointers(const Machine& m) {
    std::uint8_t* device = allocate(m, m.gpu_pools[0], 1 << 20);
    hsa_amd_pointer_info_t info{};
    info.size = sizeof info;
    CHECK(hsa_amd_pointer_info(device + 4096, &info, nullptr, nullptr, nullptr));
    EXPECT(info.type == HSA_EXT_POINTER_TYPE_HSA);
    EXPECT(info.agentBaseAddress == device && info.sizeInBytes == 1 << 20);
    EXPECT(info.agentOwner.handle == m.gpus[0].handle);
    int on_the_stack = 0;
    CHECK(hsa_amd_pointer_info(&on_the_stack, &info, nullptr, nullptr, nullptr));
    EXPECT(info.type == HSA_EXT_POINTER_TYPE_UNKNOWN);
    CHECK(hsa_amd_memory_pool_free(device));
}

// The pool's whole size cannot be had twice; what is freed can be had again.
void case_memory_limit(const Machine& m) {
    std::size_t size = 0;
    CHECK(hsa_amd_memory_pool_get_info(m.gpu_pools[0], HSA_AMD_MEMORY_POOL_INFO_SIZE, &size));
    void* first = nullptr;
    void* second = nullptr;
    for (int round = 0; round < 3; ++round) {
        CHECK(hsa_amd_memory_pool_allocate(m.gpu_pools[0], size / 4 * 3, 0, &first));
        EXPECT(hsa_amd_memory_pool_allocate(m.gpu_pools[0], size / 2, 0, &second) ==
               HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        CHECK(hsa_amd_memory_pool_free(first));
    }
}

std::promise<std::uint64_t> g_fault_address;

void case_fault(const Machine& m) {
    CHECK(hsa_amd_register_system_event_handler(
        [](const hsa_amd_event_t* event, void*) {
            if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT &&
                (event->memory_fault.fault_reason_mask & HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT))
                g_fault_address.set_value(event->memory_fault.virtual_address);
            return HSA_STATUS_SUCCESS;
        },
        nullptr));
    constexpr std::uint64_t kNowhere = 0x6660000;
    std::uint8_t* target = allocate(m, m.host_pool, 65536);
    copy(m, target, reinterpret_cast<void*>(kNowhere), 65536, {}, make_signal(1), false, true);
    std::future<std::uint64_t> address = g_fault_address.get_future();
    EXPECT(address.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    EXPECT(address.get() / 4096 == kNowhere / 4096);
}

void case_async_handler(const Machine& m) {
    static std::atomic<int> calls{0};
    static std::promise<void> all_called;
    hsa_queue_t* queue = make_queue(m.gpus[0]);
    for (int i = 0; i < 50; ++i) {
        const hsa_signal_t done = make_signal(1);
        CHECK(hsa_amd_signal_async_handler(
            done, HSA_SIGNAL_CONDITION_LT, 1,
            [](hsa_signal_value_t, void*) {
                if (++calls == 50) all_called.set_value();
                return false;
            },
            nullptr));
        submit_barrier(queue, {}, done);
    }
    EXPECT(all_called.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    CHECK(hsa_queue_destroy(queue));
}

void work_a_little(const Machine& m) {
    case_barriers(m);
    case_copies(m);
}

int wait_for_child(pid_t child) {
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Children made before and after the runtime came up; an inherited device is refused in the child.
void case_fork() {
    const pid_t before = fork();
    if (before == 0) {
        work_a_little(open_machine());
        std::exit(0);
    }
    const Machine m = open_machine();
    work_a_little(m);
    const int device = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    EXPECT(device >= 0);
    const unsigned long get_version = _IOR('K', 1, std::uint64_t);
    std::uint64_t version = 0;
    EXPECT(ioctl(device, get_version, &version) == 0);
    hsa_queue_t* queue = make_queue(m.gpus[0]);
    const pid_t after = fork();
    if (after == 0) {
        if (ioctl(device, get_version, &version) != -1 || errno != EBADF) std::_Exit(3);
        const int own = open("/dev/kfd", O_RDWR | O_CLOEXEC);
        if (own < 0 || ioctl(own, get_version, &version) != 0) std::_Exit(4);
        if (try_queue(m.gpus[0], &queue) == HSA_STATUS_SUCCESS) std::_Exit(5);
        std::_Exit(0);
    }
    EXPECT(wait_for_child(after) == 0);
    EXPECT(wait_for_child(before) == 0);
    const hsa_signal_t done = make_signal(1);
    submit_barrier(queue, {}, done);
    wait_zero(done);
    work_a_little(m);
    CHECK(hsa_shut_down());
}

void case_reopen() {
    for (int round = 0; round < 3; ++round) {
        work_a_little(open_machine());
        CHECK(hsa_shut_down());
    }
}

void case_threads(const Machine& m) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&m, t] {
            const hsa_agent_t gpu = m.gpus[static_cast<std::size_t>(t) % m.gpus.size()];
            for (int round = 0; round < 3; ++round) {
                std::vector<hsa_queue_t*> queues;
                hsa_signal_t last{};
                for (int i = 0; i < 8; ++i) {
                    queues.push_back(make_queue(gpu));
                    const hsa_signal_t done = make_signal(1);
                    submit_barrier(queues.back(),
                                   i == 0 ? std::vector<hsa_signal_t>{} : std::vector{last}, done);
                    last = done;
                }
                wait_zero(last);
                for (hsa_queue_t* queue : queues)
                    CHECK(hsa_queue_destroy(queue));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

// One queue on a thread of LIBRARY, then one through the same library on the program's own thread.
void case_owner(const char* library_path) {
    const Machine m = open_machine();
    void* library = dlopen(library_path, RTLD_NOW);
    EXPECT(library != nullptr);
    using Make = hsa_queue_t*(hsa_agent_t, bool);
    auto* make = reinterpret_cast<Make*>(dlsym(library, "owner_queue"));
    EXPECT(make != nullptr);
    hsa_queue_t* theirs = make(m.gpus[0], true);
    hsa_queue_t* ours = make(m.gpus[0], false);
    EXPECT(theirs != nullptr && ours != nullptr);
    CHECK(hsa_queue_destroy(theirs));
    CHECK(hsa_queue_destroy(ours));
    CHECK(hsa_shut_down());
}

struct Case {
    const char* name;
    void (*run)(const Machine&);
};
constexpr Case kCases[] = {
    {"queues", case_queues},
    {"limit", case_limit},
    {"barriers", case_barriers},
    {"copies", case_copies},
    {"rectangle", case_rectangle},
    {"fill", case_fill},
    {"lock", case_lock},
    {"pointers", case_pointers},
    {"memory_limit", case_memory_limit},
    {"fault", case_fault},
    {"async_handler", case_async_handler},
    {"threads", case_threads},
};

} // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "fork") {
        case_fork();
        return 0;
    }
    if (name == "owner" && argc > 2) {
        case_owner(argv[2]);
        return 0;
    }
    if (name == "reopen") {
        case_reopen();
        return 0;
    }
    for (const Case& c : kCases)
        if (name == c.name) {
            c.run(open_machine());
            CHECK(hsa_shut_down());
            return 0;
        }
    std::fprintf(stderr, "usage: hsa_driver CASE [LIBRARY]\n");
    return 2;
}
