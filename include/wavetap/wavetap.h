/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
#pragma once

/**
 * \file wavetap.h
 * Recording thread traces (ATT, SQTT) of AMD GPUs: the C interface of libwavetap.so.
 *
 * A *session* holds the GPU agents of one process and what their traces need: for each agent one
 * submission queue, one set of output and staging slots, one landing area, one thread (with N-buffer
 * contexts: and up to N that deliver). A *context* is one trace
 * configuration; idle, it costs a few hundred bytes of host memory, so there may be thousands. One
 * context at a time can run on an agent; starting another one returns WAVETAP_STATUS_BUSY at once.
 *
 *     bool OnLoad(HsaApiTable* table, uint64_t version, uint64_t failed, const char* const* names)
 *     {
 *         wavetap_session* session;
 *         if (wavetap_session_open_hsa(table, 1.0, &session) != WAVETAP_STATUS_SUCCESS) return false;
 *         wavetap_parameters p;
 *         wavetap_parameters_init(&p, sizeof p);
 *         p.target_cu = 3;
 *         wavetap_context context;
 *         wavetap_context_create(session, &context);
 *         wavetap_context_configure(session, context, 0, &p, on_chunk, NULL);
 *         wavetap_context_start(session, context);
 *         ...
 *         wavetap_context_stop(session, context);     // on_chunk was called for every engine
 *
 * That is *device mode*: everything on the agent from start to stop is one trace. In *dispatch mode*
 * the client chooses kernel dispatches, and each is a trace of its own, taken in the program's own
 * queue. A program (here before it uses HIP or HSA; a tool calls wavetap_session_intercept_hsa()):
 *
 *         wavetap_session_open(1.0, &session);
 *         wavetap_session_intercept(session, NULL);
 *         wavetap_context_create(session, &context);
 *         wavetap_dispatch_handlers handlers = {sizeof handlers, choose, on_chunk, NULL, NULL};
 *         wavetap_context_configure_dispatch(session, context, 0, &p, &handlers);
 *         wavetap_context_start(session, context);    // once ROCr is up: choose() sees each dispatch
 *
 * Threads: every function may be called from any thread. Chunk handlers are called on threads of
 * wavetap's own, one at a time for each agent (unless a context asks for \c as_ready), with no lock of
 * wavetap held.
 * What needs the agent that a handler is called for changes nothing there and returns at once: stop,
 * destroy and close WAVETAP_STATUS_WOULD_DEADLOCK, start that or BUSY (SUCCESS if that context runs
 * already). Contexts of other agents may be started and stopped in a handler; two handlers that each
 * stop the other's agent wait for each other, until the deadline.
 *
 * With one buffer a run's bytes are delivered by the stop, and end where the buffer is full. With N
 * buffers (\c buffers = 3..16) they are delivered while the trace goes on: the hardware fills three
 * output slots in turn (a *flip* is its step from one to the next); each full one is copied to one of
 * N *staging slots* in host memory, which the handler's return gives back. The run of an engine is one
 * *segment* or several: a segment's chunks joined are one stream of bytes, and its last chunk is the
 * only one with END. When no staging slot is free (CPU_BUFFER_FULL) the trace is stopped, delivered and
 * started again: a new segment; so it is when the hardware had no room (GPU_BUFFER_FULL), where the trace
 * unit may be touched after that (wavetap_parameters::end_on_full).
 *
 * Fork: a session belongs to the process that opened it, which may fork and goes on. In the child every
 * call for that session (close, too) returns WAVETAP_STATUS_WRONG_STATE at once and changes and frees
 * nothing; a session of its own can be opened there. ROCr makes no queues in the child of a process
 * that had started it.
 *
 * Errors: nothing here prints, aborts, ends the process or throws. Whatever a caller can cause is a
 * status; wavetap_last_error() has the words. Every wait has a deadline.
 *
 * Memory: handles are opaque. Pointers handed in are read during the call only, except handlers and
 * their user data, which must stay valid until the context is destroyed. A null pointer where one is
 * required is WAVETAP_STATUS_INVALID_ARGUMENT.
 *
 * ABI: structs start with their size in bytes, set by the caller; newer libraries accept older sizes.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WAVETAP_API __attribute__((visibility("default")))
#else
#define WAVETAP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WAVETAP_VERSION_MAJOR 0
#define WAVETAP_VERSION_MINOR 1

/** What became of a call. Values are stable. */
typedef enum wavetap_status {
    WAVETAP_STATUS_SUCCESS = 0,
    WAVETAP_STATUS_INVALID_ARGUMENT = 1, /**< a value outside its documented range */
    WAVETAP_STATUS_WRONG_STATE = 2,      /**< the call does not fit the object's state */
    WAVETAP_STATUS_WOULD_DEADLOCK = 3,   /**< the call waits for what its own thread must do */
    WAVETAP_STATUS_BUSY = 4,             /**< another context holds the agent */
    WAVETAP_STATUS_LIMIT = 5,            /**< no queue, slot, thread or memory left */
    WAVETAP_STATUS_NOT_FOUND = 6,        /**< no such context or agent */
    WAVETAP_STATUS_UNAVAILABLE = 7,      /**< the runtime or the GPU refused */
    WAVETAP_STATUS_IO = 8,
    WAVETAP_STATUS_TIMEOUT = 9, /**< a deadline passed */
    WAVETAP_STATUS_CORRUPT = 10,
    WAVETAP_STATUS_UNSUPPORTED = 11, /**< a chip, runtime version or feature we do not know */
    WAVETAP_STATUS_INTERNAL = 12     /**< a fault of wavetap */
} wavetap_status;

