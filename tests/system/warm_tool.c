// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// A tool of a client: opens a wavetap session and a completion gate in OnLoad. In C, so that the header is
// tried as C, too.
#include <wavetap/wavetap.h>

#include <stdbool.h>
#include <stdio.h>

static wavetap_session* session;
static wavetap_gate* gate;
static void* api_table;

__attribute__((visibility("default"))) wavetap_session* warm_session(void) {
    return session;
}
__attribute__((visibility("default"))) wavetap_gate* warm_gate(void) {
    return gate;
}
/** For sessions that the program opens itself. */
__attribute__((visibility("default"))) void* warm_table(void) {
    return api_table;
}

__attribute__((visibility("default"))) bool OnLoad(void* table, uint64_t version, uint64_t failed,
                                                   const char* const* names) {
    (void)version;
    (void)failed;
    (void)names;
    api_table = table;
    if (wavetap_session_open_hsa(table, 30.0, &session) == WAVETAP_STATUS_SUCCESS &&
        wavetap_gate_open_hsa(table, 30.0, &gate) == WAVETAP_STATUS_SUCCESS)
        return true;
    fprintf(stderr, "warm_tool: %s\n", wavetap_last_error());
    return false;
}

__attribute__((visibility("default"))) void OnUnload(void) {
    if ((gate != NULL && wavetap_gate_close(gate) != WAVETAP_STATUS_SUCCESS) ||
        (session != NULL && wavetap_session_close(session) != WAVETAP_STATUS_SUCCESS))
        fprintf(stderr, "warm_tool: %s\n", wavetap_last_error());
    session = NULL;
    gate = NULL;
}
