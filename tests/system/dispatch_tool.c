/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
/* A tool of a client: gives a session of the program what ROCr hands to OnLoad. */
#include <wavetap/wavetap.h>

#include <stdbool.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED wavetap_session* dispatch_tool_session;
EXPORTED wavetap_intercept_options dispatch_tool_options;

EXPORTED bool OnLoad(void* table, uint64_t version, uint64_t failed, const char* const* names) {
    (void)version;
    (void)failed;
    (void)names;
    if (wavetap_session_intercept_hsa(dispatch_tool_session, table, &dispatch_tool_options) ==
            WAVETAP_STATUS_SUCCESS &&
        wavetap_session_intercept_hsa(dispatch_tool_session, table, NULL) == WAVETAP_STATUS_WRONG_STATE)
        return true;
    fprintf(stderr, "dispatch_tool: %s\n", wavetap_last_error());
    return false;
}

EXPORTED void OnUnload(void) {}
