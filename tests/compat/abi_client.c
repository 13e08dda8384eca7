/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
/* Loads the drop-in decoder by name and prints what it makes of one trace, one record a line. The
 * layouts are this program's own copy of what docs/formats/decoder-abi.md documents.
 * usage: abi_client LIBRARY callback BLOB LISTING BASE | handle BLOB ELF BASE
 *                           | latency BLOB ELF BASE | chunks BLOB BYTES [threads]
 *                           | standalone BLOB LISTING BASE BEGIN END | hazards BLOB */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t address, id;
} pc_t;
typedef struct {
    pc_t pc;
    uint64_t time;
    uint8_t reserved, cu, simd, slot;
    uint32_t start : 1, me : 3, pipe : 4, is_ext : 1, workgroup : 7, cluster : 5, rest : 11;
} occupancy_t;
typedef struct {
    int32_t type, cycles;
} state_t;
typedef struct {
    uint32_t category : 8, stall : 24;
    int32_t duration;
    int64_t time;
    pc_t pc;
} inst_t;
typedef struct {
    uint8_t cu, simd, slot, contexts, dispatcher, workgroup, cluster, reserved;
    uint64_t size;
    int64_t begin, end;
    uint64_t states, insts;
    state_t* state;
    inst_t* inst;
} wave_t;
typedef struct {
    uint64_t size;
    int64_t time;
    int32_t type;
    uint8_t me, pipe;
    uint16_t flags;
    uint64_t payload, offset;
} event_t;
typedef struct {
    int64_t time;
    uint64_t value;
    uint8_t cu, simd, slot, flags;
    uint32_t reserved;
} shader_t;
typedef struct {
    int64_t clock;
    uint64_t realtime, reserved;
} realtime_t;
typedef struct {
    int64_t time;
    uint16_t counter[4];
    uint8_t cu, bank;
} perf_t;
typedef struct {
    uint64_t size;
    int64_t time;
    uint16_t cycles;
    uint8_t wgp, category;
} other_t;
typedef struct {
    uint64_t size;
    int64_t time;
    uint8_t me, pipe;
    uint16_t user_sgprs;
    int32_t flags;
    uint32_t vgprs, sgprs, lds, x, y, z;
    uint64_t packet, offset;
    pc_t entry;
} dispatch_t;
typedef struct {
    uint64_t size;
    uint32_t major, minor, patch;
} version_t;
typedef struct {
    uint64_t handle;
} handle_t;
typedef struct {
    uint64_t size;
    pc_t pc;
    int64_t idle, stall, issue;
    uint8_t simd;
} latency_t;
typedef struct {
    uint64_t size;
    int32_t type;
    uint32_t flags;
} request_t;
typedef struct {
    uint64_t size;
    const request_t* records;
    uint64_t count;
} filter_t;

typedef uint64_t (*data_callback)(uint8_t**, uint64_t*, void*);
typedef int (*isa_callback)(char*, uint64_t*, uint64_t*, pc_t, void*);
typedef int (*record_callback)(int, void*, uint64_t, void*);
typedef int (*parse_data_f)(data_callback, record_callback, isa_callback, void*);
typedef int (*parse_f)(handle_t, const void*, uint64_t, record_callback, void*);
typedef int (*scan_f)(handle_t, uint64_t, const void*, uint64_t, record_callback, void*);
typedef int (*build_f)(handle_t, uint64_t, const void*, uint64_t, uint64_t, uint64_t, void*,
                       uint64_t*);
typedef int (*filter_f)(handle_t, const filter_t*);
typedef int (*analysis_f)(handle_t, uint64_t);
typedef int (*load_f)(handle_t, uint64_t, uint64_t, uint64_t, const void*, uint64_t);

typedef struct {
    uint64_t address, size;
    char* text;
} line_t;
typedef struct {
    uint8_t* blob;
    uint64_t bytes, left, base;
    line_t* lines;
    size_t count;
    uint64_t asked, records, offset;
    uint64_t calls[16], most[16]; /* by type: calls, largest count */
    int refuse, latency;
} job_t;

