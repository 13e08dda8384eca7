// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "pm4/packets.hpp"
#include "softgpu/memory.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// PM4 packets of gfx9: the register file of each XCC, and a command buffer in execution.
// Semantics: format notes pm4-sqtt sections 2, 3 and 12.

namespace wavetap::softgpu {

/// What packets act on besides memory. Implemented by the chip; tests bring their own.
class CommandTarget {
  public:
    virtual ~CommandTarget() = default;
    /// A thread-trace register (0xC330..0xC33C) of one engine. `se` counts inside the XCC.
    virtual Result<void> write_trace_register(std::uint32_t xcc, std::uint32_t se,
                                              std::uint32_t reg, std::uint32_t value) = 0;
    virtual std::uint32_t read_trace_register(std::uint32_t xcc, std::uint32_t se,
                                              std::uint32_t reg) = 0;
    /// A write of any other register reached this engine (USERDATA and the rest).
    virtual void register_written(std::uint32_t xcc, std::uint32_t se, std::uint32_t reg,
                                  std::uint32_t value) = 0;
    /// A write of a performance-counter register (PerfUnit::owns) reached this engine; told before
    /// register_written().
    virtual Result<void> write_counter_register(std::uint32_t, std::uint32_t, std::uint32_t,
                                                std::uint32_t) {
        return {};
    }
    /// A read of any other register, known or not (unknown ones give 0).
    virtual void register_read(std::uint32_t /*xcc*/, std::uint32_t /*reg*/) {}
    /// EVENT_WRITE or the event of RELEASE_MEM.
    virtual void event(std::uint32_t xcc, std::uint32_t event) = 0;
    virtual std::uint64_t gpu_clock() = 0;    ///< the constant counter
    virtual std::uint64_t system_clock() = 0; ///< the host's counter
    virtual void acquire(std::uint32_t xcc, std::uint64_t va, std::uint64_t bytes,
                         bool instruction_cache) = 0;
    virtual void interrupt(std::uint32_t context_id) = 0;
    virtual void memory_fault(std::uint64_t va, Access access, const std::string& what) = 0;
    /// True when every earlier dispatch of the queue whose stream runs has ended.
    virtual bool queue_drained() = 0;
};

/// Registers of all XCCs. Not thread safe.
class RegisterFile {
  public:
    RegisterFile(std::uint32_t xccs, std::uint32_t engines_per_xcc)
        : engines_per_xcc_(engines_per_xcc), files_(xccs) {}

    std::uint32_t xccs() const { return static_cast<std::uint32_t>(files_.size()); }
    std::uint32_t engines_per_xcc() const { return engines_per_xcc_; }
    std::uint32_t grbm_gfx_index(std::uint32_t xcc) const { return files_[xcc].grbm; }

    /// Writes to every engine that GRBM_GFX_INDEX selects. Errors: kUnsupported (a register that is
    /// not on the accepted list, naming it), kInvalidArgument (an engine that does not exist).
    Result<void> write(CommandTarget& target, std::uint32_t xcc, std::uint32_t reg,
                       std::uint32_t value);
    /// Reads the selected engine, engine 0 in broadcast. Unknown registers read as 0.
    std::uint32_t read(CommandTarget& target, std::uint32_t xcc, std::uint32_t reg) const;
    /// As read(), of one engine.
    std::uint32_t read_engine(CommandTarget& target, std::uint32_t xcc, std::uint32_t se,
                              std::uint32_t reg) const;
    /// The engines selected for writing: [first, last).
    std::pair<std::uint32_t, std::uint32_t> selected(std::uint32_t xcc) const;

  private:
    struct File {
        std::uint32_t grbm = 0xE0000000;
        std::map<std::uint64_t, std::uint32_t> values; ///< se << 32 | reg
    };
    std::uint32_t engines_per_xcc_;
    std::vector<File> files_;
};

/// One command buffer in execution: on every XCC, one after the other. The caller calls step() on
/// its model clock; each call executes one packet.
class CommandRun {
  public:
    enum class State : std::uint8_t {
        kRunning, ///< the packet took `clocks`
        kWaiting, ///< a condition does not hold yet; try again after `clocks`
        kDone,
        kFailed, ///< `error` says why; the run is over
    };
    struct Step {
        State state = State::kRunning;
        std::uint64_t clocks = 0;
        bool on_memory = false; ///< kWaiting: only something outside the chip may end it
    };

    /// Copies `dwords` dwords from `va`. Errors: kNotFound (not mapped), kInvalidArgument (empty).
    static Result<CommandRun> create(RegisterFile& registers, CommandTarget& target, Memory& memory,
                                     std::uint64_t va, std::uint32_t dwords);
    Step step(std::uint64_t now);
    const Error& error() const { return error_; }

  private:
    struct Frame {
        std::vector<std::uint32_t> words;
        std::uint64_t va = 0;
        std::size_t at = 0; ///< dword of the next packet
    };

    CommandRun(RegisterFile& registers, CommandTarget& target, Memory& memory)
        : registers_(&registers), target_(&target), memory_(&memory) {}

    Result<Frame> load(std::uint64_t va, std::uint32_t dwords) const;
    Step fail(Error error);
    Step wait(std::uint64_t now, std::uint64_t clocks, bool on_memory);
    Result<Step> execute(const pm4::Packet& packet, std::uint64_t now);
    Result<Step> set_registers(const pm4::Packet& packet, std::uint32_t first);
    Result<Step> copy_data(const pm4::Packet& packet);
    Result<std::uint64_t> copy_source(const pm4::Packet& packet, bool wide);
    Result<Step> write_data(const pm4::Packet& packet);
    Result<Step> wait_reg_mem(const pm4::Packet& packet, std::uint64_t now);
    Result<Step> event_write(const pm4::Packet& packet, std::uint64_t now);
    Result<Step> acquire_mem(const pm4::Packet& packet);
    Result<Step> release_mem(const pm4::Packet& packet, std::uint64_t now);
    Result<Step> atomic_mem(const pm4::Packet& packet, std::uint64_t now);
    Result<Step> dma_data(const pm4::Packet& packet, std::uint64_t now);
    Result<Step> indirect_buffer(const pm4::Packet& packet);
    Result<Step> pred_exec(const pm4::Packet& packet);
    Error fault(std::uint64_t va, Access access, const char* packet);
    std::string here() const;

    RegisterFile* registers_;
    CommandTarget* target_;
    Memory* memory_;
    std::uint32_t xcc_ = 0;
    Frame root_;
    std::vector<Frame> frames_;
    std::size_t packet_at_ = 0;
    std::uint64_t progress_ = 0; ///< bytes that a DMA_DATA has moved
    std::optional<std::uint64_t> waiting_since_;
    bool repeat_ = false; ///< the packet is to be executed again
    Error error_;
};

} // namespace wavetap::softgpu
