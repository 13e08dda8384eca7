// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/command_processor.hpp"

#include "base/units.hpp"
#include "softgpu/compare.hpp"
#include "softgpu/thread_trace_unit.hpp"
#include "softgpu/timing.hpp"

#include <algorithm>
#include <cstring>

namespace wavetap::softgpu {

namespace {

using pm4::Opcode;
using pm4::Packet;

constexpr std::uint32_t kMaxDwords = (1U << 20) - 1;
constexpr std::size_t kMaxNesting = 8;
constexpr std::uint32_t kRegisterMask = 0x3FFFF;

constexpr std::uint32_t kEventCsPartialFlush = 7;
constexpr std::uint32_t kAcquireInstructionCache = 1U << 29;

enum Space : std::uint32_t {
    kRegister = 0,
    kMemory = 1,
    kMemoryL2 = 2,
    kPerfcounter = 4,
    kImmediate = 5,
    kMemoryAsync = 5,
    kRegisterDc = 6,
    kGpuClock = 9,
    kSystemClock = 10,
};

std::uint64_t join(std::uint32_t low, std::uint32_t high) {
    return std::uint64_t{high} << 32 | low;
}

bool is_broadcast(std::uint32_t grbm) {
    return (grbm >> 31 & 1) != 0;
}

std::string register_text(std::uint32_t reg) {
    const std::string_view name = pm4::gfx9_register_name(reg);
    const std::string number = format_hex(reg);
    return name.empty() ? number : std::string(name) + " " + number;
}

// The engine numbering of a real chip ends below this; the field has eight bits.
Error no_engine(std::uint32_t grbm, std::uint32_t engines) {
    return Error{ErrorCode::kInvalidArgument,
                 "GRBM_GFX_INDEX " + format_hex(grbm) + " selects engine " +
                     std::to_string(grbm >> 16 & 0xFF) + " of " + std::to_string(engines),
                 "", ""};
}

} // namespace

std::pair<std::uint32_t, std::uint32_t> RegisterFile::selected(std::uint32_t xcc) const {
    const std::uint32_t grbm = files_[xcc].grbm;
    if (is_broadcast(grbm)) return {0, engines_per_xcc_};
    const std::uint32_t se = grbm >> 16 & 0xFF;
    return {se, se + 1};
}

Result<void> RegisterFile::write(CommandTarget& target, std::uint32_t xcc, std::uint32_t reg,
                                 std::uint32_t value) {
    File& file = files_[xcc];
    if (reg == pm4::gfx9::kGrbmGfxIndex) {
        if (!is_broadcast(value) && (value >> 16 & 0xFF) >= engines_per_xcc_)
            return no_engine(value, engines_per_xcc_);
        file.grbm = value;
        target.register_written(xcc, 0, reg, value);
        return {};
    }
    if (pm4::gfx9_register_name(reg).empty()) {
        return Error{ErrorCode::kUnsupported,
                     "write of " + format_hex(value) + " to unknown register " + format_hex(reg),
                     "", ""};
    }
    const auto [first, last] = selected(xcc);
    for (std::uint32_t se = first; se < last; ++se) {
        if (ThreadTraceUnit::owns(reg)) {
            WAVETAP_CHECK_OK(target.write_trace_register(xcc, se, reg, value));
        } else {
            if (PerfUnit::owns(reg))
                WAVETAP_CHECK_OK(target.write_counter_register(xcc, se, reg, value));
            file.values[std::uint64_t{se} << 32 | reg] = value;
            target.register_written(xcc, se, reg, value);
        }
    }
    return {};
}

std::uint32_t RegisterFile::read_engine(CommandTarget& target, std::uint32_t xcc, std::uint32_t se,
                                        std::uint32_t reg) const {
    if (reg == pm4::gfx9::kGrbmGfxIndex) return files_[xcc].grbm;
    if (ThreadTraceUnit::owns(reg)) return target.read_trace_register(xcc, se, reg);
    target.register_read(xcc, reg);
    const auto& values = files_[xcc].values;
    const auto at = values.find(std::uint64_t{se} << 32 | reg);
    return at == values.end() ? 0 : at->second;
}

std::uint32_t RegisterFile::read(CommandTarget& target, std::uint32_t xcc,
                                 std::uint32_t reg) const {
    return read_engine(target, xcc, selected(xcc).first, reg);
}

Result<CommandRun::Frame> CommandRun::load(std::uint64_t va, std::uint32_t dwords) const {
    Frame frame;
    frame.va = va;
    if (dwords == 0 || dwords > kMaxDwords || va % 4 != 0) {
        return Error{ErrorCode::kInvalidArgument,
                     "command buffer of " + std::to_string(dwords) + " dwords", format_hex(va), ""};
    }
    frame.words.resize(dwords);
    for (std::uint32_t i = 0; i < dwords; ++i) {
        if (!memory_->read(va + std::uint64_t{i} * 4, frame.words[i])) {
            target_->memory_fault(va + std::uint64_t{i} * 4, Access::kRead,
                                  "command buffer of the command processor");
            return Error{ErrorCode::kNotFound, "command buffer is not mapped",
                         format_hex(va + std::uint64_t{i} * 4), ""};
        }
    }
    return frame;
}

Result<CommandRun> CommandRun::create(RegisterFile& registers, CommandTarget& target,
                                      Memory& memory, std::uint64_t va, std::uint32_t dwords) {
    CommandRun run(registers, target, memory);
    WAVETAP_TRY(run.root_, run.load(va, dwords));
    run.frames_.push_back(run.root_);
    return run;
}

std::string CommandRun::here() const {
    if (frames_.empty()) return "";
    return "PM4 at " + format_hex(frames_.back().va + packet_at_ * 4) + ", dword " +
           std::to_string(packet_at_) + ", XCC " + std::to_string(xcc_);
}

CommandRun::Step CommandRun::fail(Error error) {
    if (error.where.empty() || error.where.starts_with("PM4 dword"))
        error.where = here();
    else
        error.where += ", " + here();
    error_ = std::move(error);
    frames_.clear();
    return {State::kFailed, timing::kPm4Packet, false};
}

CommandRun::Step CommandRun::step(std::uint64_t now) {
    for (;;) {
        if (frames_.empty()) return {State::kDone, 0, false};
        Frame& frame = frames_.back();
        pm4::Parser parser(frame.words);
        if (auto skipped = parser.skip(frame.at); !skipped) return fail(skipped.error());
        packet_at_ = frame.at;
        auto packet = parser.next();
        if (!packet) return fail(packet.error());
        if (*packet) {
            packet_at_ = (*packet)->offset_dwords;
            const std::size_t next = parser.offset_dwords();
            frame.at = next;
            repeat_ = false;
            auto result = execute(**packet, now);
            if (!result) return fail(result.error());
            if (repeat_) {
                frames_.back().at = packet_at_;
            } else {
                waiting_since_.reset();
            }
            return *result;
        }
        frames_.pop_back();
        if (frames_.empty() && ++xcc_ < registers_->xccs()) frames_.push_back(root_);
    }
}

CommandRun::Step CommandRun::wait(std::uint64_t now, std::uint64_t clocks, bool on_memory) {
    if (!waiting_since_) waiting_since_ = now;
    repeat_ = true;
    return {State::kWaiting, clocks, on_memory};
}

Error CommandRun::fault(std::uint64_t va, Access access, const char* packet) {
    target_->memory_fault(va, access, std::string(packet) + " of the command processor");
    return Error{ErrorCode::kNotFound,
                 std::string(packet) + (access == Access::kRead ? " reads " : " writes ") +
                     format_hex(va) + ", which is not mapped",
                 "", ""};
}

Result<CommandRun::Step> CommandRun::execute(const Packet& packet, std::uint64_t now) {
    switch (packet.opcode) {
    case Opcode::kNop:
        return Step{State::kRunning, timing::kPm4Packet, false};
    case Opcode::kSetUconfigReg:
        return set_registers(packet, pm4::kUconfigBase + (packet.body[0] & 0xFFFF));
    case Opcode::kSetShReg:
        return set_registers(packet, pm4::kShBase + (packet.body[0] & 0xFFFF));
    case Opcode::kCopyData:
        return copy_data(packet);
    case Opcode::kWriteData:
        return write_data(packet);
    case Opcode::kWaitRegMem:
        return wait_reg_mem(packet, now);
    case Opcode::kEventWrite:
        return event_write(packet, now);
    case Opcode::kAcquireMem:
        return acquire_mem(packet);
    case Opcode::kReleaseMem:
        return release_mem(packet, now);
    case Opcode::kAtomicMem:
        return atomic_mem(packet, now);
    case Opcode::kDmaData:
        return dma_data(packet, now);
    case Opcode::kIndirectBuffer:
        return indirect_buffer(packet);
    case Opcode::kPredExec:
        return pred_exec(packet);
    }
    return Error{ErrorCode::kUnsupported, "PM4 opcode without semantics", "", ""};
}

Result<CommandRun::Step> CommandRun::set_registers(const Packet& packet, std::uint32_t first) {
    const std::size_t values = packet.body.size() - 1;
    for (std::size_t i = 0; i < values; ++i) {
        WAVETAP_CHECK_OK(registers_->write(*target_, xcc_, first + static_cast<std::uint32_t>(i),
                                           packet.body[i + 1]));
    }
    return Step{State::kRunning, timing::kPm4Packet + timing::kPm4Register * values, false};
}

Result<std::uint64_t> CommandRun::copy_source(const Packet& packet, bool wide) {
    const std::uint32_t low = packet.body[1];
    const std::uint64_t address = join(low, packet.body[2]);
    switch (packet.body[0] & 0xF) {
    case kRegister:
    case kPerfcounter: {
        const std::uint32_t reg = low & kRegisterMask;
        const std::uint32_t high = wide ? registers_->read(*target_, xcc_, reg + 1) : 0;
        return join(registers_->read(*target_, xcc_, reg), high);
    }
    case kMemory:
    case kMemoryL2: {
        std::uint64_t value = 0;
        if (wide) {
            if (!memory_->read(address, value)) return fault(address, Access::kRead, "COPY_DATA");
        } else {
            std::uint32_t word = 0;
            if (!memory_->read(address, word)) return fault(address, Access::kRead, "COPY_DATA");
            value = word;
        }
        return value;
    }
    case kImmediate:
        return address;
    case kGpuClock:
        return target_->gpu_clock();
    case kSystemClock:
        return target_->system_clock();
    default:
        return Error{ErrorCode::kUnsupported,
                     "COPY_DATA source selector " + std::to_string(packet.body[0] & 0xF), "", ""};
    }
}

Result<CommandRun::Step> CommandRun::copy_data(const Packet& packet) {
    const bool wide = (packet.body[0] >> 16 & 1) != 0;
    const bool confirmed = (packet.body[0] >> 20 & 1) != 0;
    const std::uint32_t destination = packet.body[0] >> 8 & 0xF;
    WAVETAP_TRY(const std::uint64_t value, copy_source(packet, wide));
    const auto low = static_cast<std::uint32_t>(value);
    switch (destination) {
    case kRegister:
    case kPerfcounter:
    case kRegisterDc: {
        const std::uint32_t reg = packet.body[3] & kRegisterMask;
        WAVETAP_CHECK_OK(registers_->write(*target_, xcc_, reg, low));
        if (wide)
            WAVETAP_CHECK_OK(registers_->write(*target_, xcc_, reg + 1,
                                               static_cast<std::uint32_t>(value >> 32)));
        break;
    }
    case kMemory:
    case kMemoryL2:
    case kMemoryAsync: {
        const std::uint64_t address = join(packet.body[3], packet.body[4]);
        if (wide ? !memory_->write(address, value) : !memory_->write(address, low))
            return fault(address, Access::kWrite, "COPY_DATA");
        break;
    }
    default:
        return Error{ErrorCode::kUnsupported,
                     "COPY_DATA destination selector " + std::to_string(destination), "", ""};
    }
    return Step{State::kRunning, confirmed ? timing::kPm4Confirmed : timing::kPm4Packet, false};
}

Result<CommandRun::Step> CommandRun::write_data(const Packet& packet) {
    const std::uint32_t destination = packet.body[0] >> 8 & 0xF;
    const bool fixed = (packet.body[0] >> 16 & 1) != 0;
    const std::uint64_t address = join(packet.body[1], packet.body[2]);
    const std::size_t values = packet.body.size() - 3;
    for (std::size_t i = 0; i < values; ++i) {
        const std::uint64_t step = fixed ? 0 : i;
        if (destination == kRegister) {
            const auto reg = static_cast<std::uint32_t>((address & kRegisterMask) + step);
            WAVETAP_CHECK_OK(registers_->write(*target_, xcc_, reg, packet.body[i + 3]));
        } else if (destination == kMemory || destination == kMemoryL2 ||
                   destination == kMemoryAsync) {
            if (!memory_->write(address + step * 4, packet.body[i + 3]))
                return fault(address + step * 4, Access::kWrite, "WRITE_DATA");
        } else {
            return Error{ErrorCode::kUnsupported,
                         "WRITE_DATA destination selector " + std::to_string(destination), "", ""};
        }
    }
    return Step{State::kRunning, timing::kPm4Confirmed + timing::kPm4Register * values, false};
}

Result<CommandRun::Step> CommandRun::wait_reg_mem(const Packet& packet, std::uint64_t now) {
    const std::uint32_t function = packet.body[0] & 7;
    const std::uint32_t space = packet.body[0] >> 4 & 3;
    const std::uint32_t operation = packet.body[0] >> 6 & 3;
    if (function == 7 || space > 1 || operation != 0) {
        return Error{ErrorCode::kUnsupported,
                     "WAIT_REG_MEM control word " + format_hex(packet.body[0]), "", ""};
    }
    const std::uint32_t reference = packet.body[3], mask = packet.body[4];
    const bool on_memory = space == 1;
    std::uint32_t value = 0;
    std::string what;
    if (on_memory) {
        const std::uint64_t address = join(packet.body[1] & ~3U, packet.body[2]);
        if (!memory_->read(address, value)) return fault(address, Access::kRead, "WAIT_REG_MEM");
        what = "memory " + format_hex(address);
    } else {
        const std::uint32_t reg = packet.body[1] & kRegisterMask;
        value = registers_->read(*target_, xcc_, reg);
        what = "register " + register_text(reg);
    }
    if (poll_holds(function, value & mask, reference))
        return Step{State::kRunning, timing::kPm4Packet, false};
    const std::uint64_t limit = on_memory ? timing::kWaitMemoryLimit : timing::kWaitRegisterLimit;
    if (waiting_since_ && now - *waiting_since_ >= limit) {
        static constexpr const char* kFunctions[] = {"always", "<", "<=", "==", "!=", ">=", ">"};
        return Error{ErrorCode::kTimeout,
                     "WAIT_REG_MEM never held: " + what + " = " + format_hex(value) + ", mask " +
                         format_hex(mask) + ", wanted " + kFunctions[function] + " " +
                         format_hex(reference),
                     "", ""};
    }
    return wait(now, timing::kPm4Poll, on_memory);
}

Result<CommandRun::Step> CommandRun::event_write(const Packet& packet, std::uint64_t now) {
    const std::uint32_t event = packet.body[0] & 0x3F;
    if (event == kEventCsPartialFlush && !target_->queue_drained())
        return wait(now, timing::kPm4Poll, false);
    target_->event(xcc_, event);
    return Step{State::kRunning, timing::kPm4Event, false};
}

Result<CommandRun::Step> CommandRun::acquire_mem(const Packet& packet) {
    const std::uint64_t bytes = join(packet.body[1], packet.body[2] & 0xFF) << 8;
    const std::uint64_t va = join(packet.body[3], packet.body[4] & 0xFFFFFF) << 8;
    target_->acquire(xcc_, va, bytes, (packet.body[0] & kAcquireInstructionCache) != 0);
    return Step{State::kRunning, timing::kPm4Acquire, false};
}

Result<CommandRun::Step> CommandRun::release_mem(const Packet& packet, std::uint64_t now) {
    if (!target_->queue_drained()) return wait(now, timing::kPm4Poll, false);
    const std::uint32_t data_sel = packet.body[1] >> 29 & 7;
    const std::uint32_t int_sel = packet.body[1] >> 24 & 7;
    const std::uint64_t address = join(packet.body[2], packet.body[3]);
    const std::uint64_t data = join(packet.body[4], packet.body[5]);
    target_->event(xcc_, packet.body[0] & 0x3F);
    bool written = true;
    switch (data_sel) {
    case 0:
        break;
    case 1:
        written = memory_->write(address, static_cast<std::uint32_t>(data));
        break;
    case 2:
        written = memory_->write(address, data);
        break;
    case 3:
        written = memory_->write(address, target_->gpu_clock());
        break;
    case 4:
        written = memory_->write(address, target_->system_clock());
        break;
    default:
        return Error{ErrorCode::kUnsupported,
                     "RELEASE_MEM data selector " + std::to_string(data_sel), "", ""};
    }
    if (!written) return fault(address, Access::kWrite, "RELEASE_MEM");
    if (int_sel != 0) target_->interrupt(packet.body[6]);
    return Step{State::kRunning, timing::kPm4Acquire, false};
}

Result<CommandRun::Step> CommandRun::dma_data(const Packet& packet, std::uint64_t now) {
    const std::uint32_t source_sel = packet.body[0] >> 29 & 3;
    const std::uint32_t destination_sel = packet.body[0] >> 20 & 3;
    if ((source_sel != 0 && source_sel != 2 && source_sel != 3) ||
        (destination_sel != 0 && destination_sel != 3)) {
        return Error{ErrorCode::kUnsupported, "DMA_DATA control word " + format_hex(packet.body[0]),
                     "", ""};
    }
    const std::uint64_t source = join(packet.body[1], packet.body[2]);
    const std::uint64_t destination = join(packet.body[3], packet.body[4]);
    const std::uint64_t bytes = packet.body[5] & 0x3FFFFFF;
    const std::uint64_t end = std::min(bytes, progress_ + timing::kDmaBytesPerStep);
    for (; progress_ < end; ++progress_) {
        auto value = static_cast<std::byte>(packet.body[1] >> (progress_ % 4 * 8) & 0xFF);
        if (source_sel != 2 && !memory_->read(source + progress_, value))
            return fault(source + progress_, Access::kRead, "DMA_DATA");
        if (!memory_->write(destination + progress_, value))
            return fault(destination + progress_, Access::kWrite, "DMA_DATA");
    }
    if (progress_ < bytes) {
        wait(now, 0, false);
        return Step{State::kRunning, timing::kDmaStep, false};
    }
    progress_ = 0;
    return Step{State::kRunning, timing::kDmaStep, false};
}

Result<CommandRun::Step> CommandRun::indirect_buffer(const Packet& packet) {
    const std::uint64_t va = join(packet.body[0] & ~3U, packet.body[1] & 0xFFFF);
    const std::uint32_t dwords = packet.body[2] & 0xFFFFF;
    const bool chain = (packet.body[2] >> 20 & 1) != 0;
    if (chain) frames_.pop_back();
    if (frames_.size() >= kMaxNesting) {
        return Error{ErrorCode::kCorrupt, "INDIRECT_BUFFER nested more than 8 deep", format_hex(va),
                     ""};
    }
    WAVETAP_TRY(Frame frame, load(va, dwords));
    frames_.push_back(std::move(frame));
    return Step{State::kRunning, timing::kPm4Fetch, false};
}

Result<CommandRun::Step> CommandRun::pred_exec(const Packet& packet) {
    const std::size_t count = packet.body[0] & 0x3FFF;
    const std::uint32_t mask = packet.body[0] >> 24;
    Frame& frame = frames_.back();
    if (frame.at + count > frame.words.size()) {
        return Error{ErrorCode::kCorrupt,
                     "PRED_EXEC covers " + std::to_string(count) + " dwords, " +
                         std::to_string(frame.words.size() - frame.at) + " are left",
                     "", ""};
    }
    if ((mask >> xcc_ & 1) == 0) frame.at += count;
    return Step{State::kRunning, timing::kPm4Packet, false};
}

} // namespace wavetap::softgpu
