// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A library of the same name as wavetap's tool, which makes a queue on a thread of its own: the
// driver must count it as wavetap's. Loaded by hsa_driver.
#include <hsa/hsa.h>
#include <pthread.h>

namespace {

struct Work {
    hsa_agent_t agent;
    hsa_queue_t* queue;
    hsa_status_t status;
};

void* make_queue(void* argument) {
    auto* work = static_cast<Work*>(argument);
    work->status = hsa_queue_create(work->agent, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0,
                                    &work->queue);
    return nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) hsa_queue_t* owner_queue(hsa_agent_t agent,
                                                                           bool own_thread) {
    Work work{agent, nullptr, HSA_STATUS_ERROR};
    if (own_thread) {
        pthread_t thread{};
        if (pthread_create(&thread, nullptr, make_queue, &work) != 0) return nullptr;
        pthread_join(thread, nullptr);
    } else {
        make_queue(&work);
    }
    return work.status == HSA_STATUS_SUCCESS ? work.queue : nullptr;
}
