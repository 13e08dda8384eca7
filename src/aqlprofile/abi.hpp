// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// Our own description of the part of aqlprofile's C interface, version 1, that makes thread traces
// (names, numbers and layouts as in its public header of June 2025 to 2026). Agents and signals are
// one 64-bit word each, as in HSA. Every function answers with an HSA status.

namespace wavetap::aqlprofile {

inline constexpr std::uint32_t kMajorVersion = 1;

enum Status : std::int32_t {
    kSuccess = 0,
    kError = 0x1000,
    kInvalidArgument = 0x1001,
    kInvalidAgent = 0x1004,
    kOutOfResources = 0x1008,
    kException = 0x1016,
};

struct Version {
    std::uint32_t major = 0, minor = 0, patch = 0;
};

struct Handle {
    std::uint64_t value = 0;
};
static_assert(sizeof(Handle) == 8);

struct Agent {
    std::uint64_t handle = 0;
};
static_assert(sizeof(Agent) == 8);

/// Who uses a buffer: bit 0 the device, bit 1 the host, 7:2 a hint.
struct BufferFlags {
    std::uint32_t raw = 0;
    bool device() const { return (raw & 1) != 0; }
    bool host() const { return (raw & 2) != 0; }
};
static_assert(sizeof(BufferFlags) == 4);

/// One AQL packet. Of a vendor packet: word 0 header and format, 1 to 4 a PM4 packet, 14 and 15 the
/// completion signal.
struct AqlPacket {
    std::uint32_t words[16] = {};
};
static_assert(sizeof(AqlPacket) == 64);

struct ControlPackets {
    AqlPacket start, stop;
};
static_assert(sizeof(ControlPackets) == 128 && offsetof(ControlPackets, stop) == 64);

enum ParameterName : std::uint32_t {
    kTargetCu = 0,
    kSeMask = 5,
    kSimdSelection = 8,
    kOccupancyMode = 9,
    kBufferSize = 10,
    kBufferSizeHigh = 11,
    kClockMarkers = 12, ///< 2 = off; libraries of 2025 may not know it
    kBuffers = 13,      ///< libraries with the multi-buffer functions
    kCounterCus = 240,  ///< gfx9: mask of the CUs that are sampled
    kCounterRate = 241, ///< period - 1
    kCounter = 242,     ///< PERF_SEL 27:0, SIMD mask 31:28; once for each counter
};
struct Parameter {
    std::uint32_t name = 0;
    std::uint32_t value = 0;
};
static_assert(sizeof(Parameter) == 8 && offsetof(Parameter, value) == 4);

struct Profile {
    Agent agent;
    const Parameter* parameters = nullptr;
    std::uint32_t parameter_count = 0;
};
static_assert(sizeof(Profile) == 24 && offsetof(Profile, parameters) == 8 &&
              offsetof(Profile, parameter_count) == 16);

struct CodeObjectData {
    std::uint64_t id = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    Agent agent;
    std::uint32_t flags = 0; ///< bit 0: unloaded; 1: loaded before the start
};
static_assert(sizeof(CodeObjectData) == 40 && offsetof(CodeObjectData, address) == 8 &&
              offsetof(CodeObjectData, size) == 16 && offsetof(CodeObjectData, agent) == 24 &&
              offsetof(CodeObjectData, flags) == 32);

struct BufferStatus {
    std::uint64_t struct_bytes = 0;
    void* data = nullptr; ///< of the buffer that is full
    std::uint64_t read_bytes = 0;
    std::uint64_t swaps = 0;
    bool needs_swap = false;
    bool too_late = false;
    bool error = false;
    std::uint64_t read_offset = 0; ///< newer libraries
};
static_assert(sizeof(BufferStatus) == 48 && offsetof(BufferStatus, data) == 8 &&
              offsetof(BufferStatus, read_bytes) == 16 && offsetof(BufferStatus, swaps) == 24 &&
              offsetof(BufferStatus, needs_swap) == 32 && offsetof(BufferStatus, too_late) == 33 &&
              offsetof(BufferStatus, error) == 34 && offsetof(BufferStatus, read_offset) == 40);

extern "C" {
using AllocateCallback = std::int32_t (*)(void** pointer, std::uint64_t bytes, BufferFlags flags,
                                          void* user);
using FreeCallback = void (*)(void* pointer, void* user);
using CopyCallback = std::int32_t (*)(void* to, const void* from, std::size_t bytes, void* user);
using DataCallback = std::int32_t (*)(std::uint32_t engine, void* data, std::uint64_t bytes,
                                      void* user);

/// Two signatures are in use: a structure of three numbers, or a pointer for each of four. Called
/// with pointers to consecutive words, both write the same.
using GetVersion = std::int32_t (*)(std::uint32_t* major, std::uint32_t* minor,
                                    std::uint32_t* patch, std::uint32_t* npi);
using CreatePackets = std::int32_t (*)(Handle* handle, ControlPackets* packets, Profile profile,
                                       AllocateCallback allocate, FreeCallback free,
                                       CopyCallback copy, void* user);
using DeletePackets = void (*)(Handle handle);
using IterateData = std::int32_t (*)(Handle handle, DataCallback callback, void* user);
using CodeObjectMarker = std::int32_t (*)(AqlPacket* packet, Handle* handle, CodeObjectData data,
                                          AllocateCallback allocate, FreeCallback free, void* user);
/// `swaps`: `*count` pointers to packets; `*count` becomes the number that was written.
using GetBufferPackets = std::int32_t (*)(std::uint64_t* header, AqlPacket* query,
                                          AqlPacket** swaps, std::uint64_t* count, Handle handle,
                                          int engine, int flags);
/// After a query: advances the library's count of swaps if a swap is needed.
using UpdateBufferStatus = std::int32_t (*)(BufferStatus* status, Handle handle, int engine,
                                            int flags);
}

} // namespace wavetap::aqlprofile
