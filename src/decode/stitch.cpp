// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/stitch.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace wavetap::decode {
namespace {

using code::LineClass;

constexpr unsigned kMaxLinesWithoutToken = 1000;
constexpr unsigned kLookAhead = 32;
constexpr std::size_t kMaxWaitsInARow = 16;

constexpr std::uint16_t bit(LineClass line_class) {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(line_class));
}

/// Which line classes a token category can stand for.
constexpr std::array<std::uint16_t, 12> kFits = [] {
    std::array<std::uint16_t, 12> fits{};
    const auto set = [&fits](Category category, unsigned classes) {
        fits[static_cast<std::size_t>(category)] = static_cast<std::uint16_t>(classes);
    };
    set(Category::kSmem, bit(LineClass::kSmem));
    set(Category::kSalu, bit(LineClass::kSalu));
    set(Category::kVmem, bit(LineClass::kVmem));
    set(Category::kFlat, bit(LineClass::kFlat) | bit(LineClass::kVmem));
    set(Category::kLds, bit(LineClass::kLds));
    set(Category::kValu, bit(LineClass::kValu));
    set(Category::kJump, bit(LineClass::kBranch));
    set(Category::kNext, bit(LineClass::kBranch));
    set(Category::kImmed, bit(LineClass::kImmed));
    set(Category::kMsg, bit(LineClass::kImmed));
    set(Category::kBvh, bit(LineClass::kBvh));
    return fits;
}();

constexpr std::uint16_t kMemoryOrValu = bit(LineClass::kSmem) | bit(LineClass::kVmem) |
                                        bit(LineClass::kFlat) | bit(LineClass::kLds) |
                                        bit(LineClass::kBvh) | bit(LineClass::kValu);

bool fits(const InstructionList& list, std::size_t i, const CodeLine& line) {
    const std::uint8_t category = list.categories[i];
    return category < kFits.size() && line.valid() && (kFits[category] & bit(line.line_class)) != 0;
}

} // namespace

std::uint16_t plain_categories(const CodeLine& line) {
    constexpr std::uint8_t kSlow =
        CodeLine::kBarrier | CodeLine::kBarrierWait | CodeLine::kMatrixScale | CodeLine::kMove64;
    if (!line.valid() || (line.flags & kSlow) != 0 || ((line.size_bytes | line.target) & 3) != 0)
        return 0;
    if (line.line_class == LineClass::kSkip) return kPlainSkip;
    std::uint16_t categories = 0;
    for (std::size_t i = 0; i < kFits.size(); ++i) {
        const bool jump = i == static_cast<std::size_t>(Category::kJump);
        if ((kFits[i] & bit(line.line_class)) != 0 && (!jump || line.has(CodeLine::kHasTarget)))
            categories = static_cast<std::uint16_t>(categories | 1U << i);
    }
    return categories;
}

struct Stitcher::Cursor {
    PcRef pc;
    std::size_t next_anchor_index = 0; ///< instruction that the next anchor belongs to
    unsigned misses = 0;
    unsigned debt = 0; ///< immediates that were matched with another kind of line
    bool gfx9 = false;
    bool strict = false; ///< tokens were lost: nothing may be stepped over
    std::size_t strict_from = 0;
};

void Stitcher::place(std::size_t i, PcRef pc) {
    pcs[i] = pc;
    has_pc[i] = 1;
    ++placed;
}

// What was placed since tokens were lost did not fit to its end: it may be wrong.
void Stitcher::forget(Cursor& cursor, std::size_t i) {
    for (std::size_t j = cursor.strict_from; j <= i && j < has_pc.size(); ++j) {
        placed -= has_pc[j];
        has_pc[j] = 0;
    }
    cursor.strict = false;
}

bool Stitcher::take_barrier(const InstructionList& list, Cursor& cursor, const CodeLine& line,
                            std::size_t& i) {
    if (!cursor.gfx9 || !line.has(CodeLine::kBarrier) || !list.is(i, Category::kMsg)) return false;
    if (i + 1 >= list.size() || i + 1 >= cursor.next_anchor_index ||
        !list.is(i + 1, Category::kImmed))
        return false;
    // The exit of the barrier has a token of its own, unless the token belongs to the next line.
    const CodeLine next = code_.line({cursor.pc.object, cursor.pc.address + line.size_bytes});
    const bool next_is_immediate = next.valid() && next.line_class == LineClass::kImmed;
    if (next_is_immediate && (i + 2 >= list.size() || !fits(list, i + 2, next))) return false;
    place(i, cursor.pc);
    place(++i, cursor.pc);
    return true;
}

