/* SPDX-FileCopyrightText: 2026 The wavetap authors */
/* SPDX-License-Identifier: MIT */
#pragma once

/**
 * \file decode.h
 * Decoding thread traces (ATT, SQTT) of AMD GPUs: the C interface of libwavetap-decode.so. It needs
 * no GPU, no ROCm and no libwavetap.so (which in turn needs no LLVM).
 *
 *     wavetap_decoder* decoder;
 *     wavetap_decoder_create(NULL, &decoder);
 *     wavetap_decoder_load_code(decoder, 1, 0x7f0000001000, elf, elf_bytes);
 *     wavetap_decode_handlers handlers = {.size = sizeof handlers, .wave = on_wave};
 *     if (wavetap_decoder_decode(decoder, blob, blob_bytes, &handlers, user) != WAVETAP_STATUS_SUCCESS)
 *         puts(wavetap_decode_last_error());
 *     wavetap_decoder_destroy(decoder);
 *
 * A *blob* is what one shader engine wrote; gfx9 blobs begin with the eight-byte software header.
 * Times are shader clocks since the blob's first token.
 *
 * Threads: any number of decoders and scanners may be used at once, each by one thread at a time.
 * Handlers are called by the thread that decodes, before the function returns; they may call this
 * interface for other decoders, not for the one that is decoding. There is no global state but the
 * error text, which is the calling thread's own.
 *
 * Errors: nothing here prints, ends the process or throws; handlers must not throw either. Damaged
 * traces decode as far as they make sense and are told by diagnostics; only an unknown header is an
 * error. A null pointer where one is required is WAVETAP_STATUS_INVALID_ARGUMENT.
 *
 * Memory: handles are opaque. What is handed in is read during the call (code objects are copied);
 * what a handler gets is valid during its call. Beside that, a decode needs memory for the waves that
 * are open and the code they run through, whatever the length of the trace.
 *
 * Layers: tokens, what they say (occupancy, dispatches, registers, code objects, events, samples),
 * waves with their instructions, totals. Set the handlers of those that are wanted: what nobody asks
 * for is not made, and with the token handler alone nothing is decoded at all.
 *
 * ABI: the handler table starts with its size, set by the caller; newer libraries accept older sizes.
 * The layouts of records are fixed within a SONAME, but records that come one a call may grow at
 * their end.
 */

#include <wavetap/wavetap.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the calling thread's last failed call had to say, in one line; "" before the first.
 * wavetap_status_name() is in this library, too. */
WAVETAP_API const char* wavetap_decode_last_error(void);
/** WAVETAP_VERSION_MAJOR << 16 | WAVETAP_VERSION_MINOR of the library. */
WAVETAP_API uint32_t wavetap_decode_version(void);

/** A program counter. */
typedef struct wavetap_pc {
    uint64_t absolute;    /**< 0 = not known */
    uint64_t elf_address; /**< in the code object, if there is one */
    uint64_t code_object; /**< its id; 0 = none covers the address */
} wavetap_pc;

/** Which unit an instruction went to. Values are stable. */
typedef enum wavetap_category {
    WAVETAP_CATEGORY_SMEM = 0,
    WAVETAP_CATEGORY_SALU = 1,
    WAVETAP_CATEGORY_VMEM = 2,
    WAVETAP_CATEGORY_FLAT = 3,
    WAVETAP_CATEGORY_LDS = 4,
    WAVETAP_CATEGORY_VALU = 5,
    WAVETAP_CATEGORY_JUMP = 6,  /**< a branch that was taken */
    WAVETAP_CATEGORY_NEXT = 7,  /**< one that was not */
    WAVETAP_CATEGORY_IMMED = 8, /**< done by the wave itself: waits, s_nop, barriers */
    WAVETAP_CATEGORY_TRAP = 9,  /**< the wave was in a trap or saved */
    WAVETAP_CATEGORY_MSG = 10,
    WAVETAP_CATEGORY_BVH = 11
} wavetap_category;
/** "SMEM", …; never null, static storage. */
WAVETAP_API const char* wavetap_category_name(wavetap_category category);

