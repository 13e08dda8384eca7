// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Command streams that start, stop and mark a thread trace.

namespace wavetap::pm4 {

/// Whose streams to build: our own (spec pm4-sqtt.md section 13), or word for word those of AMD's
/// aqlprofile of June or August 2025.
enum class Dialect : std::uint8_t { kWavetap, kJun25, kAug25 };

/// What the builder must know of a chip.
struct TraceTopology {
    std::string gfx; ///< "gfx90a", "gfx942", "gfx950"
    std::uint32_t xccs = 1;
    std::uint32_t engines_per_xcc = 8;
};

struct TraceConfig {
    std::uint64_t se_mask = 1;      ///< global engines (XCC * engines_per_xcc + engine)
    std::uint32_t target_cu = 1;    ///< 0..15
    std::uint32_t simd_mask = 0xf;  ///< bit i = SIMD i
    std::uint64_t buffer_bytes = 0; ///< all selected engines together
    bool detail = true;             ///< false: occupancy only
    bool clock_markers = true;      ///< constant-clock samples through USERDATA_3
    Dialect dialect = Dialect::kWavetap;
};

/// GPU addresses that are baked into the streams.
struct TraceMemory {
    std::uint64_t output_va = 0;  ///< 4 KiB aligned
    std::uint64_t control_va = 0; ///< control_bytes() long, host visible
};

/// One engine's entry of the control block; where each field lies.
struct ControlLayout {
    std::uint32_t entry_bytes = 32;
    std::uint32_t status = 0, counter = 4, wptr = 8, start_clock = 16, end_clock = 24;
};
ControlLayout control_layout(Dialect dialect);
std::uint64_t control_bytes(const TraceTopology& topology, Dialect dialect);

/// Capacity of each selected engine's part of the buffer (4 KiB multiple).
/// Errors: kInvalidArgument, naming the smallest or largest buffer that works.
Result<std::uint64_t> capacity_per_engine(const TraceTopology& topology, const TraceConfig& config);
/// Byte offset in the output buffer at which engine `se`'s part starts.
Result<std::uint64_t> engine_offset(const TraceTopology& topology, const TraceConfig& config,
                                    std::uint32_t se);

/// Errors: kInvalidArgument (every rule of section 13 item 7), kUnsupported (chip).
Result<std::vector<std::uint32_t>> build_start(const TraceTopology&, const TraceConfig&,
                                               const TraceMemory&);
Result<std::vector<std::uint32_t>> build_stop(const TraceTopology&, const TraceConfig&,
                                              const TraceMemory&);

struct CodeObjectMarker {
    std::uint64_t id = 0;
    std::uint64_t address = 0, size = 0;
    bool unload = false;
    bool from_start = false; ///< loaded before the trace began
};
std::vector<std::uint32_t> build_marker(const TraceTopology&, const CodeObjectMarker&);

/// The 8 bytes that go in front of a gfx9 blob.
std::uint64_t gfx9_header(const TraceTopology&, const TraceConfig&, std::uint32_t se);

/// Dwords 0..15 of the AQL vendor packet that runs a command buffer (header left to the caller).
void fill_vendor_packet(std::uint32_t (&packet)[16], std::uint64_t command_va,
                        std::uint32_t dwords);

/// What a read-back of one engine's control entry says.
struct EngineResult {
    std::uint64_t bytes = 0; ///< valid bytes at the start of the engine's part
    bool full = false, write_error = false;
};
EngineResult interpret_control(const TraceTopology&, const TraceConfig&, std::uint32_t status,
                               std::uint32_t wptr, std::uint64_t capacity_bytes);

} // namespace wavetap::pm4
