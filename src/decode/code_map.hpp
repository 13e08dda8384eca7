// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/mutex.hpp"
#include "code/disassembler.hpp"
#include "decode/decoder.hpp"
#include "decode/records.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
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
    static constexpr std::uint8_t kUnknown = 1; ///< the flags of unknown()
    code::LineClass line_class = code::LineClass::kSkip;
    std::uint8_t size_bytes = 0; ///< 0: not an instruction
    std::uint8_t flags = 0;
    std::int32_t target = 0; ///< branch target minus the line's own address

    bool valid() const { return size_bytes != 0; }
    /// Not valid: there are bytes of code, but they are no instruction that the disassembler knows.
    static CodeLine unknown() { return {code::LineClass::kSkip, 0, kUnknown, 0}; }
    bool is_unknown() const { return size_bytes == 0 && flags == kUnknown; }
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
    /// there is none; CodeLine::unknown() where bytes are no instruction.
    virtual CodeLine fetch(std::uint64_t id, std::uint64_t address) = 0;
    /// True if the source has the bytes of object `id`.
    virtual bool knows(std::uint64_t id) const = 0;
};

/// A program counter as the decoder keeps it.
struct PcRef {
    std::uint32_t object = 0;  ///< index into the map's objects; 0 = none
    std::uint64_t address = 0; ///< ELF address, or absolute when object is 0
};

/// The code objects that are loaded. Not thread safe, but fetch(), has_code() and pc_of() may be
/// called from several threads while nothing is loaded or unloaded.
class CodeMap {
  public:
    /// `source` may be null: then nothing has lines. `objects` are always loaded.
    CodeMap(CodeSource* source, const std::vector<LoadedObject>& objects);

    /// Code objects of markers that are kept, unloaded ones included: damaged markers must not make
    /// the table grow without bound. One that is loaded again where it was counts once.
    static constexpr std::size_t kMaxObjects = 1U << 16;

    /// A code object was loaded (marker). One with the same id that is live is kept. False if there
    /// are too many: it is not known then.
    bool load(std::uint64_t address, std::uint64_t size, std::uint64_t id, bool from_start);
    void unload(std::uint64_t id);

    /// Which live object covers `absolute`. Markers come before the caller's objects.
    PcRef attribute(std::uint64_t absolute) {
        return absolute == memo_address_ ? memo_ : find_and_keep(absolute);
    }
    /// For an address that no object covered when it was seen: one that was loaded before the trace
    /// began, as the stream says by now. Objects loaded since are not asked.
    PcRef attribute_late(std::uint64_t absolute) const;
    Pc pc_of(PcRef ref) const;

    /// True if the source has the bytes of the object.
    bool has_code(std::uint32_t object) const { return objects_[object].has_code; }
    /// What the source calls the object's bytes.
    std::uint64_t code_id(std::uint32_t object) const { return objects_[object].code_id; }
    /// The line at `ref` from the source; an invalid one where there is none. Slow: see LineCache.
    CodeLine fetch(PcRef ref) WAVETAP_EXCLUDES(source_mutex_);

    /// Called before an object is loaded or unloaded: program counters that were attributed before
    /// must be used up now.
    std::function<void()> before_change;

  private:
    struct Object {
        std::uint64_t id = 0;
        std::uint64_t code_id = 0; ///< what the source calls its bytes
        std::uint64_t address = 0; ///< load base: absolute = address + ELF address
        std::uint64_t size = 0;
        bool from_start = false;
        bool live = false;
        bool has_code = false; ///< the source has its bytes
    };

    PcRef find_and_keep(std::uint64_t absolute);
    PcRef find_live(std::uint64_t absolute) const;
    std::uint32_t find(const std::vector<std::uint32_t>& sorted, std::uint64_t absolute) const;
    void make_live(std::uint32_t index);
    void insert_sorted(std::vector<std::uint32_t>& sorted, std::uint32_t index);
    std::uint64_t code_id_for(std::uint64_t id, std::uint64_t address) const;

    CodeSource* source_;
    Mutex source_mutex_;                                     ///< one call of the source at a time
    std::vector<Object> objects_;                            ///< [0] = no object
    std::unordered_map<std::uint64_t, std::uint32_t> by_id_; ///< newest from markers of each id
    std::vector<std::uint32_t> given_;                       ///< the caller's, by address
    std::vector<std::uint32_t> live_;                        ///< from markers, by address
    std::vector<std::uint32_t> from_start_;                  ///< from markers, by address
    static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};
    std::uint64_t memo_address_ = kNoAddress;
    PcRef memo_;
};

/// The categories whose instructions stand for the line and nothing more, by bit, and kPlainSkip.
/// 0: the line wants a closer look.
std::uint16_t plain_categories(const CodeLine& line);
inline constexpr std::uint16_t kPlainSkip = 1U << 12; ///< the line has no token

/// Lines that were fetched from a CodeMap, by page of 4 KiB. Bounded: when it is full it starts
/// afresh. Not thread safe; several may use one map.
class LineCache {
  public:
    static constexpr unsigned kPageShift = 12;
    static constexpr std::uint64_t kPageMask = (1U << kPageShift) - 1;
    struct Slot {
        CodeLine line;
        std::uint16_t plain = 0; ///< plain_categories() of the line
        bool known = false;
    };
    static_assert(sizeof(Slot) == 12);

    /// `max_pages`: 12 KiB each.
    LineCache(CodeMap& map, std::size_t max_pages) : map_(&map), max_pages_(max_pages) {}

    /// An invalid line where there is none.
    CodeLine line(PcRef ref) {
        const std::uint64_t page = ref.address >> kPageShift;
        if (ref.object != last_object_ || page != last_page_) {
            if (!map_->has_code(ref.object)) return {};
            find_page(ref.object, page);
        }
        Slot& slot = last_->slots[(ref.address & kPageMask) >> 2];
        if (!slot.known) fetch(slot, ref);
        return slot.line;
    }
    /// The lines of the page of `ref`, one for each four bytes, that it knows by now; null if its
    /// object has no code. Good until another page is asked for.
    const Slot* page(PcRef ref) {
        const std::uint64_t page = ref.address >> kPageShift;
        if (ref.object != last_object_ || page != last_page_) {
            if (!map_->has_code(ref.object)) return nullptr;
            find_page(ref.object, page);
        }
        return last_->slots.data();
    }

  private:
    struct Page {
        std::array<Slot, (1U << kPageShift) / 4> slots;
    };
    struct Key {
        std::uint64_t page = 0;
        std::uint32_t object = 0;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const {
            return static_cast<std::size_t>(
                (key.page + key.object * 0x9E3779B9ULL) * 0x9E3779B97F4A7C15ULL >> 20);
        }
    };
    void find_page(std::uint32_t object, std::uint64_t page);
    void fetch(Slot& slot, PcRef ref);

    CodeMap* map_;
    std::size_t max_pages_;
    std::unordered_map<Key, std::unique_ptr<Page>, Hash> pages_;
    Page* last_ = nullptr;
    std::uint32_t last_object_ = 0;
    std::uint64_t last_page_ = ~std::uint64_t{0};
};

} // namespace wavetap::decode