/** One executed instruction. */
typedef struct wavetap_instruction {
    uint64_t time;     /**< first attempt to issue; time + stall = the clock of issue */
    uint32_t duration; /**< stall and issue (gfx9) or execution (later) */
    uint32_t stall;
    wavetap_pc pc;
    uint32_t category; /**< a wavetap_category */
    uint32_t reserved;
} wavetap_instruction;

/** What a wave did for a while. Values are stable. */
typedef enum wavetap_wave_state {
    WAVETAP_WAVE_EMPTY = 0,
    WAVETAP_WAVE_IDLE = 1,
    WAVETAP_WAVE_EXEC = 2,
    WAVETAP_WAVE_WAIT = 3,
    WAVETAP_WAVE_STALL = 4
} wavetap_wave_state;

/** A piece of a wave's life; pieces follow each other from its start. */
typedef struct wavetap_timeline_piece {
    uint64_t clocks;
    uint32_t state; /**< a wavetap_wave_state */
    uint32_t reserved;
} wavetap_timeline_piece;

enum {
    WAVETAP_WAVE_COMPLETE = 1,   /**< its end was seen */
    WAVETAP_WAVE_START_SEEN = 2, /**< else it ran before the trace began */
    WAVETAP_WAVE_ON_TARGET = 4,  /**< where instruction detail is recorded */
    WAVETAP_WAVE_STITCHED = 8    /**< every instruction has its program counter, none is a guess */
};

/** A wave, told when it ends (or when the trace does). */
typedef struct wavetap_wave {
    uint64_t start, end;
    wavetap_pc entry; /**< where its kernel begins */
    uint8_t sa;       /**< shader array */
    uint8_t cu;       /**< gfx9: CU; later: WGP */
    uint8_t simd, slot;
    uint8_t me, pipe; /**< of the queue */
    uint8_t contexts; /**< context saves and restores */
    uint8_t workgroup;
    uint32_t flags;               /**< WAVETAP_WAVE_… */
    uint32_t lines_without_token; /**< lines of code that had to be stepped over */
    const wavetap_instruction* instructions;
    size_t instruction_count;
    const wavetap_timeline_piece* timeline;
    size_t timeline_count;
    /** How well the code fits: instructions that have their program counter, and that lack it. The
     * time in a trap (WAVETAP_CATEGORY_TRAP) has none and is in neither. */
    uint64_t with_pc, without_pc;
} wavetap_wave;

/** A kernel launch, as the registers tell it. */
typedef struct wavetap_dispatch {
    uint64_t time;
    wavetap_pc entry;
    uint32_t threads[3];   /**< of a work-group */
    uint32_t rsrc1, rsrc2; /**< COMPUTE_PGM_RSRC1, 2 */
    uint32_t me, pipe;
    uint64_t packet_address; /**< of the AQL packet, 0 = not told */
    uint64_t byte_offset;    /**< of its token in the blob or chunk */
} wavetap_dispatch;

/** Something that happened to the engine or the trace. */
typedef struct wavetap_event {
    uint64_t time;
    const char* kind; /**< a stable word: "partial-flush", "packets-lost", "code-object-load", … */
    uint64_t payload; /**< code objects: the id; cache flushes: the event's number */
    uint64_t byte_offset;
    uint32_t me, pipe;
} wavetap_event;

/** One kind of fault of a stream. */
typedef struct wavetap_diagnostic {
    const char* kind;     /**< a stable word: "packets-lost", "stitch-incomplete", … */
    const char* severity; /**< "info", "data-loss" or "error" */
    const char* advice;   /**< what to do, or what not to trust, in a sentence */
    uint64_t count;
    uint64_t first_byte_offset; /**< where it was first; of a whole wave: its first or last token */
    uint64_t first_time;        /**< likewise, the shader clock; of a whole wave: its start */
    const char* sentence;       /**< what happened */
} wavetap_diagnostic;

