// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// Which locks of HIP and ROCr are held where wavetap decides about a dispatch: inside the interceptor of a
// launch another thread makes a call, and either it returns before the interceptor does, or it waits for
// that. What is expected was measured with HIP and ROCr 5.2.3 (docs/threads.md).
// usage: locks LOCK_TOOL.so   (HSA_TOOLS_LIB names the same file)
#include <hip/hip_runtime.h>

#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            std::fprintf(stderr, "%s failed\n", #call);                                            \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

namespace {

enum Expected { kReturns, kWaits };
constexpr auto kReturnLimit = std::chrono::seconds(30); ///< far longer than any of these calls takes
constexpr auto kWaitLimit = std::chrono::seconds(1);

__global__ void count_up(unsigned* out) {
    out[threadIdx.x] += 1;
}

std::mutex g_mutex;
std::condition_variable g_changed;
std::function<void()> g_probe;
std::thread g_thread;
bool g_called = false, g_returned = false, g_waited = false;
Expected g_expected = kReturns;

/// In the place of a dispatch callback.
void callback() {
    std::unique_lock lock(g_mutex);
    g_called = true;
    g_thread = std::thread([] {
        g_probe();
        const std::lock_guard done(g_mutex);
        g_returned = true;
        g_changed.notify_all();
    });
    g_waited = !g_changed.wait_for(
        lock, g_expected == kReturns ? kReturnLimit : kWaitLimit, [] { return g_returned; });
}

struct Prober {
    void (*arm)(void (*)());
    hipStream_t stream;
    unsigned* out;
    int failed = 0;

