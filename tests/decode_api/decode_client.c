/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
/* A client of wavetap/decode.h in C11. Without arguments it decodes a hand-made trace and checks what
 * comes; `decode_client BLOB ELF BASE` prints waves and instructions of a real one, `decode_client
 * layers BLOB` everything else, the blob fed in chunks. */
#include <wavetap/decode.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gfx11: two register writes, a dispatch at 700, one wave of 770 to 1500 with five instructions. */
static const unsigned char kTrace[96] = {
    0x91, 0x01, 0x90, 0x68, 0x00, 0x00, 0x00, 0x00, 0x01, 0x80, 0x25, 0x00, 0x00, 0x00,
    0x09, 0x82, 0x0c, 0x00, 0x96, 0x00, 0x01, 0x00, 0x19, 0x82, 0x0d, 0x00, 0x20, 0x00,
    0x00, 0x00, 0xd1, 0x31, 0x00, 0x71, 0x00, 0x59, 0x04, 0x08, 0x00, 0x00, 0x00, 0x51,
    0x23, 0x00, 0x0c, 0x00, 0x80, 0xfe, 0x51, 0xd7, 0x00, 0x02, 0x20, 0x00, 0x1d, 0x00,
    0x23, 0x00, 0xb8, 0x02, 0x60, 0x02, 0x51, 0x8c, 0x00, 0x15, 0x00};

typedef struct {
    unsigned waves, dispatches, events, samples, diagnostics;
    uint64_t instructions, dispatch_time, entry, wave_start, wave_end;
    int print;
} seen_t;

static void on_wave(const wavetap_wave* wave, void* user) {
    seen_t* seen = user;
    ++seen->waves;
    seen->instructions += wave->instruction_count;
    seen->entry = wave->entry.absolute;
    seen->wave_start = wave->start;
    seen->wave_end = wave->end;
    if (!seen->print) return;
    printf("wave %" PRIu64 " %" PRIu64 " %u %u %u %u %" PRIu64 " %" PRIu64 " %u\n", wave->start,
           wave->end, wave->cu, wave->simd, wave->slot, wave->flags, wave->with_pc,
           wave->without_pc, wave->lines_without_token);
    for (size_t i = 0; i < wave->instruction_count; ++i) {
        const wavetap_instruction* each = wave->instructions + i;
        printf("inst %" PRIu64 " %u %u %s %" PRIu64 " %" PRIu64 "\n", each->time, each->duration,
               each->stall, wavetap_category_name((wavetap_category)each->category),
               each->pc.elf_address, each->pc.code_object);
    }
}
static void on_dispatch(const wavetap_dispatch* dispatch, void* user) {
    ++((seen_t*)user)->dispatches;
    ((seen_t*)user)->dispatch_time = dispatch->time;
}
static void on_event(const wavetap_event* event, void* user) {
    if (event->kind == NULL || !*event->kind) exit(3);
    ++((seen_t*)user)->events;
}
static void on_realtime(uint64_t time, uint64_t counter, void* user) {
    (void)time, (void)counter;
    ++((seen_t*)user)->samples;
}
static void on_diagnostic(const wavetap_diagnostic* diagnostic, void* user) {
    if (diagnostic->count == 0 || !*diagnostic->advice || !*diagnostic->sentence) exit(3);
    ++((seen_t*)user)->diagnostics;
}
static const wavetap_decode_handlers kAll = {.size = sizeof kAll,
                                             .wave = on_wave,
                                             .dispatch = on_dispatch,
                                             .event = on_event,
                                             .realtime = on_realtime,
                                             .diagnostic = on_diagnostic};