static void* library;
static void fail(const char* what) {
    fprintf(stderr, "abi_client: %s\n", what);
    exit(2);
}
static void* symbol(const char* name) {
    void* found = dlsym(library, name);
    if (!found) fail(name);
    return found;
}
static uint8_t* read_file(const char* path, uint64_t* bytes) {
    FILE* file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    *bytes = (uint64_t)ftell(file);
    rewind(file);
    uint8_t* data = malloc(*bytes + 1);
    if (!data || fread(data, 1, *bytes, file) != *bytes) fail(path);
    data[*bytes] = 0;
    fclose(file);
    return data;
}
static void read_listing(job_t* job, const char* path) {
    uint64_t bytes;
    char* text = (char*)read_file(path, &bytes);
    for (char* row = strtok(text, "\n"); row; row = strtok(NULL, "\n")) {
        line_t line;
        char* at = row;
        line.address = strtoull(at, &at, 16);
        line.size = strtoull(at, &at, 10);
        line.text = at + 1;
        job->lines = realloc(job->lines, (job->count + 1) * sizeof line);
        job->lines[job->count++] = line;
    }
}

static uint64_t next_buffer(uint8_t** data, uint64_t* size, void* user) {
    job_t* job = user;
    uint64_t left = job->left;
    *data = job->blob;
    *size = left;
    job->left = 0;
    return left;
}
static int isa(char* text, uint64_t* size, uint64_t* room, pc_t pc, void* user) {
    job_t* job = user;
    ++job->asked;
    if (job->refuse) return job->refuse;
    for (size_t i = 0; i < job->count; ++i) {
        if (job->lines[i].address + job->base != pc.address || pc.id != 0) continue;
        uint64_t length = strlen(job->lines[i].text);
        if (length > *room) {
            *room = length;
            return 2;
        }
        memcpy(text, job->lines[i].text, length);
        *room = length;
        *size = job->lines[i].size;
        return 0;
    }
    return 1;
}
static int endless(char* text, uint64_t* size, uint64_t* room, pc_t pc, void* user) {
    (void)pc;
    ++((job_t*)user)->asked;
    memcpy(text, "s_unknown", 9);
    *room = 9;
    *size = 0;
    return 0;
}

static int print(int type, void* records, uint64_t count, void* user) {
    ++((job_t*)user)->records;
    if (type == 0) printf("gfxip %" PRIuPTR " %" PRIu64 "\n", (uintptr_t)records, count);
    for (uint64_t i = 0; i < count; ++i) {
        if (type == 1) {
            occupancy_t* r = (occupancy_t*)records + i;
            printf("occupancy %" PRIu64 " %u %u %u %u %" PRIu64 " %" PRIu64 " %u %u %u %u %u\n",
                   r->time, r->start, r->cu, r->simd, r->slot, r->pc.address, r->pc.id, r->me,
                   r->pipe, r->is_ext, r->workgroup, r->cluster);
        } else if (type == 2) {
            perf_t* r = (perf_t*)records + i;
            printf("perf %" PRId64 " %u %u %u %u %u %u\n", r->time, r->counter[0], r->counter[1],
                   r->counter[2], r->counter[3], r->cu, r->bank);
        } else if (type == 3) {
            wave_t* r = (wave_t*)records + i;
            if (r->size != sizeof *r) fail("size of a wave");
            printf("wave %u %u %u %u %u %u %u %" PRId64 " %" PRId64 "\n", r->cu, r->simd, r->slot,
                   r->contexts, r->dispatcher, r->workgroup, r->cluster, r->begin, r->end);
            for (uint64_t j = 0; j < r->states; ++j)
                printf("state %d %d\n", r->state[j].type, r->state[j].cycles);
            for (uint64_t j = 0; j < r->insts; ++j)
                printf("inst %u %" PRId64 " %d %u %" PRIu64 " %" PRIu64 "\n", r->inst[j].category,
                       r->inst[j].time, r->inst[j].duration, r->inst[j].stall,
                       r->inst[j].pc.address, r->inst[j].pc.id);
        } else if (type == 4) {
            printf("info %d\n", ((int32_t*)records)[i]);
        } else if (type == 5) {
            event_t* r = (event_t*)records + i;
            if (r->size != sizeof *r) fail("size of an event");
            printf("event %" PRId64 " %d %u %u %" PRIu64 " %" PRIu64 " %u\n", r->time, r->type,
                   r->me, r->pipe, r->payload, r->offset + ((job_t*)user)->offset, r->flags);
        } else if (type == 6) {
            shader_t* r = (shader_t*)records + i;
            printf("shader %" PRId64 " %" PRIu64 " %u %u %u %u\n", r->time, r->value, r->cu,
                   r->simd, r->slot, r->flags);
        } else if (type == 7) {
            realtime_t* r = (realtime_t*)records + i;
            printf("realtime %" PRId64 " %" PRIu64 "\n", r->clock, r->realtime);
        } else if (type == 8) {
            printf("frequency %" PRIu64 "\n", ((uint64_t*)records)[i]);
        } else if (type == 9) {
            other_t* r = (other_t*)records + i;
            printf("other %" PRId64 " %u %u %u\n", r->time, r->category, r->cycles, r->wgp);
        } else if (type == 10) {
            dispatch_t* r = (dispatch_t*)records + i;
            if (r->size != sizeof *r) fail("size of a dispatch");
            printf("dispatch %" PRId64 " %u %u %" PRIu64 " %" PRIu64
                   " %u %u %u %u %u %u %u %d %" PRIu64 " %" PRIu64 "\n",
                   r->time, r->me, r->pipe, r->entry.address, r->entry.id, r->x, r->y, r->z,
                   r->user_sgprs, r->vgprs, r->sgprs, r->lds, r->flags,
                   r->offset + ((job_t*)user)->offset, r->packet);
        } else if (type == 11 && ((job_t*)user)->latency) {
            latency_t* r = (latency_t*)records + i;
            if (r->size != sizeof *r) fail("size of a hidden latency");
            printf("hidden %u %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
                   r->simd, r->pc.address, r->pc.id, r->idle, r->stall, r->issue);
        } else {
            fail("a record type that nobody asked for");
        }
    }
    return 0;
}
static int count_only(int type, void* records, uint64_t count, void* user) {
    job_t* job = user;
    (void)records;
    ++job->records;
    if (type < 0 || type > 15) fail("a record type out of range");
    ++job->calls[type];
    if (count > job->most[type]) job->most[type] = count;
    return 1; /* its answer may not end a parse */
}