    void probe(Expected expected, const char* name, std::function<void()> call) {
        g_expected = expected;
        g_probe = std::move(call);
        g_called = g_returned = g_waited = false;
        CHECK(hipStreamSynchronize(stream));
        arm(callback);
        count_up<<<1, 64, 0, stream>>>(out);
        CHECK(hipStreamSynchronize(stream));
        if (!g_called) {
            std::printf("locks: %s: no callback\n", name);
            ++failed;
            return;
        }
        g_thread.join();
        const bool as_expected = g_waited == (expected == kWaits);
        std::printf("locks: %s: %s%s\n", name, g_waited ? "waits" : "returns",
                    as_expected ? "" : ", which is not expected");
        if (!as_expected) ++failed;
        (void)std::fflush(stdout);
    }
};

hsa_status_t find_gpu(hsa_agent_t agent, void* data) {
    hsa_device_type_t type{};
    (void)hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type == HSA_DEVICE_TYPE_GPU) *static_cast<hsa_agent_t*>(data) = agent;
    return HSA_STATUS_SUCCESS;
}
hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void* data) {
    *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
    return HSA_STATUS_INFO_BREAK;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    hipStream_t stream, other;
    unsigned *out, *other_out;
    CHECK(hipMalloc(reinterpret_cast<void**>(&out), 4096));
    CHECK(hipMalloc(reinterpret_cast<void**>(&other_out), 4096));
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamCreate(&other));
    count_up<<<1, 64, 0, stream>>>(out);
    count_up<<<1, 64, 0, other>>>(other_out);
    CHECK(hipDeviceSynchronize());
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return 1;
    Prober prober{reinterpret_cast<void (*)(void (*)())>(dlsym(library, "lock_tool_arm")), stream,
                  out};
    hsa_agent_t gpu{};
    hsa_amd_memory_pool_t pool{};
    (void)hsa_iterate_agents(find_gpu, &gpu);
    (void)hsa_amd_agent_iterate_memory_pools(gpu, find_pool, &pool);

    prober.probe(kReturns, "hsa_signal_create", [] {
        hsa_signal_t signal{};
        if (hsa_signal_create(1, 0, nullptr, &signal) == HSA_STATUS_SUCCESS)
            (void)hsa_signal_destroy(signal);
    });
    prober.probe(kReturns, "hsa_amd_memory_pool_allocate", [pool] {
        void* memory = nullptr;
        if (hsa_amd_memory_pool_allocate(pool, 1 << 20, 0, &memory) == HSA_STATUS_SUCCESS)
            (void)hsa_amd_memory_pool_free(memory);
    });
    prober.probe(kReturns, "hsa_queue_create and destroy", [gpu] {
        hsa_queue_t* queue = nullptr;
        if (hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue) == HSA_STATUS_SUCCESS)
            (void)hsa_queue_destroy(queue);
    });
    prober.probe(kReturns, "hsa_iterate_agents", [] {
        hsa_agent_t agent{};
        (void)hsa_iterate_agents(find_gpu, &agent);
    });
    prober.probe(kReturns, "packet in another queue of ROCr", [gpu] {
        hsa_queue_t* queue = nullptr;
        if (hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue) != HSA_STATUS_SUCCESS)
            return;
        hsa_signal_t done{};
        (void)hsa_signal_create(1, 0, nullptr, &done);
        auto* packet = static_cast<hsa_barrier_and_packet_t*>(queue->base_address);
        *packet = {};
        packet->completion_signal = done;
        packet->header = HSA_PACKET_TYPE_BARRIER_AND;
        hsa_signal_store_screlease(
            queue->doorbell_signal,
            static_cast<hsa_signal_value_t>(hsa_queue_add_write_index_relaxed(queue, 1)));
        (void)hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                        HSA_WAIT_STATE_BLOCKED);
        (void)hsa_queue_destroy(queue);
        (void)hsa_signal_destroy(done);
    });
    void *given = nullptr, *kept = nullptr;
    CHECK(hipMalloc(&given, 4096));
    prober.probe(kReturns, "hipMalloc", [&kept] { (void)hipMalloc(&kept, 4096); });
    prober.probe(kWaits, "hipFree", [given] { (void)hipFree(given); });
    CHECK(hipFree(kept));
    prober.probe(kWaits, "hipMemcpy to the host", [other_out] {
        unsigned value = 0;
        (void)hipMemcpy(&value, other_out, sizeof value, hipMemcpyDeviceToHost);
    });
    prober.probe(kReturns, "hipEventCreate and destroy", [] {
        hipEvent_t event;
        if (hipEventCreate(&event) == hipSuccess) (void)hipEventDestroy(event);
    });
    prober.probe(kReturns, "hipStreamQuery of another stream", [other] { (void)hipStreamQuery(other); });
    prober.probe(kReturns, "hipStreamSynchronize of another stream",
                 [other] { (void)hipStreamSynchronize(other); });
    prober.probe(kWaits, "launch in another stream",
                 [other, other_out] { count_up<<<1, 64, 0, other>>>(other_out); });
    hipStream_t apart;
    CHECK(hipStreamCreateWithFlags(&apart, hipStreamNonBlocking));
    count_up<<<1, 64, 0, apart>>>(other_out);
    CHECK(hipDeviceSynchronize());
    prober.probe(kWaits, "launch in a non-blocking stream",
                 [apart, other_out] { count_up<<<1, 64, 0, apart>>>(other_out); });
    prober.probe(kReturns, "hipStreamCreate and destroy", [] {
        hipStream_t made;
        if (hipStreamCreate(&made) == hipSuccess) (void)hipStreamDestroy(made);
    });
    prober.probe(kWaits, "hipStreamQuery of the same stream", [stream] { (void)hipStreamQuery(stream); });
    prober.probe(kWaits, "launch in the same stream",
                 [stream, out] { count_up<<<1, 64, 0, stream>>>(out); });
    prober.probe(kWaits, "hipDeviceSynchronize", [] { (void)hipDeviceSynchronize(); });
    CHECK(hipDeviceSynchronize());
    std::printf("locks: %d failed\n", prober.failed);
    return prober.failed == 0 ? 0 : 1;
}