/** The word for a status: "busy". Never null; static storage. */
WAVETAP_API const char* wavetap_status_name(wavetap_status status);
/**
 * What the calling thread's last failed call had to say, in one line: what, where, and what to do.
 * "" before the first. Valid until this thread's next call of wavetap.
 */
WAVETAP_API const char* wavetap_last_error(void);
/** WAVETAP_VERSION_MAJOR << 16 | WAVETAP_VERSION_MINOR of the library. */
WAVETAP_API uint32_t wavetap_version(void);

typedef struct wavetap_session wavetap_session;

/** Names a context of a session; 0 is never one. Handles are not reused. */
typedef struct wavetap_context {
    uint64_t handle;
} wavetap_context;

/**
 * Opens a session on the GPU agents that ROCr shows. \p api_table is the first argument of a tool's
 * OnLoad (a library named in HSA_TOOLS_LIB); wavetap takes functions from it and replaces none.
 * \p deadline_scale stretches every deadline (1 = as documented). Nothing is allocated on the GPU
 * before the first start. Errors: INVALID_ARGUMENT, UNSUPPORTED (table version), UNAVAILABLE,
 * NOT_FOUND (an agent lacks the memory pools), LIMIT.
 */
WAVETAP_API wavetap_status wavetap_session_open_hsa(void* api_table, double deadline_scale,
                                                    wavetap_session** session);
/**
 * Opens a session before ROCr is up. Contexts may be created and configured (their parameters are
 * checked at last when the agents are known), started and stopped: a start succeeds and makes the
 * context pending, a stop takes that back. Errors: INVALID_ARGUMENT, LIMIT.
 */
WAVETAP_API wavetap_status wavetap_session_open(double deadline_scale, wavetap_session** session);
/**
 * Gives a session of wavetap_session_open() its agents, once; \p api_table as for
 * wavetap_session_open_hsa(). Then starts every context that is still pending, once, in the order in
 * which they were started. If the table cannot be used everything stays as it was. If contexts cannot
 * be configured or started, the session has its agents all the same; the status and the words are
 * those of the first one. Configure and start nothing from other threads meanwhile; stops may race.
 * Errors: those of wavetap_session_open_hsa() and wavetap_context_start(), WRONG_STATE (it has agents).
 */
WAVETAP_API wavetap_status wavetap_session_attach_hsa(wavetap_session* session, void* api_table);
/**
 * Stops and delivers what runs, gives everything back and frees the session, while ROCr is alive: at
 * the latest in OnUnload or in an atexit handler registered in OnLoad (HIP never calls OnUnload).
 * The session must not be used by another thread any more. With WOULD_DEADLOCK, and in a forked child
 * with WRONG_STATE, the session stays;
 * with TIMEOUT it is gone, and what a thread that did not end uses stays allocated.
 */
WAVETAP_API wavetap_status wavetap_session_close(wavetap_session* session);

/**
 * Once no context has run on an agent for so long, its queue and its memory are given back, and made
 * again by the next start. 0 (as at first): they are kept. For the agents that the session has now.
 * Errors: INVALID_ARGUMENT (over a day).
 */