void Stitcher::stretch_matrix(InstructionList& list, std::size_t i) {
    const bool before = i == 0 || list.end(i - 1) + 4 <= list.times[i];
    const bool after = i + 1 >= list.size() || list.end(i) + 4 <= list.times[i + 1];
    if (!before && !after) return;
    list.durations[i] += 4;
    if (!before) return;
    list.times[i] -= std::min<std::uint64_t>(4, list.times[i]);
    if (after) list.durations[i] += 4;
}

Stitcher::Step Stitcher::step(InstructionList& list, Cursor& cursor, const CodeLine& line,
                              std::size_t& i) {
    if (line.line_class == LineClass::kSkip) return Step::kNextLine;
    const bool last_of_run = i + 1 >= list.size() || i + 1 >= cursor.next_anchor_index;
    if (!fits(list, i, line) && cursor.gfx9 && !last_of_run && fits(list, i + 1, line)) {
        const CodeLine next = code_.line({cursor.pc.object, cursor.pc.address + line.size_bytes});
        if (fits(list, i, next)) list.swap(i, i + 1);
    }
    if (fits(list, i, line)) {
        if (list.is(i, Category::kJump) && !line.has(CodeLine::kHasTarget)) return Step::kGiveUp;
        if (take_barrier(list, cursor, line, i)) return Step::kPlaced;
        place(i, cursor.pc);
        if (line.has(CodeLine::kMatrixScale) && list.is(i, Category::kValu))
            stretch_matrix(list, i);
        if (line.has(CodeLine::kMove64) && header_.generation == sqtt::Generation::kGfx12)
            list.durations[i] = std::max(list.durations[i], list.stalls[i] + 2);
        return Step::kPlaced;
    }
    if (cursor.strict) return Step::kGiveUp;
    if (!cursor.gfx9 && list.is(i, Category::kImmed) &&
        (kMemoryOrValu & bit(line.line_class)) != 0) {
        place(i, cursor.pc);
        ++mismatches;
        ++cursor.debt;
        return Step::kPlaced;
    }
    if (line.has(CodeLine::kWaitcnt) && cursor.debt > 0) {
        place(i, cursor.pc);
        ++mismatches;
        --cursor.debt;
        return Step::kPlaced;
    }
    if (line.has(CodeLine::kWaitcnt) || line.has(CodeLine::kLoad) ||
        line.line_class == LineClass::kBranch)
        return Step::kGiveUp;
    ++lines_without_token;
    return Step::kNextLine;
}

// How many instructions from `i` on fit the code from `pc` on, one for one.
unsigned Stitcher::run_length(const InstructionList& list, std::size_t i, PcRef pc,
                              std::size_t end) {
    unsigned length = 0;
    for (unsigned lines = 0; lines < kLookAhead && i < end; ++lines) {
        const CodeLine line = code_.line(pc);
        if (!line.valid()) break;
        const bool no_token =
            line.line_class == LineClass::kSkip || line.has(CodeLine::kBarrierWait);
        if (!no_token && !fits(list, i, line)) break;
        if (!no_token && list.is(i, Category::kJump))
            pc.address += static_cast<std::uint64_t>(std::int64_t{line.target});
        else
            pc.address += line.size_bytes;
        if (no_token) continue;
        ++i;
        ++length;
    }
    return i == end ? kLookAhead : length;
}

// While the header excludes barrier waits, such a line has no token; an immediate here belongs to
// it only if the code behind fits better so.
bool Stitcher::skips_barrier_wait(const InstructionList& list, const Cursor& cursor,
                                  const CodeLine& line, std::size_t i) {
    if (!line.has(CodeLine::kBarrierWait) || !header_.exclude_barrier_wait) return false;
    // No code waits so often in a row; a wrong place may.
    if (barrier_waits.size() >= kMaxWaitsInARow &&
        barrier_waits[barrier_waits.size() - kMaxWaitsInARow].index == i)
        return false;
    if (list.is(i, Category::kImmed)) {
        const PcRef next{cursor.pc.object, cursor.pc.address + line.size_bytes};
        const unsigned without = run_length(list, i, next, cursor.next_anchor_index);
        const unsigned with = run_length(list, i + 1, next, cursor.next_anchor_index);
        if (with > without) return false;
    }
    barrier_waits.push_back({static_cast<std::uint32_t>(i), cursor.pc.address});
    return true;
}

