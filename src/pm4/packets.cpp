// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "pm4/packets.hpp"

#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace wavetap::pm4 {

namespace {

struct OpcodeRow {
    Opcode opcode;
    std::string_view name;
    std::size_t minimum_body_dwords;
};

constexpr OpcodeRow kOpcodes[] = {
    {Opcode::kNop, "NOP", 1},
    {Opcode::kAtomicMem, "ATOMIC_MEM", 8},
    {Opcode::kPredExec, "PRED_EXEC", 1},
    {Opcode::kWriteData, "WRITE_DATA", 4},
    {Opcode::kWaitRegMem, "WAIT_REG_MEM", 6},
    {Opcode::kIndirectBuffer, "INDIRECT_BUFFER", 3},
    {Opcode::kCopyData, "COPY_DATA", 5},
    {Opcode::kEventWrite, "EVENT_WRITE", 1},
    {Opcode::kReleaseMem, "RELEASE_MEM", 7},
    {Opcode::kDmaData, "DMA_DATA", 6},
    {Opcode::kAcquireMem, "ACQUIRE_MEM", 6},
    {Opcode::kSetShReg, "SET_SH_REG", 2},
    {Opcode::kSetUconfigReg, "SET_UCONFIG_REG", 2},
};

struct RegisterRow {
    std::uint32_t number;
    std::string_view name;
};

constexpr RegisterRow kGfx9Registers[] = {
    {gfx9::kComputePerfcountEnable, "COMPUTE_PERFCOUNT_ENABLE"},
    {gfx9::kComputeThreadTraceEnable, "COMPUTE_THREAD_TRACE_ENABLE"},
    {gfx9::kGrbmGfxIndex, "GRBM_GFX_INDEX"},
    {gfx9::kSqThreadTraceBase, "SQ_THREAD_TRACE_BASE"},
    {gfx9::kSqThreadTraceSize, "SQ_THREAD_TRACE_SIZE"},
    {gfx9::kSqThreadTraceMask, "SQ_THREAD_TRACE_MASK"},
    {gfx9::kSqThreadTraceTokenMask, "SQ_THREAD_TRACE_TOKEN_MASK"},
    {gfx9::kSqThreadTracePerfMask, "SQ_THREAD_TRACE_PERF_MASK"},
    {gfx9::kSqThreadTraceCtrl, "SQ_THREAD_TRACE_CTRL"},
    {gfx9::kSqThreadTraceMode, "SQ_THREAD_TRACE_MODE"},
    {gfx9::kSqThreadTraceBase2, "SQ_THREAD_TRACE_BASE2"},
    {gfx9::kSqThreadTraceTokenMask2, "SQ_THREAD_TRACE_TOKEN_MASK2"},
    {gfx9::kSqThreadTraceWptr, "SQ_THREAD_TRACE_WPTR"},
    {gfx9::kSqThreadTraceStatus, "SQ_THREAD_TRACE_STATUS"},
    {gfx9::kSqThreadTraceHiwater, "SQ_THREAD_TRACE_HIWATER"},
    {gfx9::kSqThreadTraceCntr, "SQ_THREAD_TRACE_CNTR"},
    {gfx9::kSqThreadTraceUserdata0, "SQ_THREAD_TRACE_USERDATA_0"},
    {gfx9::kSqThreadTraceUserdata1, "SQ_THREAD_TRACE_USERDATA_1"},
    {gfx9::kSqThreadTraceUserdata2, "SQ_THREAD_TRACE_USERDATA_2"},
    {gfx9::kSqThreadTraceUserdata3, "SQ_THREAD_TRACE_USERDATA_3"},
    {gfx9::kSpiConfigCntl, "SPI_CONFIG_CNTL"},
    {gfx9::kSpiSqgEventCtl, "SPI_SQG_EVENT_CTL"},
    {gfx9::kCpPerfmonCntl, "CP_PERFMON_CNTL"},
    {gfx9::kSqPerfcounterCtrl, "SQ_PERFCOUNTER_CTRL"},
    {gfx9::kSqPerfcounterMask, "SQ_PERFCOUNTER_MASK"},
    {gfx9::kRlcPerfmonClkCntl, "RLC_PERFMON_CLK_CNTL"},
};

constexpr std::array<std::string_view, 16> kPerfcounterSelectNames = {
    "SQ_PERFCOUNTER0_SELECT",  "SQ_PERFCOUNTER1_SELECT",  "SQ_PERFCOUNTER2_SELECT",
    "SQ_PERFCOUNTER3_SELECT",  "SQ_PERFCOUNTER4_SELECT",  "SQ_PERFCOUNTER5_SELECT",
    "SQ_PERFCOUNTER6_SELECT",  "SQ_PERFCOUNTER7_SELECT",  "SQ_PERFCOUNTER8_SELECT",
    "SQ_PERFCOUNTER9_SELECT",  "SQ_PERFCOUNTER10_SELECT", "SQ_PERFCOUNTER11_SELECT",
    "SQ_PERFCOUNTER12_SELECT", "SQ_PERFCOUNTER13_SELECT", "SQ_PERFCOUNTER14_SELECT",
    "SQ_PERFCOUNTER15_SELECT",
};

constexpr std::uint32_t kTypeFiller = 2;
constexpr std::uint32_t kTypePacket = 3;
constexpr std::uint32_t kSingleDwordNopCount = 0x3FFF;

// Control words of COPY_DATA, EVENT_WRITE and ACQUIRE_MEM (spec section 2).
constexpr std::uint32_t kCopyImmediateToRegister = 0x00000005;
constexpr std::uint32_t kCopyRegisterToMemory = 0x02102500;
constexpr std::uint32_t kCopyRegisterToMemoryUnconfirmed = 0x02002500;
constexpr std::uint32_t kCopyClockToMemory = 0x02112509;
constexpr std::uint32_t kCopyMemoryToRegister = 0x02002001;
constexpr std::uint32_t kCopyClockToRegister = 0x02102009;
constexpr std::uint32_t kCsPartialFlush = 0x00000407;
constexpr std::uint32_t kAcquireAllCaches = 0x28C40000;
constexpr std::uint32_t kAcquirePollInterval = 0x10;
constexpr std::uint32_t kWaitPollInterval = 4;
constexpr std::uint64_t kAcquireUnit = 256;

const OpcodeRow* find_opcode(std::uint8_t opcode) {
    const auto* row = std::find_if(std::begin(kOpcodes), std::end(kOpcodes), [&](const auto& r) {
        return static_cast<std::uint8_t>(r.opcode) == opcode;
    });
    return row == std::end(kOpcodes) ? nullptr : row;
}

std::string at_dword(std::size_t offset) {
    return "PM4 dword " + std::to_string(offset);
}

std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

void append(std::vector<std::uint32_t>& stream, Opcode opcode,
            std::initializer_list<std::uint32_t> body) {
    stream.push_back(packet_header(opcode, static_cast<std::uint32_t>(body.size()) + 1));
    stream.insert(stream.end(), body);
}

} // namespace