WAVETAP_API wavetap_status wavetap_session_set_idle_release(wavetap_session* session,
                                                            uint64_t milliseconds);

/** A code object that the runtime loaded, or unloads. */
typedef struct wavetap_code_object {
    size_t size; /**< size of this struct in the library; newer ones are longer */
    uint32_t agent;
    uint32_t unloaded;     /**< 1: it goes; only \c agent and \c id count */
    uint64_t id;           /**< as in the markers of the traces; not reused */
    uint64_t load_address; /**< address in memory = load_address + ELF address */
    uint64_t bytes;        /**< that it takes in memory */
    const char* uri;       /**< where it came from; "" if unknown. Borrowed for the call */
    const void* elf;       /**< the code object, as loaded; null if not available. The same */
    uint64_t elf_bytes;
} wavetap_code_object;

/**
 * Tells which code lies where. Called in the thread that loads or unloads, without a lock of wavetap,
 * before the program can launch the kernels or use the memory again; for objects that were loaded
 * earlier, in the call that gives the session its agents. Must return; must not throw (an exception is
 * swallowed); must not close the session. Not called for a session that closes.
 */
typedef void (*wavetap_code_object_handler)(const wavetap_code_object* object, void* user);

/** How a session sees the program. */
typedef struct wavetap_intercept_options {
    size_t size;                             /**< sizeof(wavetap_intercept_options) */
    wavetap_code_object_handler code_object; /**< may be null */
    void* user;                              /**< for \c code_object */
} wavetap_intercept_options;

/**
 * Lets contexts of dispatch mode see the dispatches of this process. Queues can be watched only if
 * wavetap comes in while ROCr starts up, as one of its tools, so a *program* that links libwavetap.so
 * calls this before its first call of HIP or hsa_init: wavetap puts libwavetap.so in front of the
 * environment variable HSA_TOOLS_LIB, ROCr then loads it as a tool, and the session, made by
 * wavetap_session_open(), gets its agents as by wavetap_session_attach_hsa(). What goes wrong then is
 * the answer of later wavetap_context_configure() and start. If the user has set
 * HSA_TOOLS_LIB=libwavetap.so, it may be called at any time; queues that were made before are watched,
 * too. A *tool* calls wavetap_session_intercept_hsa() instead.
 *
 * From then on wavetap knows the code objects by itself (wavetap_code_object_loaded() is not to be
 * called), and every queue of the program is an intercept queue of ROCr with a ring eight times as
 * long. One session in a process can have it, once. \p options may be null.
 *
 * Not safe beside threads that use the environment. Errors: UNAVAILABLE (ROCr is up, and wavetap was
 * not loaded with it, or a parent process started it), WRONG_STATE (the session has its agents; another session has the dispatches),
 * INVALID_ARGUMENT (size), LIMIT; if ROCr is up those of wavetap_session_attach_hsa().
 */
WAVETAP_API wavetap_status wavetap_session_intercept(wavetap_session* session,
                                                     const wavetap_intercept_options* options);
/**
 * The same for a tool, in its OnLoad: replaces four functions of \p api_table, and gives the session
 * its agents if it has none. Errors: as wavetap_session_attach_hsa(), and WRONG_STATE (another session
 * has the dispatches of this process).
 */
WAVETAP_API wavetap_status wavetap_session_intercept_hsa(wavetap_session* session, void* api_table,
                                                         const wavetap_intercept_options* options);

/**
 * Puts \p id on top of the calling thread's stack of external correlation ids. A dispatch that this
 * thread launches has the top of the stack as its \c external_correlation_id, for this session's
 * handlers and in the folders of `wavetap record`. If ROCr's handler thread launches it (after a full
 * ring) it has 0. Errors: LIMIT (4096 a thread).
 */
WAVETAP_API wavetap_status wavetap_external_correlation_push(uint64_t id);
/** Takes the top off and tells it in \p id (may be null). Errors: WRONG_STATE (nothing is there). */
WAVETAP_API wavetap_status wavetap_external_correlation_pop(uint64_t* id);
/** The top of the calling thread's stack; 0 if nothing is there. */
WAVETAP_API uint64_t wavetap_external_correlation_id(void);

