/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The part of dispatch_client that is plain HSA. Any error ends the program with 1. */

/** hsa_init, and two queues. */
void launcher_open(void);
/** The code object with the kernels "fill" and "tick". */
void launcher_load(const char* code);
/** Launches it on queue 0 or 1 and waits until it has ended. A queue is used by one thread at a time. */
void launcher_launch(int queue, const char* kernel);
/** Checks what the kernels wrote; 1 = as expected. Then gives all back and shuts the runtime down. */
int launcher_close(void);

#ifdef __cplusplus
}
#endif