/** A field of a token. */
typedef struct wavetap_token_field {
    const char* name; /**< a stable word: "slot", "pipe", "data", …; static storage */
    uint64_t value;
} wavetap_token_field;

/** A token as it stands in the stream, padding included. */
typedef struct wavetap_token {
    uint64_t offset_bits; /**< of its first bit, from the first byte that was decoded */
    const char* name; /**< "WSTART", "INST", …; "UNKNOWN" if the table has none; static storage */
    uint32_t bits;    /**< its length */
    uint32_t delta; /**< its time field, in shader clocks (gfx9: units of four), 0 if it has none */
    uint64_t low, high;                /**< its bits, the first 64 and the rest */
    const wavetap_token_field* fields; /**< all that have a meaning, beside the time */
    size_t field_count;
} wavetap_token;

enum {
    WAVETAP_OCCUPANCY_START = 1,    /**< the slot was taken; else it was given back */
    WAVETAP_OCCUPANCY_WORKGROUP = 2 /**< `workgroup` is known */
};

/** A wave slot of the shader engine was taken or given back, on any CU, in stream order. */
typedef struct wavetap_occupancy {
    uint64_t time;
    wavetap_pc entry; /**< where the wave's kernel begins */
    uint8_t sa;       /**< shader array */
    uint8_t cu;       /**< gfx9: CU; later: WGP */
    uint8_t simd, slot;
    uint8_t me, pipe; /**< of the queue */
    uint8_t workgroup;
    uint8_t cluster; /**< gfx1250; 0 = none */
    uint32_t flags;  /**< WAVETAP_OCCUPANCY_… */
    uint32_t reserved;
} wavetap_occupancy;

/**
 * A write of a register from 0xC000 on (user configuration: 0xC340 to 0xC343 are the user-data
 * registers of the trace). What the compute registers say is in dispatches and entries; the writes
 * themselves are tokens.
 */
typedef struct wavetap_register_write {
    uint64_t time;
    uint32_t reg; /**< number of the register, in dwords */
    uint32_t data;
} wavetap_register_write;

enum {
    WAVETAP_CODE_MARKER_UNLOAD = 1,    /**< it was unloaded; the address says nothing */
    WAVETAP_CODE_MARKER_FROM_START = 2 /**< it was loaded before the trace began */
};

/** What a marker in the stream says of a code object. */
typedef struct wavetap_code_marker {
    uint64_t time;
    uint64_t id;
    uint64_t address; /**< where it was loaded */
    uint64_t bytes;
    uint32_t flags; /**< WAVETAP_CODE_MARKER_… */
    uint32_t reserved;
} wavetap_code_marker;

enum {
    WAVETAP_SHADER_DATA_IMMEDIATE = 1, /**< the short form, of one byte */
    WAVETAP_SHADER_DATA_PRIVILEGED = 2 /**< written by the trap handler */
};

/** What a wave wrote into the trace (s_ttracedata). */
typedef struct wavetap_shader_data {
    uint64_t time;
    uint32_t value;
    uint32_t flags; /**< WAVETAP_SHADER_DATA_… */
    uint8_t sa;     /**< shader array */
    uint8_t cu;     /**< gfx9: CU; later: WGP */
    uint8_t simd, slot;
    uint32_t reserved;
} wavetap_shader_data;

/** A sample of the performance counters of a CU (gfx9). */
typedef struct wavetap_counters {
    uint64_t time;
    uint16_t counters[4]; /**< of the bank, 13 bits each */
    uint8_t cu, bank;
    uint8_t reserved[6];
} wavetap_counters;

/** An instruction that another SIMD of the target's WGP issued (gfx11 and later). */
typedef struct wavetap_other_simd {
    uint64_t time; /**< of issue */
    uint32_t cycles;
    uint32_t category; /**< a wavetap_category: LDS, FLAT or VMEM */
} wavetap_other_simd;

