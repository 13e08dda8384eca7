// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/gfx9_streams.hpp"

#include <utility>

// Queries and swaps of a ring of buffers.

namespace wavetap::pm4 {

void Gfx9StreamBuilder::store_query(std::uint32_t se) {
    const std::uint64_t entry = memory_.control_va + engine_entry_offset(config_.dialect, se);
    encoder_.copy_register_to_memory(gfx9::kSqThreadTraceStatus, entry + layout_.query_status);
    encoder_.copy_register_to_memory(gfx9::kSqThreadTraceWptr, entry + layout_.query_wptr);
}

std::vector<std::uint32_t> Gfx9StreamBuilder::read_2026_query() {
    const auto se = static_cast<std::uint32_t>(std::countr_zero(config_.se_mask));
    const std::uint64_t entry = memory_.control_va + engine_entry_offset(config_.dialect, se);
    const std::size_t block = begin_xcc(se / topology_.engines_per_xcc);
    select_engine(se);
    encoder_.copy_register_to_memory_unconfirmed(gfx9::kSqThreadTraceStatus,
                                                 entry + layout_.query_status);
    encoder_.copy_register_to_memory_unconfirmed(gfx9::kSqThreadTraceWptr,
                                                 entry + layout_.query_wptr);
    encoder_.acquire_mem(entry, layout_.entry_bytes);
    broadcast();
    end_xcc(block);
    return std::move(stream_);
}

std::vector<std::uint32_t> Gfx9StreamBuilder::read_2026_swap(std::uint32_t se,
                                                             std::uint64_t index) {
    const std::uint32_t xcc = se / topology_.engines_per_xcc;
    const std::size_t block = begin_xcc(xcc);
    select_engine(se);
    wait_not_busy();
    base(active_output(memory_, index + 2));
    encoder_.copy_clock_to_memory(memory_.control_va +
                                  clock_entry_offset(topology_, config_.dialect, xcc) +
                                  layout_.swap_clock);
    encoder_.acquire_mem(active_output(memory_, index), config_.buffer_bytes);
    flush_control();
    broadcast();
    end_xcc(block);
    return std::move(stream_);
}

std::vector<std::uint32_t> Gfx9StreamBuilder::query() {
    if (read_2026()) return read_2026_query();
    broadcast();
    for (std::uint32_t se = 0; se < engine_count(topology_); ++se) {
        if (!selected(se)) continue;
        const std::size_t block = begin_xcc(se / topology_.engines_per_xcc);
        select_engine(se);
        store_query(se);
        end_xcc(block);
    }
    broadcast();
    flush_control();
    return std::move(stream_);
}

std::vector<std::uint32_t> Gfx9StreamBuilder::swap(std::uint32_t se, std::uint64_t index) {
    if (read_2026()) return read_2026_swap(se, index);
    const std::uint32_t xcc = se / topology_.engines_per_xcc;
    broadcast();
    const std::size_t block = begin_xcc(xcc);
    select_engine(se);
    encoder_.copy_clock_to_memory(memory_.control_va +
                                  clock_entry_offset(topology_, config_.dialect, xcc) +
                                  layout_.swap_clock);
    // As close to the new base as can be: a unit without room goes on as soon as it has one.
    store_query(se);
    base(active_output(memory_, index + 2) + part(se));
    end_xcc(block);
    broadcast();
    encoder_.acquire_mem(active_output(memory_, index) + part(se), capacity_);
    flush_control();
    return std::move(stream_);
}

} // namespace wavetap::pm4