Result<std::optional<Packet>> Parser::next() {
    while (at_ < stream_.size()) {
        const std::uint32_t header = stream_[at_];
        const std::uint32_t type = header >> 30;
        if (type == kTypeFiller) {
            ++at_;
            continue;
        }
        if (type != kTypePacket) {
            return Error{ErrorCode::kCorrupt,
                         "packet header " + format_hex(header) + " has type " +
                             std::to_string(type) + ", expected 3",
                         at_dword(at_), "the stream does not start on a packet or is overwritten"};
        }
        const std::uint32_t count = header >> 16 & 0x3FFF;
        const auto number = static_cast<std::uint8_t>(header >> 8);
        const OpcodeRow* row = find_opcode(number);
        if (row == nullptr) {
            return Error{ErrorCode::kUnsupported,
                         "unknown PM4 opcode " + format_hex(number) + " (header " +
                             format_hex(header) + ")",
                         at_dword(at_), ""};
        }
        if (row->opcode == Opcode::kNop && count == kSingleDwordNopCount) {
            ++at_;
            continue;
        }
        const std::size_t body = std::size_t{count} + 1;
        const std::size_t left = stream_.size() - at_ - 1;
        if (body > left) {
            return Error{ErrorCode::kCorrupt,
                         std::string(row->name) + " needs " + std::to_string(body) +
                             " dwords behind its header, " + std::to_string(left) + " are left",
                         at_dword(at_), "the command buffer is cut off"};
        }
        if (body < row->minimum_body_dwords) {
            return Error{ErrorCode::kCorrupt,
                         std::string(row->name) + " has " + std::to_string(body) +
                             " dwords behind its header, at least " +
                             std::to_string(row->minimum_body_dwords) + " expected",
                         at_dword(at_), ""};
        }
        const Packet packet{header, row->opcode, stream_.subspan(at_ + 1, body), at_};
        at_ += body + 1;
        return std::optional<Packet>(packet);
    }
    return std::optional<Packet>();
}