typedef struct wavetap_agent_info {
    size_t size;   /**< sizeof(wavetap_agent_info) */
    char name[32]; /**< "gfx90a" */
    uint32_t shader_engines;
    uint32_t cus_per_engine; /**< largest; engines may have fewer */
    uint32_t simds_per_cu;
    uint32_t reserved;
    char backend
        [16]; /**< through what the agent's queue, memory and copies come, for the life of the
                           session: "rocr" */
    char packets[16]; /**< whose command streams start and stop its traces: "own" (wavetap's) */
} wavetap_agent_info;

WAVETAP_API wavetap_status wavetap_agent_count(wavetap_session* session, uint32_t* count);
/** Agents count from 0 in the runtime's order. Errors: NOT_FOUND. */
WAVETAP_API wavetap_status wavetap_agent_get_info(wavetap_session* session, uint32_t agent,
                                                  wavetap_agent_info* info);

/** A performance counter of the SQ whose samples go into a trace (gfx9). */
typedef struct wavetap_perf_counter {
    uint64_t id;        /**< PERF_SEL: the hardware's number; the chip must have it */
    uint64_t simd_mask; /**< bit i = SIMD i, 1..0xf */
} wavetap_perf_counter;

/** One trace configuration. Every value is checked at its full width. */
typedef struct wavetap_parameters {
    size_t size;            /**< sizeof(wavetap_parameters) */
    uint64_t se_mask;       /**< bit i = shader engine i; only engines that exist. Default 1 */
    uint64_t target_cu;     /**< CU (gfx9) or WGP with instruction detail, 0..15. One that is fused
                                off is not refused: nothing runs there to be told in detail. Default 1 */
    uint64_t simd_mask;     /**< bit i = SIMD i, on every chip; not 0. Default 0xf */
    uint64_t buffer_bytes;  /**< of all selected engines together, from 1 MiB; an engine's part is
                                at least 128 KiB and below 16 GiB. Default 128 MiB */
    uint64_t buffers;       /**< 1, or 3..16: so many staging slots of buffer_bytes each, beside
                                three output slots of that size. Default 1 */
    uint64_t detail;        /**< 1, or 0: waves only, no instructions. Default 1 */
    uint64_t clock_markers; /**< 1: samples of the constant clock in the stream. Default 1 */
    uint64_t several_engines; /**< 1: several engines of \c se_mask may stream through N buffers at
                                  once, each with its part of every buffer; silicon has not
                                  confirmed it. 0: N buffers need one engine. Default 0 */
    uint64_t stream_rate; /**< N buffers: most bytes a second that one engine writes; wavetap looks
                              at the trace unit four times in the time for one buffer. Default 60e9 */
    uint64_t as_ready; /**< N buffers, 1: handlers are called from up to N threads at once, in any
                              order (sort by \c index). Default 0 */
    uint64_t
        end_on_full; /**< N buffers, when the hardware had no room. 1: the trace unit is touched
                              no more and the run is over; stop returns LIMIT, and the next start
                              rebuilds the queue. 0: the trace starts again. 2: what is safe on the
                              chip: 1 on gfx9. Default 2 */
    uint64_t serialize_all; /**< dispatch mode, 1: while the context is started, dispatches that are
                              not traced run one at a time, too. Device mode: only 0. Default 0 */
    uint64_t perf_period;   /**< gfx9: time between two samples of the counters, 1..32: about
                              (1 + CUs) * 4 * perf_period shader clocks, twice that with more than
                              four counters. Waves are counted of queues that have run SET_SH_REG
                              COMPUTE_PERFCOUNT_ENABLE := 1. Default 0: none are sampled */
    uint64_t perf_exclude_mask;  /**< gfx9, 32 bits, bit i = CU i: no samples of it. Default 0 */
    uint64_t perf_counter_count; /**< how many of \c perf_counters are set, 0..8. Default 0 */
    wavetap_perf_counter perf_counters[8]; /**< Default {0, 0xf} each */
} wavetap_parameters;

/** Sets the first \p size bytes to \p size and the defaults. Errors: INVALID_ARGUMENT (size). */
WAVETAP_API wavetap_status wavetap_parameters_init(wavetap_parameters* parameters, size_t size);