/** Sums over a stream. */
typedef struct wavetap_totals {
    uint64_t tokens; /**< padding included */
    uint64_t first_time, last_time;
    uint64_t instructions;          /**< of all waves */
    uint64_t instructions_with_pc;  /**< 0 if neither waves nor diagnostics are wanted */
    uint64_t clock_base;            /**< gfx9: the absolute clock of time 0; 0 = not told */
    uint32_t counter_frequency_khz; /**< of the constant counter, if the stream names it; else 0 */
    uint32_t reserved;
} wavetap_totals;

/** Who is called; null members are left out. Records of one kind come in stream order. */
typedef struct wavetap_decode_handlers {
    size_t size; /**< sizeof(wavetap_decode_handlers); a larger one is INVALID_ARGUMENT */
    void (*wave)(const wavetap_wave* wave, void* user);
    void (*dispatch)(const wavetap_dispatch* dispatch, void* user);
    void (*event)(const wavetap_event* event, void* user);
    /** A sample of the constant counter at a shader clock. */
    void (*realtime)(uint64_t time, uint64_t counter, void* user);
    void (*diagnostic)(const wavetap_diagnostic* diagnostic, void* user); /**< last */
    /** The tokens of the bytes of a call come before its other records. */
    void (*token)(const wavetap_token* token, void* user);
    void (*occupancy)(const wavetap_occupancy* occupancy, void* user);
    void (*register_write)(const wavetap_register_write* write, void* user);
    void (*code_object)(const wavetap_code_marker* object, void* user);
    void (*shader_data)(const wavetap_shader_data* data, void* user);
    void (*counters)(const wavetap_counters* counters, void* user);
    void (*other_simd)(const wavetap_other_simd* instruction, void* user);
    void (*totals)(const wavetap_totals* totals, void* user); /**< once, before diagnostics */
} wavetap_decode_handlers;

/** Code objects, and how to decode. */
typedef struct wavetap_decoder wavetap_decoder;

/**
 * \p gfx names the chip ("gfx90a") whose instructions are disassembled; null: that of the first code
 * object. Errors: UNSUPPORTED (unknown chip), LIMIT.
 */
WAVETAP_API wavetap_status wavetap_decoder_create(const char* gfx, wavetap_decoder** decoder);
/** Null is fine. */
WAVETAP_API void wavetap_decoder_destroy(wavetap_decoder* decoder);
/**
 * An AMDGPU ELF file that was loaded at \p load_address (the address of ELF address 0). \p id is that
 * of the stream's markers where it has some; any number but 0 otherwise. Errors: CORRUPT, UNSUPPORTED
 * (no AMDGPU ELF), WRONG_STATE (the id is taken).
 */
WAVETAP_API wavetap_status wavetap_decoder_load_code(wavetap_decoder* decoder, uint64_t id,
                                                     uint64_t load_address, const void* elf,
                                                     size_t bytes);
/** Errors: NOT_FOUND. */
WAVETAP_API wavetap_status wavetap_decoder_unload_code(wavetap_decoder* decoder, uint64_t id);
/**
 * Decodes one blob. Without code objects waves have instructions without program counters. Errors:
 * CORRUPT (no known header), UNSUPPORTED (no disassembler for the code's chip).
 */
WAVETAP_API wavetap_status wavetap_decoder_decode(wavetap_decoder* decoder, const void* blob,
                                                  size_t bytes,
                                                  const wavetap_decode_handlers* handlers,
                                                  void* user);
/** A decode whose bytes come in pieces. */
typedef struct wavetap_stream wavetap_stream;

/**
 * Begins a stream that decodes with the code objects which \p decoder has now; it may not be changed
 * or destroyed before the stream. Errors: as wavetap_decoder_decode().
 */
WAVETAP_API wavetap_status wavetap_stream_create(wavetap_decoder* decoder,
                                                 const wavetap_decode_handlers* handlers,
                                                 void* user, wavetap_stream** stream);
/**
 * The next bytes, any number of them; the first ones begin with the header. The records are those of
 * wavetap_decoder_decode() for all bytes together, and come when what belongs to them is there: some
 * during later calls. Errors: CORRUPT (no known header), WRONG_STATE (it was finished).
 */