static void print_token(const wavetap_token* token, void* user) {
    ++*(uint64_t*)user;
    printf("token %" PRIu64 " %u %s %u", token->offset_bits, token->bits, token->name,
           token->delta);
    for (size_t i = 0; i < token->field_count; ++i)
        printf(" %s %" PRIu64, token->fields[i].name, token->fields[i].value);
    printf(token->bits < 64 && token->low >> token->bits ? " beyond\n" : "\n");
}
static void print_occupancy(const wavetap_occupancy* each, void* user) {
    (void)user;
    printf("occupancy %" PRIu64 " %u %u %u %u %" PRIu64 "\n", each->time,
           each->flags & WAVETAP_OCCUPANCY_START, each->sa << 7 | each->cu, each->simd, each->slot,
           each->entry.absolute);
}
static void print_register(const wavetap_register_write* write, void* user) {
    (void)user;
    printf("register %" PRIu64 " %u %u\n", write->time, write->reg, write->data);
}
static void print_code_object(const wavetap_code_marker* object, void* user) {
    (void)user;
    if (object->flags & WAVETAP_CODE_MARKER_UNLOAD)
        printf("code-object-unload %" PRIu64 " %" PRIu64 "\n", object->time, object->id);
    else
        printf("code-object-load %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n",
               object->time, object->id, object->address, object->bytes,
               (object->flags & WAVETAP_CODE_MARKER_FROM_START) != 0);
}
static void print_shader_data(const wavetap_shader_data* data, void* user) {
    (void)user;
    printf("shader-data %" PRIu64 " %u %u %u %u %u\n", data->time, data->value,
           data->sa << 7 | data->cu, data->simd, data->slot, data->flags);
}
static void print_counters(const wavetap_counters* sample, void* user) {
    (void)user;
    printf("counters %" PRIu64 " %u %u %u %u %u %u\n", sample->time, sample->counters[0],
           sample->counters[1], sample->counters[2], sample->counters[3], sample->cu, sample->bank);
}
static void print_other_simd(const wavetap_other_simd* other, void* user) {
    (void)user;
    printf("other-simd %" PRIu64 " %s %u\n", other->time,
           wavetap_category_name((wavetap_category)other->category), other->cycles);
}
static void print_totals(const wavetap_totals* totals, void* user) {
    printf("totals %d %" PRIu64 " %" PRIu64 " %u\n", totals->tokens == *(uint64_t*)user,
           totals->last_time, totals->instructions, totals->counter_frequency_khz);
}
static const wavetap_decode_handlers kLayers = {.size = sizeof kLayers,
                                                .token = print_token,
                                                .occupancy = print_occupancy,
                                                .register_write = print_register,
                                                .code_object = print_code_object,
                                                .shader_data = print_shader_data,
                                                .counters = print_counters,
                                                .other_simd = print_other_simd,
                                                .totals = print_totals};
static void count_token(const wavetap_token* token, void* user) {
    (void)token;
    ++*(uint64_t*)user;
}

static void expect(int right, const char* what) {
    if (right) return;
    fprintf(stderr, "decode_client: %s (%s)\n", what, wavetap_decode_last_error());
    exit(1);
}

static void check_seen(const seen_t* seen, const char* what) {
    expect(seen->waves == 1 && seen->instructions == 5 && seen->dispatches == 1, what);
    expect(seen->dispatch_time == 700 && seen->entry == 0x200001009600, what);
    expect(seen->wave_start == 770 && seen->wave_end == 1500, what);
}