static void expect(const char* what, int got, int want) {
    if (got == want) return;
    fprintf(stderr, "%s: status %d, not %d\n", what, got, want);
    exit(1);
}

static void only(const job_t* job, int type, const char* what) {
    for (int i = 0; i < 16; ++i)
        if ((job->calls[i] != 0) != (i == type)) fail(what);
}

static void filters(handle_t h, job_t job) {
    filter_f set = (filter_f)symbol("rocprof_trace_decoder_set_record_filter");
    parse_f parse = (parse_f)symbol("rocprof_trace_decoder_parse");
    const request_t occupancy = {16, 1, 1}, dispatch = {16, 10, 0};
    request_t both[2] = {occupancy, dispatch};
    filter_t filter = {24, both, 1};
    job_t one = job, all = job, none = job;
    expect("occupancy one by one", set(h, &filter), 0);
    expect("parse", parse(h, job.blob, job.bytes, count_only, &one), 0);
    only(&one, 1, "records beside the occupancy that was asked for");
    if (one.most[1] != 1 || one.calls[1] < 2) fail("occupancy did not come one by one");
    both[0] = dispatch;
    expect("dispatches only", set(h, &filter), 0);
    memset(&one, 0, sizeof one);
    expect("parse", parse(h, job.blob, job.bytes, count_only, &one), 0);
    only(&one, 10, "records beside the dispatches that were asked for");
    filter.count = 2;
    expect("a type twice", set(h, &filter), 3);
    both[1].type = 12;
    expect("a type that is not", set(h, &filter), 3);
    both[1] = occupancy;
    both[1].flags = 2;
    expect("a flag that is not", set(h, &filter), 3);
    both[1].type = 3;
    both[1].flags = 1;
    expect("waves cannot be immediate", set(h, &filter), 3);
    both[1].flags = 0;
    both[1].size = 12;
    expect("a request of another size", set(h, &filter), 3);
    filter.size = 16;
    expect("a filter of another size", set(h, &filter), 3);
    filter.size = 24;
    filter.records = NULL;
    expect("no requests", set(h, &filter), 3);
    memset(&one, 0, sizeof one);
    expect("parse", parse(h, job.blob, job.bytes, count_only, &one), 0);
    only(&one, 10, "a refused filter took effect");
    filter.count = 0;
    expect("nothing", set(h, &filter), 0);
    expect("parse", parse(h, job.blob, job.bytes, count_only, &none), 0);
    only(&none, -1, "records that nobody asked for");
    expect("everything", set(h, NULL), 0);
    expect("parse", parse(h, job.blob, job.bytes, count_only, &all), 0);
    if (!all.calls[0] || !all.calls[1] || !all.calls[10] || all.most[1] < 2)
        fail("the filter was not taken back");
}

