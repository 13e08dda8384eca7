// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What a decoded blob (the bytes of one shader engine) contains. Times are shader clocks since the
// blob's first token unless a name says otherwise.

namespace wavetap::decode {

enum class Category : std::uint8_t {
    kSmem,
    kSalu,
    kVmem,
    kFlat,
    kLds,
    kValu,
    kJump,
    kNext,
    kImmed,
    kTrap,
    kMsg,
    kBvh,
};
const char* category_name(Category category) noexcept; ///< "SMEM", …

enum class WaveState : std::uint8_t { kEmpty, kIdle, kExec, kWait, kStall };
const char* wave_state_name(WaveState state) noexcept;

/// A program counter: code object and offset where one covers it.
struct Pc {
    std::uint64_t absolute = 0;    ///< 0 = not stitched
    std::uint64_t elf_address = 0; ///< valid when code_object != 0
    std::uint64_t code_object = 0; ///< id of the marker or of the caller's object; 0 = none
};

struct InstructionRecord {
    Category category = Category::kSalu;
    std::uint64_t time = 0;     ///< first attempt to issue
    std::uint32_t duration = 0; ///< stall + issue cycles
    std::uint32_t stall = 0;    ///< time + stall = the clock of issue
    Pc pc;
};

struct WaveRecord {
    std::uint8_t sa = 0;
    std::uint8_t cu = 0; ///< gfx9: CU; gfx10+: WGP
    std::uint8_t simd = 0;
    std::uint8_t slot = 0;
    std::uint8_t me = 0;
    std::uint8_t pipe = 0;
    std::uint8_t count = 0; ///< raw 7-bit thread count field
    bool complete = true;   ///< an end token was seen
    bool on_target = false; ///< instruction detail is recorded for it
    std::uint64_t start = 0;
    std::uint64_t end = 0; ///< clock of the end token
    Pc entry;
    std::uint64_t record_end = 0; ///< gfx9 target waves: end + 4 (golden key wave_record_end)
    std::vector<InstructionRecord> instructions;
    std::vector<std::pair<WaveState, std::uint64_t>> timeline;
    struct ExcludedBarrierWait {
        std::uint32_t index = 0;
        std::uint64_t pc = 0;
    };
    std::vector<ExcludedBarrierWait> excluded_barrier_waits; ///< gfx12
};

struct DispatchRecord {
    std::uint64_t time = 0;
    std::uint8_t me = 0, pipe = 0;
    std::uint32_t initiator = 0;
    Pc entry;
    std::uint32_t threads[3] = {};
    std::uint32_t rsrc1 = 0, rsrc2 = 0;
    std::uint64_t packet_va = 0;
};

struct RealtimeRecord {
    std::uint64_t time = 0;    ///< shader clock of the blob
    std::uint64_t counter = 0; ///< constant counter
};

struct RegisterWrite {
    std::uint64_t time = 0;
    std::uint32_t reg = 0; ///< absolute dword number
    std::uint32_t data = 0;
};

struct CodeObjectEvent {
    std::uint64_t time = 0;
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0; ///< load only
    bool unload = false, from_start = false;
};

/// One kind of fault in a stream; counted, never fatal.
struct Diagnostic {
    const char* kind = "";     ///< stable word, e.g. "packets-lost"
    const char* severity = ""; ///< "info", "data-loss", "error"
    const char* advice = "";   ///< one sentence for the user
    std::uint64_t count = 0;
    std::uint64_t first_offset_bytes = 0;
    std::uint64_t first_time = 0;
};

} // namespace wavetap::decode