typedef enum wavetap_chunk_flags {
    WAVETAP_CHUNK_NONE = 0,
    WAVETAP_CHUNK_END = 1,             /**< last chunk of this engine's segment */
    WAVETAP_CHUNK_GPU_BUFFER_FULL = 2, /**< the hardware ran out of room and dropped tokens */
    WAVETAP_CHUNK_CPU_BUFFER_FULL = 4, /**< no staging slot was free for it; with END: that is why
                                            the segment ends, and another one follows */
    WAVETAP_CHUNK_LOST = 8,            /**< the rest of the segment could not be fetched */
    WAVETAP_CHUNK_WRITE_ERROR = 16,    /**< the hardware met an unmapped address */
    WAVETAP_CHUNK_HALTED = 32          /**< with END: the trace unit went off by itself; another
                                            segment follows */
} wavetap_chunk_flags;

/** One delivery. With one buffer engines come in rising order; each segment of an engine ends with
 * exactly one END chunk, of zero bytes if there is nothing left. */
typedef struct wavetap_chunk {
    size_t size; /**< size of this struct in the library; newer ones are longer */
    wavetap_context context;
    uint64_t run;            /**< counts from 1 on each agent */
    uint32_t shader_engine;  /**< global number */
    uint32_t index;          /**< counts from 0 in each run, over all engines, without gaps */
    uint32_t flags;          /**< wavetap_chunk_flags */
    uint32_t read_offset;    /**< N buffers: where the first whole token begins; the bytes before it
                                  end a token of the chunk before. 0, 2, 4 or 6. The hardware does not
                                  say it, and it is 0, for a last chunk of a segment that was written
                                  while the one before waited to be taken */
    const void* data;        /**< as the hardware wrote it; on gfx9 the first chunk of a segment
                                  begins with the 8-byte software header (N buffers: is that header
                                  and 24 zero bytes). Borrowed for the call */
    uint64_t data_bytes;     /**< at most 32 MiB + 8; N buffers: at most capacity_bytes */
    uint64_t capacity_bytes; /**< room that the engine had */
    uint64_t start_counter, end_counter; /**< constant GPU counter (100 MHz); 0 = unknown */
    uint32_t status, dropped, wptr;      /**< registers of the trace unit at the stop (N buffers:
                                              in END chunks) */
    uint32_t reserved;
    uint64_t dispatch; /**< dispatch mode: wavetap_dispatch_info::dispatch; else 0 */
} wavetap_chunk;

/** Must return; must not throw (an exception is swallowed and counted). \p user: that of the
 * configuration, in dispatch mode that of the dispatch. */
typedef void (*wavetap_chunk_handler)(const wavetap_chunk* chunk, void* user);

/** Makes a context without a configuration. Errors: LIMIT. */
WAVETAP_API wavetap_status wavetap_context_create(wavetap_session* session,
                                                  wavetap_context* context);
/**
 * Once for each agent of the context: after the second call it spans two agents, each with its own
 * parameters, handler and user pointer. The handlers of different agents may be called at the same
 * time. A failed call leaves the context as it was. Errors: INVALID_ARGUMENT (names the parameter, its
 * value and its range), UNSUPPORTED, NOT_FOUND (context, agent), WRONG_STATE (already configured for
 * this agent, or it runs), LIMIT.
 */
WAVETAP_API wavetap_status wavetap_context_configure(wavetap_session* session,
                                                     wavetap_context context, uint32_t agent,
                                                     const wavetap_parameters* parameters,
                                                     wavetap_chunk_handler handler, void* user);
/** A kernel dispatch of the program, on its way into one of its queues. */
typedef struct wavetap_dispatch_info {
    size_t size; /**< size of this struct in the library; newer ones are longer */
    wavetap_context context;
    uint32_t agent;
    uint32_t traceable; /**< 0: it cannot be traced, since its queue's ring has no room for the
                             packets around it (wavetap_statistics::ring_crowded, ring_full); the
                             answer does not count */
    uint64_t dispatch;  /**< counts from 1 in the process, over all agents, kernels of the runtime
                             included, started contexts or not */
    uint64_t queue;     /**< counts from 1 in the process, in the order in which queues were made;
                             not reused */
    uint64_t correlation_id;          /**< of the launch: unique in the process, rising, not 0 */
    uint64_t external_correlation_id; /**< what the launching thread had on top of its stack
                                           (wavetap_external_correlation_push()); 0 = nothing */
    uint64_t kernel;         /**< address of the kernel object, as in the dispatch packet */
    const char* kernel_name; /**< mangled, as in its code object, without ".kd"; "" if unknown.
                                  Borrowed for the call */
} wavetap_dispatch_info;