static void chunk_hazards(handle_t h, job_t job) {
    scan_f scan = (scan_f)symbol("rocprof_trace_decoder_quick_scan");
    build_f build = (build_f)symbol("rocprof_trace_decoder_build_standalone");
    uint8_t tiny[4];
    uint64_t size = sizeof tiny;
    expect("warm up", scan(h, 0, NULL, 0, NULL, NULL), 0);
    expect("scan to nobody", scan(h, 0, job.blob, job.bytes, NULL, &job), 3);
    expect("scan four bytes", scan(h, 0, job.blob, 4, count_only, &job), 3);
    expect("chunk without the one before", scan(h, 7, job.blob, job.bytes, count_only, &job), 2);
    expect("piece without the chunk before", build(h, 7, job.blob, job.bytes, 8, 64, tiny, &size),
           3);
    expect("piece of nothing", build(h, 0, job.blob, job.bytes, 64, 64, tiny, &size), 3);
    expect("piece backwards", build(h, 0, job.blob, job.bytes, UINT64_MAX - 3, 64, tiny, &size), 3);
    expect("piece behind the end", build(h, 0, job.blob, job.bytes, 8, job.bytes + 1, tiny, &size),
           3);
    expect("piece to nowhere", build(h, 0, job.blob, job.bytes, 8, 64, NULL, &size), 3);
    expect("too small", build(h, 0, job.blob, job.bytes, 8, job.bytes, tiny, &size), 2);
    if (size != job.bytes) fail("size of a piece from the start");
    job_t stopped = job;
    stopped.records = 0;
    int status = scan(h, 0, job.blob, job.bytes, count_only, &stopped); /* answers 1 */
    expect("scan that is stopped", status, 1);
    if (stopped.records != 1) fail("the scan went on after the callback failed");
}

typedef struct {
    job_t job;
    handle_t handle;
    uint64_t index, bytes;
    int status;
} chunk_t;

/* A chunk whose predecessor was not scanned in time (status 2) may be scanned again. */
static void* scan_chunk(void* user) {
    chunk_t* chunk = user;
    scan_f scan = (scan_f)symbol("rocprof_trace_decoder_quick_scan");
    for (int tries = 0; tries < 100; ++tries) {
        chunk->status =
            scan(chunk->handle, chunk->index, chunk->job.blob, chunk->bytes, print, &chunk->job);
        if (chunk->status != 2) break;
    }
    return NULL;
}

/* With `threads` the second chunk of two is given to a thread before the first one is scanned. */
static void chunks(job_t job, uint64_t bytes, int threads) {
    handle_t h;
    expect("create", ((int (*)(handle_t*))symbol("rocprof_trace_decoder_create_handle"))(&h), 0);
    chunk_t two[2];
    for (uint64_t at = 0, i = 0; at < job.bytes; i += 2) {
        int count = 0;
        for (; count < 2 && at < job.bytes; ++count, at += bytes) {
            uint64_t left = job.bytes - at;
            two[count] = (chunk_t){job, h, i + (uint64_t)count, left < bytes ? left : bytes, 0};
            two[count].job.blob = job.blob + at;
            two[count].job.offset = at;
        }
        pthread_t other;
        const int early = threads && count == 2;
        if (early && pthread_create(&other, NULL, scan_chunk, &two[1]) != 0) fail("thread");
        scan_chunk(&two[0]);
        if (early) pthread_join(other, NULL);
        if (!early && count == 2) scan_chunk(&two[1]);
        for (int j = 0; j < count; ++j)
            expect("quick scan", two[j].status, 0);
    }
    expect("destroy", ((int (*)(handle_t))symbol("rocprof_trace_decoder_destroy_handle"))(h), 0);
}

