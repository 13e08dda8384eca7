/* SPDX-FileCopyrightText: 2026 The wavetap authors
 * SPDX-License-Identifier: MIT
 *
 * Preloaded into tests that are not marked THREADS (cmake/wavetap.cmake): ThreadSanitizer does not run those, so none
 * of them may start a thread.
 */
#include <pthread.h>
#include <unistd.h>

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
    static const char text[] = "this test starts a thread: mark it THREADS in its CMakeLists.txt, "
                               "so that ThreadSanitizer runs it\n";
    (void)thread, (void)attributes, (void)start, (void)argument;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(4);
    _exit(3);
}