/** What is to become of a dispatch. */
typedef enum wavetap_dispatch_choice {
    WAVETAP_DISPATCH_PASS = 0, /**< it runs as it is (with \c serialize_all: alone) */
    WAVETAP_DISPATCH_TRACE = 1 /**< it is traced, alone */
} wavetap_dispatch_choice;

/**
 * Decides about a dispatch of a started context. \p user is that of wavetap_dispatch_handlers;
 * \p dispatch_user points to the pointer that the other handlers of this dispatch get, at first
 * \p user. Called in the thread that launches, or in ROCr's handler thread, with locks of ROCr and HIP
 * held, none of wavetap's; threads that launch into several queues may be in it at once. It must
 * return soon, must not wait for another thread that launches, frees or copies, and must not throw (an
 * exception is swallowed: PASS). wavetap_context_start(), stop, destroy and wavetap_session_close()
 * return WAVETAP_STATUS_WOULD_DEADLOCK in it; wavetap_context_stop_async() works.
 */
typedef wavetap_dispatch_choice (*wavetap_dispatch_handler)(const wavetap_dispatch_info* dispatch,
                                                            void* user, void** dispatch_user);
/**
 * The last word about a dispatch for which TRACE was answered (and \c traceable was 1): called exactly
 * once, after its last chunk. SUCCESS: every engine had its END. After anything else chunks may be
 * missing, or all of them; wavetap_last_error() has the words. Called without a lock of wavetap, on a
 * thread of wavetap's own, or if the dispatch was refused or its queue ended on the thread that found
 * out; so it may be called at the same time as handlers of other dispatches. It follows the rules of
 * chunk handlers.
 */
typedef void (*wavetap_dispatch_end_handler)(const wavetap_dispatch_info* dispatch,
                                             wavetap_status status, void* dispatch_user);

/** The handlers of a context in dispatch mode. */
typedef struct wavetap_dispatch_handlers {
    size_t size;                       /**< sizeof(wavetap_dispatch_handlers) */
    wavetap_dispatch_handler dispatch; /**< not null */
    wavetap_chunk_handler chunk; /**< gets the dispatch's user pointer; null: data are dropped */
    wavetap_dispatch_end_handler end; /**< may be null */
    void* user;                       /**< for \c dispatch */
} wavetap_dispatch_handlers;

/**
 * As wavetap_context_configure(), for *dispatch mode*: while the context is started its dispatch
 * handler sees each kernel dispatch of the agent, and each one that it chooses becomes a run of its
 * own, with start and stop in the program's own queue around it. Dispatches that are traced run one at
 * a time and beside no other traced one; with \c serialize_all in \p parameters the others run one at
 * a time, too. A dispatch's completion signal may fire before its data are delivered. \c buffers must
 * be 1. A context has one mode on all of its agents (WRONG_STATE). Errors: also those of
 * wavetap_context_configure().
 */
WAVETAP_API wavetap_status wavetap_context_configure_dispatch(
    wavetap_session* session, wavetap_context context, uint32_t agent,
    const wavetap_parameters* parameters, const wavetap_dispatch_handlers* handlers);

/**
 * Arms the trace unit of every agent of the context, at the same time, or of none: if one of them is
 * held by another context or does not start, those that did are disarmed again without a chunk. On
 * success everything issued after the return is traced. A context that runs already: success. Errors:
 * BUSY (at once; of contexts that share an agent and start together, one gets all of its agents),
 * NOT_FOUND, WRONG_STATE (not configured, or the session closes), WOULD_DEADLOCK, LIMIT (queue,
 * memory), UNAVAILABLE (the runtime refused; on gfx9 also: a trace unit is off behind its start), TIMEOUT
 * (5 s for the GPU, and 10 s more to disarm after a failure before; 120 s if a handler of the agent does
 * not return; a later start rebuilds the queue).
 *
 * Dispatch mode: takes the agents (BUSY as above), and shows the dispatches that are launched after the
 * return. UNSUPPORTED: the session does not see dispatches (wavetap_session_intercept()).
 */