Result<void> Parser::skip(std::size_t count) {
    const std::size_t left = stream_.size() - at_;
    if (count > left) {
        return Error{ErrorCode::kCorrupt,
                     "PRED_EXEC covers " + std::to_string(count) + " dwords, " +
                         std::to_string(left) + " are left",
                     at_dword(at_), "the command buffer is cut off"};
    }
    at_ += count;
    return {};
}

void Gfx9Encoder::set_uconfig(std::uint32_t reg, std::uint32_t value) {
    append(stream_, Opcode::kSetUconfigReg, {reg - kUconfigBase, value});
}

void Gfx9Encoder::set_sh(std::uint32_t reg, std::uint32_t value) {
    append(stream_, Opcode::kSetShReg, {reg - kShBase, value});
}

void Gfx9Encoder::wait_idle() {
    append(stream_, Opcode::kEventWrite, {kCsPartialFlush});
}

void Gfx9Encoder::copy_immediate_to_register(std::uint32_t value, std::uint32_t reg) {
    append(stream_, Opcode::kCopyData, {kCopyImmediateToRegister, value, 0, reg, 0});
}

void Gfx9Encoder::copy_register_to_memory(std::uint32_t reg, std::uint64_t va) {
    append(stream_, Opcode::kCopyData, {kCopyRegisterToMemory, reg, 0, low(va), high(va)});
}

void Gfx9Encoder::copy_register_to_memory_unconfirmed(std::uint32_t reg, std::uint64_t va) {
    append(stream_, Opcode::kCopyData,
           {kCopyRegisterToMemoryUnconfirmed, reg, 0, low(va), high(va)});
}

void Gfx9Encoder::copy_memory_to_register(std::uint64_t va, std::uint32_t reg) {
    append(stream_, Opcode::kCopyData, {kCopyMemoryToRegister, low(va), high(va), reg, 0});
}

void Gfx9Encoder::copy_clock_to_memory(std::uint64_t va) {
    append(stream_, Opcode::kCopyData, {kCopyClockToMemory, 0, 0, low(va), high(va)});
}

void Gfx9Encoder::copy_clock_low_to_register(std::uint32_t reg) {
    append(stream_, Opcode::kCopyData, {kCopyClockToRegister, 0, 0, reg, 0});
}

void Gfx9Encoder::wait_register(std::uint32_t reg, std::uint32_t mask, WaitFunction function,
                                std::uint32_t reference) {
    append(stream_, Opcode::kWaitRegMem,
           {static_cast<std::uint32_t>(function), reg, 0, reference, mask, kWaitPollInterval});
}

void Gfx9Encoder::acquire_mem(std::uint64_t va, std::uint64_t bytes) {
    const std::uint64_t units = (bytes + kAcquireUnit - 1) / kAcquireUnit;
    append(stream_, Opcode::kAcquireMem,
           {kAcquireAllCaches, low(units), high(units) & 0xFF, low(va >> 8), low(va >> 40) & 0xFF,
            kAcquirePollInterval});
}

std::size_t Gfx9Encoder::begin_predicate(std::uint32_t xcc_mask) {
    append(stream_, Opcode::kPredExec, {xcc_mask << 24});
    return stream_.size();
}

void Gfx9Encoder::end_predicate(std::size_t token) {
    stream_[token - 1] |= static_cast<std::uint32_t>(stream_.size() - token) & 0x3FFF;
}

std::string_view opcode_name(std::uint8_t opcode) {
    const OpcodeRow* row = find_opcode(opcode);
    return row == nullptr ? std::string_view("?") : row->name;
}

std::string_view gfx9_register_name(std::uint32_t reg) {
    if (reg >= gfx9::kSqPerfcounter0Select &&
        reg < gfx9::kSqPerfcounter0Select + kPerfcounterSelectNames.size())
        return kPerfcounterSelectNames[reg - gfx9::kSqPerfcounter0Select];
    const auto* row = std::find_if(std::begin(kGfx9Registers), std::end(kGfx9Registers),
                                   [&](const auto& r) { return r.number == reg; });
    return row == std::end(kGfx9Registers) ? std::string_view() : row->name;
}

} // namespace wavetap::pm4