// Places instructions from `i` on as long as each is a plain one that fits its line: what step()
// would do, without its questions. Returns the first that is not.
std::size_t Stitcher::run_plain(const InstructionList& list, Cursor& cursor, std::size_t i) {
    const std::size_t first = i;
    const std::size_t end = cursor.next_anchor_index;
    PcRef at = cursor.pc;
    bool more = (at.address & 3) == 0;
    unsigned skipped = 0; // lines since the last instruction
    while (more && i < end) {
        const LineCache::Slot* const page = code_.page(at);
        if (page == nullptr) break;
        more = run_in_page(list, page, cursor, at, i, skipped);
    }
    std::fill(has_pc.begin() + static_cast<std::ptrdiff_t>(first),
              has_pc.begin() + static_cast<std::ptrdiff_t>(i), std::uint8_t{1});
    placed += i - first;
    return i;
}

// The same up to the end of the page, or of a line that is not known yet. True: it may go on at `at`.
bool Stitcher::run_in_page(const InstructionList& list, const LineCache::Slot* page, Cursor& cursor,
                           PcRef& at, std::size_t& next, unsigned& skipped) {
    constexpr auto kJump = static_cast<std::uint8_t>(Category::kJump);
    constexpr std::uint64_t kPage = LineCache::kPageMask + 1;
    const std::uint8_t* const categories = list.categories.data();
    PcRef* const out = pcs.data();
    const std::size_t end = cursor.next_anchor_index;
    const std::uint64_t base = at.address & ~LineCache::kPageMask;
    std::uint64_t offset = at.address & LineCache::kPageMask;
    std::uint64_t before = cursor.pc.address; // where the next instruction starts to look
    const std::uint32_t object = at.object;
    std::size_t i = next;
    unsigned without = skipped;
    bool more = true;
    while (i < end && offset < kPage) {
        const LineCache::Slot& slot = page[offset / 4];
        const unsigned category = categories[i];
        if ((slot.plain >> (category & 15) & 1) != 0) [[likely]] {
            out[i].object = object;
            out[i].address = base + offset;
            ++i;
            // Which of these it is can be foretold, so that the next line need not wait for it.
            if (category == kJump)
                offset += static_cast<std::uint64_t>(std::int64_t{slot.line.target});
            else if (slot.line.size_bytes == 4) [[likely]]
                offset += 4;
            else if (slot.line.size_bytes == 8) [[likely]]
                offset += 8;
            else
                offset += slot.line.size_bytes;
            before = base + offset;
            without = 0;
        } else if (slot.plain == kPlainSkip && without < kLookAhead) {
            ++without;
            offset += slot.line.size_bytes;
        } else if (!slot.known) {
            code_.line({object, base + offset});
        } else {
            more = false;
            break;
        }
    }
    at.address = base + offset;
    cursor.pc.address = before;
    next = i;
    skipped = without;
    return more;
}

void Stitcher::run(InstructionList& list, const AnchorList& anchors,
                   std::vector<TimelinePiece>& timeline, std::uint64_t wave_start) {
    const std::size_t count = list.size();
    pcs.assign(count, {});
    has_pc.assign(count, 0);
    barrier_waits.clear();
    unknown.clear();
    lines_without_token = 0;
    mismatches = 0;
    placed = 0;
    missing = 0;
    const std::span<const PcAnchor> all(anchors.all());
    const std::size_t anchor_count = all.size();
    std::size_t next = 0, traps = 0;
    bool on_code = false;
    Cursor cursor;
    cursor.gfx9 = header_.generation == sqtt::Generation::kGfx9;
    for (std::size_t i = 0; i < count; ++i) {
        while (next < anchor_count && all[next].index <= i) {
            const PcAnchor& anchor = all[next++];
            cursor.misses = 0;
            if (anchor.state == PcAnchor::State::kLost) {
                if (!cursor.strict) cursor.strict_from = i;
                cursor.strict = on_code;
                continue;
            }
            on_code = anchor.state == PcAnchor::State::kKnown;
            cursor.strict = false;
            cursor.pc = anchor.pc;
        }
        cursor.next_anchor_index = next < anchor_count ? all[next].index : count;
        if (on_code && cursor.misses == 0) {
            i = run_plain(list, cursor, i);
            if (i >= cursor.next_anchor_index) {
                --i;
                continue;
            }
        }
        if (list.is(i, Category::kTrap)) {
            ++traps;
            continue;
        }
        while (on_code) {
            const CodeLine line = code_.line(cursor.pc);
            if (!line.valid()) {
                if (line.is_unknown()) unknown.push_back(cursor.pc);
                on_code = false;
                break;
            }
            const Step result = skips_barrier_wait(list, cursor, line, i)
                                    ? Step::kNextLine
                                    : step(list, cursor, line, i);
            if (result == Step::kGiveUp) {
                on_code = false;
                break;
            }
            if (result == Step::kPlaced && list.is(i, Category::kJump))
                cursor.pc.address += static_cast<std::uint64_t>(std::int64_t{line.target});
            else
                cursor.pc.address += line.size_bytes;
            if (result == Step::kPlaced) {
                cursor.misses = 0;
                break;
            }
            if (++cursor.misses > kMaxLinesWithoutToken) on_code = false;
        }
        if (!on_code && cursor.strict) forget(cursor, i);
    }
    complete = placed + traps == count && lines_without_token == 0 && mismatches == 0;
    without_pc = count - placed - traps;
    if (!all.empty()) missing = without_pc;
    if (insert_barrier_waits && !barrier_waits.empty()) insert_waits(list, timeline, wave_start);
}