static void self_test(void) {
    wavetap_decoder* decoder = NULL;
    seen_t seen = {0};
    expect(wavetap_decode_version() == (WAVETAP_VERSION_MAJOR << 16 | WAVETAP_VERSION_MINOR),
           "version");
    expect(strcmp(wavetap_status_name(WAVETAP_STATUS_CORRUPT), "corrupt") == 0 &&
               strcmp(wavetap_status_name((wavetap_status)99), "unknown") == 0,
           "words of a status");
    expect(wavetap_decoder_create("gfx9999", &decoder) == WAVETAP_STATUS_UNSUPPORTED &&
               decoder == NULL && *wavetap_decode_last_error(),
           "a chip that is not");
    expect(wavetap_decoder_create(NULL, NULL) == WAVETAP_STATUS_INVALID_ARGUMENT, "null");
    expect(wavetap_decoder_create("gfx1100", &decoder) == WAVETAP_STATUS_SUCCESS, "create");
    expect(wavetap_decoder_decode(decoder, kTrace, sizeof kTrace, &kAll, &seen) ==
               WAVETAP_STATUS_SUCCESS,
           "decode");
    check_seen(&seen, "records of the hand-made trace");
    expect(wavetap_decoder_decode(decoder, "not a trace at all", 18, &kAll, &seen) ==
               WAVETAP_STATUS_CORRUPT,
           "what is no trace");
    expect(wavetap_decoder_decode(decoder, kTrace, 4, &kAll, &seen) == WAVETAP_STATUS_CORRUPT,
           "four bytes");
    expect(wavetap_decoder_load_code(decoder, 1, 0, kTrace, sizeof kTrace) != 0, "code is no ELF");
    expect(wavetap_decoder_load_code(decoder, 0, 0, kTrace, sizeof kTrace) ==
               WAVETAP_STATUS_INVALID_ARGUMENT,
           "code without id");
    expect(wavetap_decoder_unload_code(decoder, 1) == WAVETAP_STATUS_NOT_FOUND, "unload");
    char text[8];
    size_t room = sizeof text;
    expect(wavetap_decoder_text(decoder, 1, 0, text, &room) == WAVETAP_STATUS_NOT_FOUND, "text");

    wavetap_decode_handlers small = {0};
    expect(wavetap_decoder_decode(decoder, kTrace, sizeof kTrace, &small, &seen) ==
               WAVETAP_STATUS_INVALID_ARGUMENT,
           "handlers without size");
    small.size = sizeof small + 8; /* of a newer header: who is called there is not known */
    expect(wavetap_decoder_decode(decoder, kTrace, sizeof kTrace, &small, &seen) ==
               WAVETAP_STATUS_INVALID_ARGUMENT,
           "handlers of a newer header");
    small.size = offsetof(wavetap_decode_handlers, dispatch); /* of an older header */
    small.wave = on_wave;
    small.dispatch = on_dispatch; /* behind its end: not to be looked at */
    small.token = count_token;
    memset(&seen, 0, sizeof seen);
    expect(wavetap_decoder_decode(decoder, kTrace, sizeof kTrace, &small, &seen) ==
               WAVETAP_STATUS_SUCCESS,
           "older handlers");
    expect(seen.waves == 1 && seen.dispatches == 0, "handlers beyond the size were called");

    const wavetap_decode_handlers tokens_only = {.size = sizeof tokens_only, .token = count_token};
    uint64_t tokens = 0;
    expect(wavetap_decoder_decode(decoder, kTrace, sizeof kTrace, &tokens_only, &tokens) ==
                   WAVETAP_STATUS_SUCCESS &&
               tokens > 20,
           "tokens alone");
    expect(wavetap_decoder_decode(decoder, "not a trace at all", 18, &tokens_only, &tokens) ==
               WAVETAP_STATUS_CORRUPT,
           "tokens of what is no trace");
    expect(wavetap_decoder_decode(decoder, kTrace, 4, &tokens_only, &tokens) ==
               WAVETAP_STATUS_CORRUPT,
           "tokens of four bytes");

    size_t size = 0;
    expect(wavetap_decode_cut_dispatch(kTrace, sizeof kTrace, 0, NULL, &size) ==
               WAVETAP_STATUS_LIMIT,
           "size of a piece");
    unsigned char* piece = malloc(size);
    expect(piece != NULL, "memory");
    expect(wavetap_decode_cut_dispatch(kTrace, sizeof kTrace, 0, piece, &size) ==
               WAVETAP_STATUS_SUCCESS,
           "piece");
    memset(&seen, 0, sizeof seen);
    expect(wavetap_decoder_decode(decoder, piece, size, &kAll, &seen) == WAVETAP_STATUS_SUCCESS,
           "decode of a piece");
    check_seen(&seen, "records of a piece");
    expect(wavetap_decode_cut_dispatch(kTrace, sizeof kTrace, 1, piece, &size) ==
               WAVETAP_STATUS_NOT_FOUND,
           "a dispatch that is not");
    expect(wavetap_decode_cut_window(kTrace, sizeof kTrace, 9000, 9999, piece, &size) ==
               WAVETAP_STATUS_NOT_FOUND,
           "a window behind the end");
    free(piece);

    wavetap_stream* stream = NULL;
    for (size_t step = 1; step < 40; step += 13) {
        memset(&seen, 0, sizeof seen);
        expect(wavetap_stream_create(decoder, &kAll, &seen, &stream) == WAVETAP_STATUS_SUCCESS,
               "stream");
        for (size_t at = 0; at < sizeof kTrace; at += step) {
            const size_t left = sizeof kTrace - at;
            expect(wavetap_stream_feed(stream, kTrace + at, left < step ? left : step) ==
                       WAVETAP_STATUS_SUCCESS,
                   "stream feed");
        }
        expect(wavetap_stream_finish(stream) == WAVETAP_STATUS_SUCCESS, "stream finish");
        check_seen(&seen, "records of a stream");
        expect(wavetap_stream_finish(stream) == WAVETAP_STATUS_WRONG_STATE, "finish twice");
        expect(wavetap_stream_feed(stream, kTrace, 8) == WAVETAP_STATUS_WRONG_STATE, "feed late");
        expect(wavetap_stream_feed_chunk(stream, kTrace, 8, 0, 0) == WAVETAP_STATUS_WRONG_STATE,
               "feed a chunk late");
        wavetap_stream_destroy(stream);
    }
    wavetap_stream_destroy(NULL);
    for (int missing = 0; missing < 2; ++missing) { /* an instruction lies across the chunks */
        memset(&seen, 0, sizeof seen);
        expect(wavetap_stream_create(decoder, &kAll, &seen, &stream) == WAVETAP_STATUS_SUCCESS &&
                   wavetap_stream_feed_chunk(stream, kTrace, 60, 0, 0) == WAVETAP_STATUS_SUCCESS &&
                   wavetap_stream_feed_chunk(stream, kTrace + 60, sizeof kTrace - 60, 2, missing) ==
                       WAVETAP_STATUS_SUCCESS &&
                   wavetap_stream_finish(stream) == WAVETAP_STATUS_SUCCESS,
               "chunks");
        wavetap_stream_destroy(stream);
        expect(seen.instructions == (missing ? 4 : 5), "instructions of two chunks");
    }

    wavetap_scanner* scanner = NULL;
    expect(wavetap_scanner_create(&scanner) == WAVETAP_STATUS_SUCCESS, "scanner");
    memset(&seen, 0, sizeof seen);
    expect(wavetap_scanner_feed(scanner, "no trace here", 13, &kAll, &seen) ==
               WAVETAP_STATUS_CORRUPT,
           "scan of what is no trace");
    for (size_t at = 0; at < sizeof kTrace; at += 10) {
        const size_t left = sizeof kTrace - at;
        expect(wavetap_scanner_feed(scanner, kTrace + at, left < 10 ? left : 10, &kAll, &seen) ==
                   WAVETAP_STATUS_SUCCESS,
               "feed");
    }
    expect(seen.dispatches == 1 && seen.dispatch_time == 700 && seen.waves == 0, "scan");
    wavetap_scanner_destroy(scanner);
    wavetap_scanner_destroy(NULL);
    wavetap_decoder_destroy(decoder);
    wavetap_decoder_destroy(NULL);
    puts("decode ok");
}

