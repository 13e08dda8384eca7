/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
/* What a user of the installed library writes first: compiles as C, links, calls, reads an error. */
#include <stdio.h>
#include <string.h>
#include <wavetap/wavetap.h>

int main(void) {
    wavetap_parameters parameters;
    wavetap_session* session = NULL;
    wavetap_parameters_init(&parameters, sizeof parameters);
    const wavetap_status status = wavetap_session_open_hsa(NULL, 1.0, &session);
    if (status != WAVETAP_STATUS_INVALID_ARGUMENT || session != NULL) {
        printf("opening without a table gave status %d\n", (int)status);
        return 1;
    }
    printf("wavetap %d.%d: %s\n", WAVETAP_VERSION_MAJOR, WAVETAP_VERSION_MINOR, wavetap_last_error());
    return strlen(wavetap_last_error()) > 0 ? 0 : 1;
}