WAVETAP_API wavetap_status wavetap_context_start(wavetap_session* session, wavetap_context context);
/**
 * Disarms and delivers, on all agents of the context at the same time. On return the stop packet has
 * retired, the handler was called for everything, and will not be called again for this run. A context
 * that does not run: success. After any error but WOULD_DEADLOCK, BUSY and NOT_FOUND the run is over
 * and data may be missing. Errors: also TIMEOUT (10 s for the GPU, 30 s a copy, 120 s if a
 * handler does not return), UNAVAILABLE.
 *
 * Dispatch mode: no dispatch is shown any more; waits until those that were chosen have run and were
 * delivered (TIMEOUT: 10 s; those end with TIMEOUT, the program goes on, and queues that still hold
 * them are not traced any more). Another context can start on the agents at once. WOULD_DEADLOCK also
 * on ROCr's handler thread while chosen dispatches are left, which that thread must bring on.
 */
WAVETAP_API wavetap_status wavetap_context_stop(wavetap_session* session, wavetap_context context);

/** What became of an asynchronous stop. Must return; must not throw. */
typedef void (*wavetap_stop_handler)(wavetap_context context, wavetap_status status, void* user);
/**
 * Asks for wavetap_context_stop() on wavetap's own thread of the agent and returns at once, so it may
 * be called from chunk handlers and stop handlers, too. After SUCCESS \p handler (may be null) is called
 * exactly once on that thread, after the run's last chunk, with the status of the stop (BUSY: another
 * thread stops the context, and its call has not returned yet);
 * wavetap_last_error() has the words there. It follows the rules of chunk handlers, except that start,
 * stop and destroy are carried out in it. Session close waits for it. Dispatch mode: the stop and its
 * handler run on a thread that the call makes and that ends with them; the call may be made in dispatch
 * handlers, too. Errors: NOT_FOUND, WRONG_STATE
 * (not configured, or the session closes), LIMIT; then the handler is not called.
 */
WAVETAP_API wavetap_status wavetap_context_stop_async(wavetap_session* session,
                                                      wavetap_context context,
                                                      wavetap_stop_handler handler, void* user);
/** \p running becomes 1 or 0 (dispatch mode: 1 from start to stop). Errors: NOT_FOUND. */
WAVETAP_API wavetap_status wavetap_context_is_running(wavetap_session* session,
                                                      wavetap_context context, int* running);
/** \p pending becomes 1 if the context was started before the session had agents, else 0. */
WAVETAP_API wavetap_status wavetap_context_is_pending(wavetap_session* session,
                                                      wavetap_context context, int* pending);
/** Stops it first if it runs. Errors: BUSY, WOULD_DEADLOCK, NOT_FOUND; then the context stays. */
WAVETAP_API wavetap_status wavetap_context_destroy(wavetap_session* session,
                                                   wavetap_context context);

/**
 * Tells the traces of \p agent which code lies where, so that a decoder can resolve addresses. While
 * a trace runs the call returns once the GPU has written the marker (2 s at most); otherwise at once,
 * and the next start replays all loaded objects in load order. \p id is the caller's and is not
 * reused; \p address is the load address (address of ELF address 0). Call unloaded before the memory
 * is freed. Errors: NOT_FOUND (agent), TIMEOUT, UNAVAILABLE (the running trace lacks the marker).
 */
WAVETAP_API wavetap_status wavetap_code_object_loaded(wavetap_session* session, uint32_t agent,
                                                      uint64_t id, uint64_t address,
                                                      uint64_t bytes);
WAVETAP_API wavetap_status wavetap_code_object_unloaded(wavetap_session* session, uint32_t agent,
                                                        uint64_t id);