static void standalone(job_t job, uint64_t begin, uint64_t end) {
    build_f build = (build_f)symbol("rocprof_trace_decoder_build_standalone");
    handle_t h;
    expect("create", ((int (*)(handle_t*))symbol("rocprof_trace_decoder_create_handle"))(&h), 0);
    uint64_t size = 0;
    uint8_t byte;
    if (end == 0) end = job.bytes;
    expect("size", build(h, 0, job.blob, job.bytes, begin, end, &byte, &size), 2);
    uint8_t* piece = malloc(size);
    if (!piece) fail("memory");
    expect("build", build(h, 0, job.blob, job.bytes, begin, end, piece, &size), 0);
    if (memcmp(piece, job.blob, 8) != 0) fail("a piece without the header");
    job.blob = piece;
    job.bytes = job.left = size;
    expect(
        "parse_data",
        ((parse_data_f)symbol("rocprof_trace_decoder_parse_data"))(next_buffer, print, isa, &job),
        0);
}

static void hazards(job_t job) {
    parse_data_f parse_data = (parse_data_f)symbol("rocprof_trace_decoder_parse_data");
    const char* (*status_text)(int) =
        (const char* (*)(int))symbol("rocprof_trace_decoder_get_status_string");
    const char* (*info_text)(int) =
        (const char* (*)(int))symbol("rocprof_trace_decoder_get_info_string");
    for (int i = -1; i < 9; ++i)
        if (!status_text(i) || !*status_text(i) || !info_text(i) || !*info_text(i))
            fail("a number without words");
    expect("no data callback", parse_data(NULL, count_only, isa, &job), 3);
    expect("no record callback", parse_data(next_buffer, NULL, isa, &job), 3);
    expect("no isa callback", parse_data(next_buffer, count_only, NULL, &job), 3);
    job_t none = job;
    none.left = 0;
    expect("no buffers", parse_data(next_buffer, count_only, isa, &none), 0);
    none = job;
    none.blob = NULL;
    expect("null buffer", parse_data(next_buffer, count_only, isa, &none), 4);
    uint8_t bad[64];
    memset(bad, 0xff, sizeof bad);
    none = job;
    none.blob = bad;
    none.left = sizeof bad;
    expect("unknown header", parse_data(next_buffer, count_only, isa, &none), 4);
    none.left = 3;
    expect("three bytes", parse_data(next_buffer, count_only, isa, &none), 4);
    for (int refuse = 1; refuse < 6; ++refuse) {
        job_t refused = job;
        refused.refuse = refuse;
        expect("isa callback refuses", parse_data(next_buffer, count_only, isa, &refused), 0);
        if (refused.records < 3 || refused.asked == 0) fail("no records without code");
    }
    job_t odd = job;
    odd.blob = malloc(job.bytes + 1);
    memcpy(odd.blob + 1, job.blob, job.bytes);
    ++odd.blob;
    expect("code without end, unaligned", parse_data(next_buffer, count_only, endless, &odd), 0);
    if (odd.asked > 1000000) fail("the isa callback was asked without end");

    version_t version;
    memset(&version, 0, sizeof version);
    int (*get_version)(version_t*) =
        (int (*)(version_t*))symbol("rocprof_trace_decoder_get_version");
    expect("version", get_version(&version), 0);
    expect("version, null", get_version(NULL), 3);
    if (version.size != 24 || version.major != 0 || version.minor != 2) fail("version");
    int (*create)(handle_t*) = (int (*)(handle_t*))symbol("rocprof_trace_decoder_create_handle");
    int (*destroy)(handle_t) = (int (*)(handle_t))symbol("rocprof_trace_decoder_destroy_handle");
    int (*analysis)(handle_t, uint64_t) =
        (int (*)(handle_t, uint64_t))symbol("rocprof_trace_decoder_set_analysis");
    int (*load)(handle_t, uint64_t, uint64_t, uint64_t, const void*, uint64_t) =
        (int (*)(handle_t, uint64_t, uint64_t, uint64_t, const void*, uint64_t))symbol(
            "rocprof_trace_decoder_codeobj_load");
    int (*unload)(handle_t, uint64_t) =
        (int (*)(handle_t, uint64_t))symbol("rocprof_trace_decoder_codeobj_unload");
    int (*set_data)(handle_t, data_callback, void*) = (int (*)(
        handle_t, data_callback, void*))symbol("rocprof_trace_decoder_set_se_data_callback");
    int (*set_isa)(handle_t, isa_callback, void*) =
        (int (*)(handle_t, isa_callback, void*))symbol("rocprof_trace_decoder_set_isa_callback");
    parse_f parse = (parse_f)symbol("rocprof_trace_decoder_parse");
    handle_t h;
    expect("create, null", create(NULL), 3);
    expect("create", create(&h), 0);
    expect("no analysis", analysis(h, 0), 0);
    expect("hidden latency", analysis(h, 1), 0);
    expect("hidden latency off", analysis(h, 0), 0);
    expect("unknown analysis", analysis(h, 6), 3);
    expect("load nothing", load(h, 1, 0, 0, NULL, 0), 3);
    expect("load no ELF", load(h, 1, 0, 0, bad, sizeof bad), 1);
    expect("unload what is not there", unload(h, 1), 3);
    expect("parse nothing", parse(h, NULL, 0, count_only, &job), 3);
    expect("parse to nobody", parse(h, job.blob, job.bytes, NULL, &job), 3);
    expect("parse without code", parse(h, job.blob, job.bytes, count_only, &job), 0);
    job_t streamed = job;
    streamed.left = job.bytes;
    streamed.asked = streamed.records = 0;
    expect("set isa", set_isa(h, isa, &streamed), 0);
    expect("set data", set_data(h, next_buffer, &streamed), 0);
    expect("parse from the callback", parse(h, NULL, 0, count_only, &streamed), 0);
    if (streamed.asked == 0 || streamed.records < 3)
        fail("the callbacks of the handle were not used");
    expect("set isa off", set_isa(h, NULL, NULL), 0);
    expect("set data off", set_data(h, NULL, NULL), 0);
    memset(job.calls, 0, sizeof job.calls);
    memset(job.most, 0, sizeof job.most);
    filters(h, job);
    chunk_hazards(h, job);
    expect("destroy", destroy(h), 0);
    expect("filter after destroy",
           ((filter_f)symbol("rocprof_trace_decoder_set_record_filter"))(h, NULL), 3);
    expect("destroy twice", destroy(h), 3);
    expect("parse after destroy", parse(h, job.blob, job.bytes, count_only, &job), 3);
    expect("set isa after destroy", set_isa(h, isa, &job), 3);
    puts("hazards ok");
}