/* A chunk after the other; that each begins with the end of a token changes nothing as long as all come. */
static void layers(wavetap_decoder* decoder, const unsigned char* blob, size_t bytes) {
    enum { kChunk = 102 };
    uint64_t tokens = 0;
    wavetap_stream* stream = NULL;
    expect(wavetap_stream_create(decoder, &kLayers, &tokens, &stream) == WAVETAP_STATUS_SUCCESS,
           "stream");
    expect(wavetap_stream_feed_chunk(stream, blob, 8, 9, 0) == WAVETAP_STATUS_INVALID_ARGUMENT,
           "an offset beyond the chunk");
    for (size_t at = 0; at < bytes; at += kChunk) {
        const size_t size = bytes - at < kChunk ? bytes - at : kChunk;
        expect(wavetap_stream_feed_chunk(stream, blob + at, size, at != 0 && size > 2 ? 2 : 0, 0) ==
                   WAVETAP_STATUS_SUCCESS,
               "chunk with a read offset");
    }
    expect(wavetap_stream_finish(stream) == WAVETAP_STATUS_SUCCESS, "finish");
    wavetap_stream_destroy(stream);
}

static unsigned char* read_file(const char* path, size_t* bytes) {
    FILE* file = fopen(path, "rb");
    expect(file != NULL, path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char* data = malloc(*bytes);
    expect(data != NULL && fread(data, 1, *bytes, file) == *bytes, path);
    fclose(file);
    return data;
}

int main(int argc, char** argv) {
    size_t bytes, elf_bytes;
    if (argc == 3) {
        unsigned char* file = read_file(argv[2], &bytes);
        wavetap_decoder* alone = NULL;
        expect(wavetap_decoder_create(NULL, &alone) == WAVETAP_STATUS_SUCCESS, "create");
        layers(alone, file, bytes);
        wavetap_decoder_destroy(alone);
        free(file);
        return 0;
    }
    if (argc < 4) {
        self_test();
        return 0;
    }
    unsigned char* blob = read_file(argv[1], &bytes);
    unsigned char* elf = read_file(argv[2], &elf_bytes);
    wavetap_decoder* decoder = NULL;
    seen_t seen = {0};
    seen.print = 1;
    expect(wavetap_decoder_create(NULL, &decoder) == WAVETAP_STATUS_SUCCESS, "create");
    expect(wavetap_decoder_load_code(decoder, 5, strtoull(argv[3], NULL, 16), elf, elf_bytes) ==
               WAVETAP_STATUS_SUCCESS,
           "load");
    expect(wavetap_decoder_decode(decoder, blob, bytes, &kAll, &seen) == WAVETAP_STATUS_SUCCESS,
           "decode");
    printf("sums %u %" PRIu64 " %u %u %u\n", seen.waves, seen.instructions, seen.dispatches,
           seen.events, seen.samples);
    wavetap_stream* stream = NULL;
    seen_t parts = {0};
    expect(wavetap_stream_create(decoder, &kAll, &parts, &stream) == WAVETAP_STATUS_SUCCESS,
           "stream");
    for (size_t at = 0; at < bytes; at += 777)
        expect(wavetap_stream_feed(stream, blob + at, bytes - at < 777 ? bytes - at : 777) ==
                   WAVETAP_STATUS_SUCCESS,
               "feed");
    expect(wavetap_stream_finish(stream) == WAVETAP_STATUS_SUCCESS, "finish");
    wavetap_stream_destroy(stream);
    expect(parts.waves == seen.waves && parts.instructions == seen.instructions &&
               parts.dispatches == seen.dispatches && parts.events == seen.events &&
               parts.samples == seen.samples && parts.diagnostics == seen.diagnostics,
           "a stream gives other records than the whole");
    expect(wavetap_decoder_unload_code(decoder, 5) == WAVETAP_STATUS_SUCCESS, "unload");
    wavetap_decoder_destroy(decoder);
    free(elf);
    free(blob);
    return 0;
}
