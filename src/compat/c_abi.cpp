// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
// The functions of librocprof-trace-decoder.so. Nothing is thrown through them, not even what a
// callback of the caller throws.

#include "compat/chunks.hpp"
#include "compat/handles.hpp"

#include <cstring>
#include <new>

#define WAVETAP_ABI extern "C" __attribute__((visibility("default")))

namespace {

using namespace wavetap;
using namespace wavetap::compat;

template <class Function> Status guarded(Function&& function) noexcept {
    try {
        return function();
    } catch (const std::bad_alloc&) {
        return kOutOfResources;
    } catch (...) {
        return kError;
    }
}

template <class Function> Status with_decoder(Handle handle, Function&& function) noexcept {
    return guarded([&] {
        const std::shared_ptr<Decoder> decoder = Handles::instance().find(handle.handle);
        return decoder ? function(*decoder) : kInvalidArgument;
    });
}

} // namespace

WAVETAP_ABI Status rocprof_trace_decoder_parse_data(SeDataCallback se_data, RecordCallback record,
                                                    IsaCallback isa, void* user) {
    if (se_data == nullptr || record == nullptr || isa == nullptr) return kInvalidArgument;
    return guarded([&] {
        const Job job{record, user, isa, user, {}, {}, false};
        return parse_buffers(job, se_data, user);
    });
}

WAVETAP_ABI const char* rocprof_trace_decoder_get_info_string(Info info) {
    switch (info) {
    case kNothing:
        return "nothing to report";
    case kDataLost:
        return "the trace unit dropped data: use fewer token types, a larger buffer or one SIMD";
    case kStitchIncomplete:
        return "some instructions have no program counter: code is missing or does not fit";
    case kWaveIncomplete:
        return "some waves were still running when the trace ended";
    }
    return "unknown warning";
}

WAVETAP_ABI const char* rocprof_trace_decoder_get_status_string(Status status) {
    switch (status) {
    case kSuccess:
        return "success";
    case kError:
        return "error";
    case kOutOfResources:
        return "out of memory, or a buffer is too small";
    case kInvalidArgument:
        return "invalid argument";
    case kInvalidShaderData:
        return "the data is no thread trace of a known generation";
    case kNotImplemented:
        return "not provided by this decoder";
    }
    return "unknown status";
}

WAVETAP_ABI Status rocprof_trace_decoder_get_version(Version* version) {
    if (version == nullptr) return kInvalidArgument;
    *version = Version{sizeof(Version), 0, 2, 3};
    return kSuccess;
}

WAVETAP_ABI Status rocprof_trace_decoder_create_handle(Handle* handle) {
    if (handle == nullptr) return kInvalidArgument;
    return guarded([&] {
        handle->handle = Handles::instance().create();
        return kSuccess;
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_destroy_handle(Handle handle) {
    return guarded(
        [&] { return Handles::instance().destroy(handle.handle) ? kSuccess : kInvalidArgument; });
}

WAVETAP_ABI Status rocprof_trace_decoder_set_isa_callback(Handle handle, IsaCallback callback,
                                                          void* user) {
    return with_decoder(handle, [&](Decoder& decoder) {
        decoder.set_isa(callback, user);
        return kSuccess;
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_set_se_data_callback(Handle handle,
                                                              SeDataCallback callback, void* user) {
    return with_decoder(handle, [&](Decoder& decoder) {
        decoder.set_se_data(callback, user);
        return kSuccess;
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_codeobj_load(Handle handle, std::uint64_t id,
                                                      std::uint64_t load_address,
                                                      std::uint64_t /*load_size*/, const void* data,
                                                      std::uint64_t size) {
    return with_decoder(handle, [&](Decoder& decoder) {
        if (id == 0 || data == nullptr || size == 0) return kInvalidArgument;
        std::vector<std::byte> bytes(static_cast<std::size_t>(size));
        std::memcpy(bytes.data(), data, bytes.size());
        Result<code::CodeObject> object = code::CodeObject::parse(std::move(bytes));
        if (!object) return kError;
        decoder.load(
            {id, load_address, std::make_shared<const code::CodeObject>(std::move(*object))});
        return kSuccess;
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_codeobj_unload(Handle handle, std::uint64_t id) {
    return with_decoder(
        handle, [&](Decoder& decoder) { return decoder.unload(id) ? kSuccess : kInvalidArgument; });
}

WAVETAP_ABI Status rocprof_trace_decoder_set_analysis(Handle handle, std::uint64_t flags) {
    return with_decoder(handle, [&](Decoder& decoder) {
        if ((flags & ~std::uint64_t{kAnalyseHiddenLatency}) != 0) return kInvalidArgument;
        decoder.set_analysis(flags != 0);
        return kSuccess;
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_parse(Handle handle, const void* data, std::uint64_t size,
                                               RecordCallback record, void* user) {
    return with_decoder(handle, [&](Decoder& decoder) {
        if (record == nullptr) return kInvalidArgument;
        Decoder::Settings settings = decoder.settings();
        const Job job{record,
                      user,
                      settings.isa,
                      settings.isa_user,
                      std::move(settings.code),
                      settings.wanted,
                      settings.hidden_latency};
        if (settings.se_data != nullptr)
            return parse_buffers(job, settings.se_data, settings.se_data_user);
        if (data == nullptr || size == 0) return kInvalidArgument;
        return parse_buffer(job, static_cast<const std::uint8_t*>(data), size);
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_set_record_filter(Handle handle,
                                                           const RecordFilter* filter) {
    return with_decoder(handle, [&](Decoder& decoder) { return decoder.set_filter(filter); });
}

// Callers warm up with no data.
WAVETAP_ABI Status rocprof_trace_decoder_quick_scan(Handle handle, std::uint64_t chunk,
                                                    const void* data, std::uint64_t size,
                                                    RecordCallback record, void* user) {
    return with_decoder(handle, [&](Decoder& decoder) {
        if (data == nullptr || size == 0) return kSuccess;
        if (record == nullptr) return kInvalidArgument;
        const std::span bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
        return quick_scan(decoder, chunk, bytes, record, user);
    });
}

WAVETAP_ABI Status rocprof_trace_decoder_build_standalone(Handle handle, std::uint64_t chunk,
                                                          const void* data, std::uint64_t size,
                                                          std::uint64_t begin, std::uint64_t end,
                                                          void* out, std::uint64_t* size_out) {
    return with_decoder(handle, [&](Decoder& decoder) {
        if (data == nullptr || out == nullptr || size_out == nullptr) return kInvalidArgument;
        const std::span bytes(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
        return build_standalone(decoder, chunk, bytes, begin, end, out, size_out);
    });
}