int main(int argc, char** argv) {
    if (argc < 4) fail("arguments");
    library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    if (!library) fail(dlerror());
    job_t job;
    memset(&job, 0, sizeof job);
    job.blob = read_file(argv[3], &job.bytes);
    job.left = job.bytes;
    if (strcmp(argv[2], "hazards") == 0) {
        hazards(job);
        return 0;
    }
    if (strcmp(argv[2], "chunks") == 0 && argc > 4) {
        chunks(job, strtoull(argv[4], NULL, 10), argc > 5);
        return 0;
    }
    if (argc < 6) fail("arguments");
    job.base = strtoull(argv[5], NULL, 16);
    if (strcmp(argv[2], "callback") == 0) {
        read_listing(&job, argv[4]);
        expect("parse_data",
               ((parse_data_f)symbol("rocprof_trace_decoder_parse_data"))(next_buffer, print, isa,
                                                                          &job),
               0);
        return 0;
    }
    if (strcmp(argv[2], "standalone") == 0 && argc > 7) {
        read_listing(&job, argv[4]);
        standalone(job, strtoull(argv[6], NULL, 10), strtoull(argv[7], NULL, 10));
        return 0;
    }
    uint64_t bytes;
    uint8_t* elf = read_file(argv[4], &bytes);
    handle_t h;
    expect("create", ((int (*)(handle_t*))symbol("rocprof_trace_decoder_create_handle"))(&h), 0);
    expect("load",
           ((int (*)(handle_t, uint64_t, uint64_t, uint64_t, const void*, uint64_t))symbol(
               "rocprof_trace_decoder_codeobj_load"))(h, 7, job.base, bytes, elf, bytes),
           0);
    if (strcmp(argv[2], "latency") == 0) {
        job.latency = 1;
        expect("analysis", ((analysis_f)symbol("rocprof_trace_decoder_set_analysis"))(h, 1), 0);
    }
    expect("parse",
           ((parse_f)symbol("rocprof_trace_decoder_parse"))(h, job.blob, job.bytes, print, &job),
           0);
    expect("unload",
           ((int (*)(handle_t, uint64_t))symbol("rocprof_trace_decoder_codeobj_unload"))(h, 7), 0);
    expect("destroy", ((int (*)(handle_t))symbol("rocprof_trace_decoder_destroy_handle"))(h), 0);
    return 0;
}