WAVETAP_API wavetap_status wavetap_stream_feed(wavetap_stream* stream, const void* data,
                                               size_t bytes);
/**
 * The next chunk of a capture with several buffers. Its first \p read_offset bytes (0, 2, 4 or 6;
 * wavetap_chunk::read_offset) end a token of the chunk before. \p missing: not 0 if that one was not
 * fed, because it was lost or dropped; then those bytes are left out, as is the beginning of a token
 * that the last chunk cut, and it is told: an event and a diagnostic "packets-lost", a diagnostic
 * "cut-token". Waves go on with what is seen of them. The time that passed is not known: on gfx9 times
 * are right again from the next timestamp behind a reset on, elsewhere they stay behind.
 *
 * A chunk that only repeats the stream's header with zeros behind it begins a segment of its own
 * (nothing was recorded since the one before): it is left out and told in the same way.
 *
 * Errors: as wavetap_stream_feed(); INVALID_ARGUMENT (\p read_offset is beyond the chunk).
 */
WAVETAP_API wavetap_status wavetap_stream_feed_chunk(wavetap_stream* stream, const void* chunk,
                                                     size_t bytes, size_t read_offset, int missing);
/** The end: the rest of the records, then totals and diagnostics. Errors: CORRUPT (fewer than eight
 * bytes came), WRONG_STATE (it was finished). */
WAVETAP_API wavetap_status wavetap_stream_finish(wavetap_stream* stream);
/** Without finish() the rest is dropped. Null is fine. */
WAVETAP_API void wavetap_stream_destroy(wavetap_stream* stream);

/**
 * The instruction at \p elf_address of code object \p id, as text with a terminator. \p size: in, room
 * of \p text; out, what the text needs. Errors: NOT_FOUND (no such object, or nothing there), LIMIT
 * (it does not fit), UNSUPPORTED.
 */
WAVETAP_API wavetap_status wavetap_decoder_text(wavetap_decoder* decoder, uint64_t id,
                                                uint64_t elf_address, char* text, size_t* size);

/** The quick way through a stream that comes in chunks: dispatches and events, no waves. */
typedef struct wavetap_scanner wavetap_scanner;

/** Errors: LIMIT. */
WAVETAP_API wavetap_status wavetap_scanner_create(wavetap_scanner** scanner);
/** Null is fine. */
WAVETAP_API void wavetap_scanner_destroy(wavetap_scanner* scanner);
/**
 * The next chunk; the first one begins with the header and has at least its eight bytes. Tokens may
 * lie across chunks: one is told with the chunk that ends it, at byte 0. Uses dispatch, event,
 * realtime, register_write and code_object of \p handlers. gfx9: what lies between a time reset at
 * the end of a chunk and its timestamp in the next one (four tokens at most in real traces) is told
 * with the time before the reset.
 * Errors: CORRUPT (no known header; the next chunk may be a first one again).
 */
WAVETAP_API wavetap_status wavetap_scanner_feed(wavetap_scanner* scanner, const void* chunk,
                                                size_t bytes,
                                                const wavetap_decode_handlers* handlers,
                                                void* user);

/**
 * Cuts dispatch \p index (from 0) out of a blob, as a blob that decodes alone with the same times
 * (docs/cutting.md). \p size: in, room of \p out; out, what is needed. Errors: NOT_FOUND (fewer
 * dispatches), LIMIT (it does not fit), CORRUPT.
 */
WAVETAP_API wavetap_status wavetap_decode_cut_dispatch(const void* blob, size_t bytes,
                                                       uint64_t index, void* out, size_t* size);
/** The same for the tokens of clocks [\p begin, \p end). */
WAVETAP_API wavetap_status wavetap_decode_cut_window(const void* blob, size_t bytes, uint64_t begin,
                                                     uint64_t end, void* out, size_t* size);

#ifdef __cplusplus
}
#endif
