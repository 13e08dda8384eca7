// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/code_map.hpp"

#include "code/code_object.hpp"
#include "decode/elf_source.hpp"

#include <algorithm>
#include <charconv>

namespace wavetap::decode {
namespace {

std::optional<std::int32_t> branch_distance(std::string_view text) {
    const std::size_t space = text.find_last_of(" \t");
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view word = text.substr(space + 1);
    std::int32_t units = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), units);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    if (units >= 32768 && units < 65536) units -= 65536;
    if (units < -32768 || units > 32767) return std::nullopt;
    return 4 + 4 * units;
}

std::uint8_t flags_of(std::string_view mnemonic) {
    std::uint8_t flags = 0;
    if (mnemonic.starts_with("s_waitcnt")) flags |= CodeLine::kWaitcnt;
    if (mnemonic.find("_load_") != std::string_view::npos && !mnemonic.starts_with("scratch_"))
        flags |= CodeLine::kLoad;
    if (mnemonic == "s_barrier") flags |= CodeLine::kBarrier;
    if (mnemonic.starts_with("s_barrier_wait")) flags |= CodeLine::kBarrierWait;
    if (mnemonic.starts_with("v_mfma_scale_")) flags |= CodeLine::kMatrixScale;
    if (mnemonic.starts_with("v_mov_b64")) flags |= CodeLine::kMove64;
    for (const std::string_view prefix : {"v_mfma", "v_smfma", "v_wmma", "v_swmma"}) {
        if (mnemonic.starts_with(prefix)) flags |= CodeLine::kMatrix;
    }
    return flags;
}

} // namespace

CodeLine line_from_text(std::string_view text, std::uint32_t size_bytes, bool is_gfx12) {
    CodeLine line;
    if (size_bytes == 0 || size_bytes > 255) return line;
    const std::string_view mnemonic = text.substr(0, text.find_first_of(" \t"));
    line.line_class = code::classify(mnemonic, is_gfx12);
    line.size_bytes = static_cast<std::uint8_t>(std::max(size_bytes, 4U));
    line.flags = flags_of(mnemonic);
    if (line.line_class == code::LineClass::kBranch) {
        if (const auto distance = branch_distance(text)) {
            line.target = *distance;
            line.flags |= CodeLine::kHasTarget;
        }
    }
    return line;
}

CodeMap::CodeMap(CodeSource* source, const std::vector<LoadedObject>& objects) : source_(source) {
    objects_.emplace_back();
    objects_[0].has_code = source != nullptr && source->knows(0);
    const auto ids = object_ids(objects);
    for (std::size_t i = 0; i < objects.size(); ++i) {
        const LoadedObject& given = objects[i];
        if (given.object == nullptr) continue;
        Object object;
        object.id = ids[i];
        object.code_id = object.id;
        object.address = given.load_base;
        object.size = given.object->memory_bytes();
        object.has_code = source != nullptr && source->knows(object.code_id);
        objects_.push_back(std::move(object));
        insert_sorted(given_, static_cast<std::uint32_t>(objects_.size() - 1));
    }
}

std::uint64_t CodeMap::code_id_for(std::uint64_t id, std::uint64_t address) const {
    if (source_ == nullptr || source_->knows(id)) return id;
    for (const std::uint32_t index : given_) {
        if (objects_[index].address == address) return objects_[index].code_id;
    }
    return id;
}

bool CodeMap::load(std::uint64_t address, std::uint64_t size, std::uint64_t id, bool from_start) {
    const auto known = by_id_.find(id);
    if (known != by_id_.end()) {
        const Object& old = objects_[known->second];
        if (old.live) return true;
        if (old.address == address && old.size == size && old.from_start == from_start) {
            if (before_change) before_change();
            make_live(known->second);
            return true;
        }
    }
    if (objects_.size() - 1 - given_.size() >= kMaxObjects) return false;
    if (before_change) before_change(); // other threads may still read `objects_`
    Object object;
    object.id = id;
    object.code_id = code_id_for(id, address);
    object.address = address;
    object.size = size;
    object.from_start = from_start;
    object.has_code = source_ != nullptr && source_->knows(object.code_id);
    objects_.push_back(std::move(object));
    const auto index = static_cast<std::uint32_t>(objects_.size() - 1);
    by_id_[id] = index;
    make_live(index);
    if (from_start) insert_sorted(from_start_, index);
    return true;
}

void CodeMap::make_live(std::uint32_t index) {
    memo_address_ = kNoAddress;
    objects_[index].live = true;
    insert_sorted(live_, index);
}

void CodeMap::unload(std::uint64_t id) {
    const auto known = by_id_.find(id);
    if (known == by_id_.end() || !objects_[known->second].live) return;
    if (before_change) before_change();
    memo_address_ = kNoAddress;
    Object& object = objects_[known->second];
    object.live = false;
    const auto first = std::lower_bound(live_.begin(), live_.end(), object.address,
                                        [this](std::uint32_t index, std::uint64_t value) {
                                            return objects_[index].address < value;
                                        });
    live_.erase(std::find(first, live_.end(), known->second));
}

void CodeMap::insert_sorted(std::vector<std::uint32_t>& sorted, std::uint32_t index) {
    const auto place = std::upper_bound(sorted.begin(), sorted.end(), index,
                                        [this](std::uint32_t left, std::uint32_t right) {
                                            return objects_[left].address < objects_[right].address;
                                        });
    sorted.insert(place, index);
}

std::uint32_t CodeMap::find(const std::vector<std::uint32_t>& sorted,
                            std::uint64_t absolute) const {
    const auto after = std::upper_bound(sorted.begin(), sorted.end(), absolute,
                                        [this](std::uint64_t value, std::uint32_t index) {
                                            return value < objects_[index].address;
                                        });
    if (after == sorted.begin()) return 0;
    const Object& object = objects_[*(after - 1)];
    return absolute - object.address < object.size ? *(after - 1) : 0;
}

PcRef CodeMap::find_and_keep(std::uint64_t absolute) {
    memo_address_ = absolute;
    memo_ = find_live(absolute);
    return memo_;
}

PcRef CodeMap::find_live(std::uint64_t absolute) const {
    std::uint32_t index = find(live_, absolute);
    if (index == 0) index = find(given_, absolute);
    return {index, absolute - objects_[index].address};
}

PcRef CodeMap::attribute_late(std::uint64_t absolute) const {
    const std::uint32_t index = find(from_start_, absolute);
    return {index, absolute - objects_[index].address};
}

Pc CodeMap::pc_of(PcRef ref) const {
    const Object& object = objects_[ref.object];
    if (ref.object == 0) return {ref.address, 0, 0};
    return {object.address + ref.address, ref.address, object.id};
}

CodeLine CodeMap::fetch(PcRef ref) {
    if (source_ == nullptr || (ref.address & 3) != 0) return {};
    const MutexLock lock(source_mutex_);
    return source_->fetch(objects_[ref.object].code_id, ref.address);
}

void LineCache::find_page(std::uint32_t object, std::uint64_t page) {
    // Damaged program counters must not make it grow.
    if (pages_.size() >= max_pages_) pages_.clear();
    std::unique_ptr<Page>& found = pages_[{page, object}];
    if (!found) found = std::make_unique<Page>();
    last_ = found.get();
    last_object_ = object;
    last_page_ = page;
}

void LineCache::fetch(Slot& slot, PcRef ref) {
    slot.known = true;
    slot.line = map_->fetch(ref);
    slot.plain = plain_categories(slot.line);
}

} // namespace wavetap::decode
