// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/disassembler.hpp"
#include "decode/decoder.hpp"
#include "decode/records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace wavetap::decode {

/// One line of code as far as stitching needs it.
struct CodeLine {
    enum Flag : std::uint8_t {
        kWaitcnt = 1,      ///< s_waitcnt*
        kLoad = 2,         ///< *_load_*, not scratch
        kBarrier = 4,      ///< s_barrier (gfx9 to gfx11)
        kBarrierWait = 8,  ///< s_barrier_wait (gfx12)
        kMatrixScale = 16, ///< v_mfma_scale_*
        kMove64 = 32,      ///< v_mov_b64*
        kHasTarget = 64,   ///< branch with a known target
        kMatrix = 128,     ///< v_mfma*, v_smfma*, v_wmma*, v_swmma*
    };
    code::LineClass line_class = code::LineClass::kSkip;
    std::uint8_t size_bytes = 0; ///< 0: not an instruction
    std::uint8_t flags = 0;
    std::int32_t target = 0; ///< branch target minus the line's own address

    bool valid() const { return size_bytes != 0; }
    bool has(Flag flag) const { return (flags & flag) != 0; }
};

/// Classifies a line of disassembly ("s_cbranch_scc0 3", LLVM syntax). The branch distance is the
/// last word, in units of four bytes from the following instruction.
CodeLine line_from_text(std::string_view text, std::uint32_t size_bytes, bool is_gfx12);

/// Where lines come from. Not thread safe.
class CodeSource {
  public:
    virtual ~CodeSource() = default;
    /// The line at `address` of object `id` (id 0: an absolute address). An invalid line where
    /// there is none.
    virtual CodeLine fetch(std::uint64_t id, std::uint64_t address) = 0;
    /// True if the source has the bytes of object `id`.
    virtual bool knows(std::uint64_t id) const = 0;
};

/// A program counter as the decoder keeps it.
struct PcRef {
    std::uint32_t object = 0;  ///< index into the map's objects; 0 = none
    std::uint64_t address = 0; ///< ELF address, or absolute when object is 0
};

/// The code objects that are loaded, and a cache of their lines (at most 32 MiB, then it starts
/// afresh). Not thread safe.
class CodeMap {
  public:
    /// `source` may be null: then nothing has lines. `objects` are always loaded.
    CodeMap(CodeSource* source, const std::vector<LoadedObject>& objects);

    /// A code object was loaded (marker). One with the same id that is live is kept.
    void load(std::uint64_t address, std::uint64_t size, std::uint64_t id, bool from_start);
    void unload(std::uint64_t id);

    /// Which live object covers `absolute`. Markers come before the caller's objects.
    PcRef attribute(std::uint64_t absolute);
    /// As attribute(), then also objects that were loaded before the trace began.
    PcRef attribute_late(std::uint64_t absolute);
    Pc pc_of(PcRef ref) const;

    /// The line at `ref`, from the cache or the source; an invalid one where there is none.
    CodeLine line(PcRef ref) {
        const std::uint64_t page = ref.address >> kPageShift;
        if (ref.object != last_object_ || page != last_page_) {
            if (!objects_[ref.object].has_code) return {};
            find_page(ref.object, page);
        }
        Slot& slot = last_->slots[(ref.address & kPageMask) >> 2];
        if (!slot.known) fetch(slot, ref);
        return slot.line;
    }

  private:
    static constexpr unsigned kPageShift = 12;
    static constexpr std::uint64_t kPageMask = (1U << kPageShift) - 1;
    struct Slot {
        CodeLine line;
        bool known = false;
    };
    struct Page {
        std::array<Slot, (1U << kPageShift) / 4> slots;
    };
    struct Object {
        std::uint64_t id = 0;
        std::uint64_t code_id = 0; ///< what the source calls its bytes
        std::uint64_t address = 0; ///< load base: absolute = address + ELF address
        std::uint64_t size = 0;
        bool from_start = false;
        bool has_code = false; ///< the source has its bytes
        std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages;
    };

    PcRef find_live(std::uint64_t absolute) const;
    void find_page(std::uint32_t object, std::uint64_t page);
    void fetch(Slot& slot, PcRef ref);
    std::uint32_t find(const std::vector<std::uint32_t>& sorted, std::uint64_t absolute) const;
    void insert_sorted(std::vector<std::uint32_t>& sorted, std::uint32_t index);
    std::uint64_t code_id_for(std::uint64_t id, std::uint64_t address) const;

    CodeSource* source_;
    std::vector<Object> objects_; ///< [0] = no object
    std::unordered_set<std::uint64_t> live_ids_;
    std::vector<std::uint32_t> given_;      ///< the caller's, by address
    std::vector<std::uint32_t> live_;       ///< from markers, by address
    std::vector<std::uint32_t> from_start_; ///< from markers, by address
    static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};
    std::uint64_t memo_address_ = kNoAddress;
    PcRef memo_;
    Page* last_ = nullptr;
    std::uint32_t last_object_ = 0;
    std::uint64_t last_page_ = ~std::uint64_t{0};
    std::size_t pages_ = 0;
};

} // namespace wavetap::decode