/** Counters of one agent since the session was opened; "held" ones are those of now. */
typedef struct wavetap_statistics {
    size_t size;                         /**< sizeof(wavetap_statistics) */
    uint64_t contexts;                   /**< configured ones, now */
    uint64_t runs;                       /**< finished */
    uint64_t starts, stops;              /**< that succeeded / were asked of the GPU */
    uint64_t refused;                    /**< starts that got a status other than success */
    uint64_t queues_created;             /**< more than 1 only after a GPU that did not answer */
    uint64_t output_slots, output_bytes; /**< device memory, held */
    uint64_t staging_bytes;              /**< landing area and staging slots in host memory, held */
    uint64_t control_bytes;              /**< control block and command memory, held */
    uint64_t host_bytes_per_idle_context;
    uint64_t threads; /**< held */
    uint64_t flips;   /**< changes of the output slot while running */
    uint64_t chunks;
    uint64_t bytes_delivered, bytes_lost;
    uint64_t gaps;    /**< segments that ended as LOST, and (N buffers) pauses of a trace */
    uint64_t markers; /**< code-object markers sent to the GPU */
    uint64_t deadline_misses;
    uint64_t handler_exceptions;
    uint64_t cpu_full;     /**< pauses because no staging slot was free */
    uint64_t gpu_full;     /**< pauses, or ends of a run, because the hardware had no room */
    uint64_t halted;       /**< pauses because the trace unit had gone off by itself */
    uint64_t serialized;   /**< dispatches that were held back and not traced (\c serialize_all) */
    uint64_t ring_waits;   /**< launches that waited for room in their queue's ring, as with a full
                              native one */
    uint64_t ring_crowded; /**< dispatches that could not be traced (\c traceable was 0): too many
                                packets came with one doorbell */
    uint64_t ring_full;    /**< the same: the ring stayed full for 60 s, or the launch was made on
                                ROCr's handler thread, which never waits */
} wavetap_statistics;

/** Errors: NOT_FOUND (agent). */
WAVETAP_API wavetap_status wavetap_get_statistics(wavetap_session* session, uint32_t agent,
                                                  wavetap_statistics* statistics);

/**
 * A *completion gate*, for a tool that has a packet interceptor of its own and uses device mode: it
 * holds a queue behind a kernel until the tool has acted on the kernel's end, for example has stopped
 * one context and chosen the next. Without it that is a race which a fast GPU wins: the program learns
 * of the end, and launches the next kernel, before ROCr has told anybody else. (Dispatch mode needs
 * none.)
 */
typedef struct wavetap_gate wavetap_gate;

#define WAVETAP_GATE_PACKETS 3 /**< most packets of one wavetap_gate_packets() */

/**
 * The queue has come to the packets of wavetap_gate_packets(): all before them has ended. Called once,
 * on ROCr's handler thread, with no lock of wavetap, ROCr or HIP held; when it has returned the queue goes
 * on. wavetap_context_start() and stop of device mode may be called in it. Must return; must not throw
 * (an exception is swallowed).
 */
typedef void (*wavetap_gate_handler)(void* user);

/**
 * Opens a gate for all queues of the process. \p api_table and \p deadline_scale as for
 * wavetap_session_open_hsa(); no session is needed. Errors: INVALID_ARGUMENT, UNSUPPORTED (table
 * version), LIMIT.
 */
WAVETAP_API wavetap_status wavetap_gate_open_hsa(void* api_table, double deadline_scale,
                                                 wavetap_gate** gate);
/**
 * Fills \p packets (room for WAVETAP_GATE_PACKETS AQL packets of 64 bytes) with barrier packets and
 * \p count with their number, 2 or 3. The interceptor writes them behind the kernels whose end it waits
 * for, in this order, into the same queue, which must have room for them. To let the *program* wait for
 * the handler, too, take the completion signal (its handle) out of the last dispatch packet and pass it
 * as \p completion_signal: the third packet completes it, at the barrier's time. 0: leave it where it
 * is; the program may then run ahead of the handler, the queue may not. May be called anywhere; waits for
 * nobody. Errors: INVALID_ARGUMENT (null), LIMIT, UNAVAILABLE (the runtime), WRONG_STATE (a forked
 * child); then the handler is not called.
 */
WAVETAP_API wavetap_status wavetap_gate_packets(wavetap_gate* gate, wavetap_gate_handler handler,
                                                void* user, uint64_t completion_signal,
                                                void* packets, uint32_t* count);
/**
 * Lets every queue go on that waits at the gate, calls no handler any more and waits for one that is
 * inside; while ROCr is alive (see wavetap_session_close()). Of packets that have not run the signals (three
 * for each call) stay allocated, so close it after the queues have come to rest. No other thread may use the
 * gate any more. Errors: WOULD_DEADLOCK (from a handler; the gate stays), TIMEOUT (10 s: a handler does
 * not return; the gate is gone, what that handler uses stays), WRONG_STATE (a forked child; the same).
 */
WAVETAP_API wavetap_status wavetap_gate_close(wavetap_gate* gate);

#ifdef __cplusplus
} /* extern "C" */
#endif
