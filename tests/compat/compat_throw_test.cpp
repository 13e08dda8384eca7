// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/abi.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

// The drop-in decoder with callbacks that throw, and with bytes anywhere: nothing comes through the C
// functions but a status, and the library works on. Built with every sanitizer.

using namespace wavetap::compat;

extern "C" {
Status rocprof_trace_decoder_parse_data(SeDataCallback, RecordCallback, IsaCallback, void*);
Status rocprof_trace_decoder_create_handle(Handle*);
Status rocprof_trace_decoder_destroy_handle(Handle);
Status rocprof_trace_decoder_set_isa_callback(Handle, IsaCallback, void*);
Status rocprof_trace_decoder_set_se_data_callback(Handle, SeDataCallback, void*);
Status rocprof_trace_decoder_parse(Handle, const void*, std::uint64_t, RecordCallback, void*);
Status rocprof_trace_decoder_quick_scan(Handle, std::uint64_t, const void*, std::uint64_t,
                                        RecordCallback, void*);
}

namespace {

// gfx11: a dispatch, and one wave with five instructions.
constexpr std::array<unsigned char, 64> kTrace{
    0x91, 0x01, 0x90, 0x68, 0x00, 0x00, 0x00, 0x00, 0x01, 0x80, 0x25, 0x00, 0x00, 0x00, 0x09, 0x82,
    0x0c, 0x00, 0x96, 0x00, 0x01, 0x00, 0x19, 0x82, 0x0d, 0x00, 0x20, 0x00, 0x00, 0x00, 0xd1, 0x31,
    0x00, 0x71, 0x00, 0x59, 0x04, 0x08, 0x00, 0x00, 0x00, 0x51, 0x23, 0x00, 0x0c, 0x00, 0x80, 0xfe,
    0x51, 0xd7, 0x00, 0x02, 0x20, 0x00, 0x1d, 0x00, 0x23, 0x00, 0xb8, 0x02, 0x60, 0x02, 0x51, 0x8c};

enum class Throws { kNothing, kRuntimeError, kNoMemory, kNumber };

void raise(Throws what) {
    switch (what) {
    case Throws::kNothing:
        return;
    case Throws::kRuntimeError:
        throw std::runtime_error("of the client");
    case Throws::kNoMemory:
        throw std::bad_alloc();
    case Throws::kNumber:
        throw 7;
    }
}

/// What the callbacks work with: `type` is the record at which the record callback throws.
struct Client {
    std::vector<unsigned char> bytes{kTrace.begin(), kTrace.end()};
    Throws data = Throws::kNothing, isa = Throws::kNothing, record = Throws::kNothing;
    int type = -1;
    bool given = false;
    unsigned records = 0, asked = 0;
};

std::uint64_t next_buffer(std::uint8_t** data, std::uint64_t* size, void* user) {
    auto* client = static_cast<Client*>(user);
    raise(client->data);
    *data = client->bytes.data();
    *size = client->bytes.size();
    return std::exchange(client->given, true) ? 0 : *size;
}
Status isa(char* text, std::uint64_t* bytes, std::uint64_t* text_size, Pc, void* user) {
    auto* client = static_cast<Client*>(user);
    ++client->asked;
    raise(client->isa);
    constexpr char kText[] = "s_nop 0";
    std::memcpy(text, kText, sizeof kText - 1);
    *text_size = sizeof kText - 1;
    *bytes = 4;
    return kSuccess;
}
Status record(RecordType type, void*, std::uint64_t, void* user) {
    auto* client = static_cast<Client*>(user);
    ++client->records;
    if (type == client->type) raise(client->record);
    return kSuccess;
}

/// Every way to the callbacks.
Status parse_data(Client& client) {
    client.given = false;
    return rocprof_trace_decoder_parse_data(next_buffer, record, isa, &client);
}
Status with_handle(const std::function<Status(Handle)>& call) {
    Handle handle;
    EXPECT_EQ(rocprof_trace_decoder_create_handle(&handle), kSuccess);
    const Status status = call(handle);
    EXPECT_EQ(rocprof_trace_decoder_destroy_handle(handle), kSuccess);
    return status;
}
Status parse(Client& client) {
    return with_handle([&](Handle handle) {
        rocprof_trace_decoder_set_isa_callback(handle, isa, &client);
        return rocprof_trace_decoder_parse(handle, client.bytes.data(), client.bytes.size(), record,
                                           &client);
    });
}
Status parse_from_callback(Client& client) {
    client.given = false;
    return with_handle([&](Handle handle) {
        rocprof_trace_decoder_set_isa_callback(handle, isa, &client);
        rocprof_trace_decoder_set_se_data_callback(handle, next_buffer, &client);
        return rocprof_trace_decoder_parse(handle, nullptr, 0, record, &client);
    });
}
Status scan(Client& client) {
    return with_handle([&](Handle handle) {
        return rocprof_trace_decoder_quick_scan(handle, 0, client.bytes.data(), client.bytes.size(),
                                                record, &client);
    });
}

constexpr std::array kThrown{Throws::kRuntimeError, Throws::kNoMemory, Throws::kNumber};

Status status_of(Throws what) {
    return what == Throws::kNoMemory ? kOutOfResources : kError;
}

TEST(CompatThrow, FromTheDataCallback) {
    for (const Throws what : kThrown) {
        for (Status (*call)(Client&) : {parse_data, parse_from_callback}) {
            Client client;
            client.data = what;
            EXPECT_EQ(call(client), status_of(what));
            EXPECT_EQ(client.records, 0U);
            client.data = Throws::kNothing;
            EXPECT_EQ(call(client), kSuccess) << "the library works on";
            EXPECT_GT(client.records, 3U);
        }
    }
}

TEST(CompatThrow, FromTheInstructionCallback) {
    for (const Throws what : kThrown) {
        for (Status (*call)(Client&) : {parse_data, parse, parse_from_callback}) {
            Client client;
            client.isa = what;
            EXPECT_EQ(call(client), status_of(what));
            EXPECT_EQ(client.asked, 1U);
            client.isa = Throws::kNothing;
            EXPECT_EQ(call(client), kSuccess);
        }
    }
}

TEST(CompatThrow, FromTheRecordCallback) {
    for (const Throws what : kThrown) {
        for (const int type : {kGfxip, kOccupancy, kWave, kDispatch}) {
            for (Status (*call)(Client&) : {parse_data, parse, parse_from_callback}) {
                Client client;
                client.record = what;
                client.type = type;
                EXPECT_EQ(call(client), status_of(what)) << type;
                client.type = -1;
                EXPECT_EQ(call(client), kSuccess);
            }
        }
        Client client;
        client.record = what;
        client.type = kDispatch;
        EXPECT_EQ(scan(client), status_of(what));
        client.type = -1;
        EXPECT_EQ(scan(client), kSuccess);
        EXPECT_EQ(client.records, 2U);
    }
}

// Buffers of exactly their size, at every place in a word and cut at every byte.
TEST(CompatThrow, BytesLieAnywhere) {
    for (std::size_t shift = 0; shift < 8; ++shift) {
        for (std::size_t size = 1; size <= kTrace.size(); ++size) {
            const auto room = std::make_unique<unsigned char[]>(shift + size);
            std::memcpy(room.get() + shift, kTrace.data(), size);
            Client client;
            const Status whole = with_handle([&](Handle handle) {
                return rocprof_trace_decoder_parse(handle, room.get() + shift, size, record,
                                                   &client);
            });
            EXPECT_EQ(whole, size < 8 ? kInvalidShaderData : kSuccess) << size;
            const Status chunk = with_handle([&](Handle handle) {
                return rocprof_trace_decoder_quick_scan(handle, 0, room.get() + shift, size, record,
                                                        &client);
            });
            EXPECT_EQ(chunk, size < 8 ? kInvalidArgument : kSuccess) << size;
        }
    }
}

} // namespace