namespace {

/// Takes spans of time out of the pieces of a timeline that they begin in, as waiting. The spans
/// come in order; one pass.
class TimelineSplitter {
  public:
    TimelineSplitter(std::span<const TimelinePiece> in, std::uint64_t start) : in_(in), at_(start) {
        out_.reserve(in.size() + 16);
        load();
    }
    void wait(std::uint64_t begin, std::uint64_t end) {
        while (!done_ && begin >= at_ + piece_.clocks)
            pass();
        if (done_ || begin < at_) return;
        const std::uint64_t stop = std::min(end, at_ + piece_.clocks);
        if (stop <= begin) return;
        if (begin > at_) out_.push_back({piece_.state, begin - at_});
        out_.push_back({WaveState::kWait, stop - begin});
        piece_.clocks -= stop - at_;
        at_ = stop;
        if (piece_.clocks == 0) load();
    }
    std::vector<TimelinePiece> finish() {
        while (!done_)
            pass();
        return std::move(out_);
    }

  private:
    void load() {
        done_ = next_ == in_.size();
        if (!done_) piece_ = in_[next_++];
    }
    void pass() {
        out_.push_back(piece_);
        at_ += piece_.clocks;
        load();
    }

    std::span<const TimelinePiece> in_;
    std::size_t next_ = 0;
    TimelinePiece piece_; ///< what is left of the piece that begins at `at_`
    std::uint64_t at_;
    std::vector<TimelinePiece> out_;
    bool done_ = false;
};

} // namespace

void Stitcher::insert_waits(InstructionList& list, std::vector<TimelinePiece>& timeline,
                            std::uint64_t wave_start) {
    TimelineSplitter splitter(timeline, wave_start);
    InstructionList out;
    std::vector<PcRef> out_pcs;
    std::vector<std::uint8_t> out_has;
    std::size_t wait = 0;
    const std::uint32_t object = pcs.empty() ? 0 : pcs[0].object;
    for (std::size_t i = 0; i < list.size(); ++i) {
        for (; wait < barrier_waits.size() && barrier_waits[wait].index <= i; ++wait) {
            if (out.empty()) continue;
            const std::uint64_t begin = out.end(out.size() - 1);
            if (list.times[i] == begin && list.durations[i] > 1) {
                ++list.times[i];
                --list.durations[i];
                list.stalls[i] -= list.stalls[i] > 0 ? 1 : 0;
            }
            if (list.times[i] <= begin) continue;
            const std::uint64_t clocks = list.times[i] - begin;
            out.push(begin, static_cast<std::uint8_t>(Category::kImmed),
                     static_cast<std::uint32_t>(clocks), 0);
            out_pcs.push_back({object, barrier_waits[wait].pc});
            out_has.push_back(1);
            ++placed;
            splitter.wait(begin, list.times[i]);
        }
        out.push(list.times[i], list.categories[i], list.durations[i], list.stalls[i]);
        out_pcs.push_back(pcs[i]);
        out_has.push_back(has_pc[i]);
    }
    timeline = splitter.finish();
    list = std::move(out);
    pcs = std::move(out_pcs);
    has_pc = std::move(out_has);
}

} // namespace wavetap::decode
