// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "aqlprofile/packets.hpp"

#include <array>
#include <optional>
#include <vector>

// What the library calls back into; for this folder only.

namespace wavetap::aqlprofile {

inline constexpr const char* kOwnPacketsHint =
    "leave out --packets aqlprofile: wavetap makes its own packets";

/// What a call came to: an error of our own callbacks comes before the library's status.
Result<void> outcome_of(std::int32_t status, const char* call, const std::optional<Error>& failure);

/// The command buffer that a packet runs. Errors: kUnsupported (it is not a vendor packet with one
/// PM4 buffer and nothing else).
Result<capture::CommandBuffer> parse_packet(const AqlPacket& packet);

/// One set of packets, and the memory that the library was given for it. Resource: the library keeps
/// its address until delete_packets, and after a call that failed perhaps until the process ends
/// (`tainted`). Its destructor deletes the packets and frees what is left.
struct Packets::Set {
    /// Bytes of one engine that the library wanted copied, in the order of its calls.
    struct Piece {
        std::uint64_t va = 0, bytes = 0;
    };
    struct Part {
        std::uint32_t engine = 0;
        std::uint64_t va = 0, bytes = 0, header = 0;
    };

    Set(capture::Backend& memory, std::shared_ptr<const Library> from)
        : backend(&memory), library(std::move(from)) {}
    ~Set() { drop(); }
    Set(const Set&) = delete;
    Set& operator=(const Set&) = delete;

    static std::int32_t allocate(void** pointer, std::uint64_t bytes, BufferFlags flags,
                                 void* user) noexcept;
    static void free(void* pointer, void* user) noexcept;
    static std::int32_t copy(void* to, const void* from, std::size_t bytes, void* user) noexcept;
    static std::int32_t data(std::uint32_t engine, void* bytes, std::uint64_t count,
                             void* user) noexcept;

    Result<void> outcome(std::int32_t status, const char* call);
    Result<capture::CommandBuffer> command_of(const AqlPacket& packet) const;
    void begin_reading(bool with_header);
    /// Gives packets and memory back.
    void drop();
    std::uint64_t host_bytes() const;

    capture::Backend* backend;
    const std::shared_ptr<const Library> library;
    pm4::TraceConfig config;
    capture::OutputSlots slots;
    Handle handle;
    bool made = false;    ///< the handle is the library's
    bool tainted = false; ///< must outlive the process's last call back
    std::vector<capture::HostMemory> host;
    std::uint32_t device_requests = 0;
    std::optional<Error> failure; ///< of a callback in the call that is in progress
    capture::TraceStreams streams;
    capture::RingStreams ring;
    // A ring's run.
    std::uint64_t swaps = 0;   ///< that were executed
    bool flip_pending = false; ///< the library has counted a swap that was not executed
    // The last read-back.
    bool reading = false, headed = false;
    std::size_t next_piece = 0;
    std::vector<Piece> pieces;
    std::vector<Part> parts;
    bool full = false, write_error = false;

  private:
    std::int32_t give(void** pointer, std::uint64_t bytes, BufferFlags flags);
    std::int32_t give_host(void** pointer, std::uint64_t bytes);
    std::int32_t copy_bytes(void* to, const void* from, std::size_t bytes);
    std::int32_t take(std::uint32_t engine, const void* bytes, std::uint64_t count);
    std::int32_t fail(Error error);
    /// The slot that holds [va, va + bytes) wholly, within this trace's part of it.
    bool in_slot(std::uint64_t va, std::uint64_t bytes) const;
    bool in_host(std::uint64_t va, std::uint64_t bytes) const;
};

/// Keeps a set until the process ends; from now on its callbacks do nothing.
void keep_for_ever(std::unique_ptr<Packets::Set> set);

/// Memory for the words of one marker. The GPU never reads it: they are copied from here.
struct Packets::Scratch {
    static constexpr std::size_t kBytes = 16384;

    static std::int32_t allocate(void** pointer, std::uint64_t bytes, BufferFlags flags,
                                 void* user) noexcept;
    static void free(void* pointer, void* user) noexcept;
    void begin() {
        used = 0;
        failure.reset();
    }
    Result<void> append(const AqlPacket& packet, std::vector<std::uint32_t>& words) const;

    alignas(4096) std::array<std::byte, kBytes> memory{};
    std::size_t used = 0;
    std::optional<Error> failure;
};

} // namespace wavetap::aqlprofile
