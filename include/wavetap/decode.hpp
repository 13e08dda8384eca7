// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

/**
 * \file decode.hpp
 * Decoding thread traces in C++20: a header over the C interface of libwavetap-decode.so (decode.h,
 * which describes the records, threads and errors). Nothing is added to the library: link it as C does.
 *
 *     auto decoder = wavetap::Decoder::create();
 *     if (!decoder) return complain(decoder.error().message);
 *     decoder->load_code(1, 0x7f0000001000, elf);
 *     std::uint64_t instructions = 0;
 *     const auto done = decoder->decode(blob, wavetap::DecodeFunctions{
 *         .wave = [&](const wavetap_wave& wave) { instructions += wave.instruction_count; }});
 *
 * A *visitor* is any object with some of these members, functions or std::functions; what it lacks, or
 * an empty std::function, is left out, and the library does not even make the records:
 *
 *     void wave(const wavetap_wave&);              // its spans: instructions(), timeline()
 *     void dispatch(const wavetap_dispatch&);
 *     void event(const wavetap_event&);
 *     void realtime(std::uint64_t time, std::uint64_t counter);
 *     void diagnostic(const wavetap_diagnostic&);  // last
 *     void token(const wavetap_token&);            // its span: fields()
 *     void occupancy(const wavetap_occupancy&);
 *     void register_write(const wavetap_register_write&);
 *     void code_object(const wavetap_code_marker&);
 *     void shader_data(const wavetap_shader_data&);
 *     void counters(const wavetap_counters&);
 *     void other_simd(const wavetap_other_simd&);
 *     void totals(const wavetap_totals&);          // before diagnostics
 *
 * Records and what they point to are valid during the call only. A visitor may throw: the exception
 * never crosses the C interface; the visitor gets no further record, and the function that was called
 * throws it on when the library has returned. Nothing else here throws, except std::bad_alloc.
 *
 * Errors are values (DecodeResult): a status and one line of words.
 */

#include <wavetap/decode.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace wavetap {

/** Why a call failed. */
struct DecodeError {
    wavetap_status status = WAVETAP_STATUS_INTERNAL; /**< never SUCCESS */
    std::string message;                             /**< one line, in words */
};

/** A value, or why there is none. */
template <class T> class [[nodiscard]] DecodeResult {
  public:
    /** Implicit, so that functions return either. */
    DecodeResult(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    DecodeResult(DecodeError error) : held_(std::in_place_index<1>, std::move(error)) {}

    /** True if there is a value. */
    explicit operator bool() const noexcept { return held_.index() == 0; }
    /** Precondition of these: there is a value. */
    T& operator*() & noexcept { return *std::get_if<0>(&held_); }
    const T& operator*() const& noexcept { return *std::get_if<0>(&held_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
    T* operator->() noexcept { return std::get_if<0>(&held_); }
    const T* operator->() const noexcept { return std::get_if<0>(&held_); }
    /** Precondition: there is none. */
    const DecodeError& error() const noexcept { return *std::get_if<1>(&held_); }

  private:
    std::variant<T, DecodeError> held_;
};

/** Success, or why not. */
template <> class [[nodiscard]] DecodeResult<void> {
  public:
    DecodeResult() = default;
    DecodeResult(DecodeError error) : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return !error_; }
    /** Precondition: it failed. */
    const DecodeError& error() const noexcept { return *error_; }

  private:
    std::optional<DecodeError> error_;
};

/** The instructions of a wave. */
inline std::span<const wavetap_instruction> instructions(const wavetap_wave& wave) noexcept {
    return {wave.instructions, wave.instruction_count};
}
/** What a wave did, piece by piece. */
inline std::span<const wavetap_timeline_piece> timeline(const wavetap_wave& wave) noexcept {
    return {wave.timeline, wave.timeline_count};
}

/** The fields of a token. */
inline std::span<const wavetap_token_field> fields(const wavetap_token& token) noexcept {
    return {token.fields, token.field_count};
}

/** A visitor of functions, for lambdas: DecodeFunctions{.wave = [&](const wavetap_wave& w) { … }}. */
struct DecodeFunctions {
    std::function<void(const wavetap_wave&)> wave = {};
    std::function<void(const wavetap_dispatch&)> dispatch = {};
    std::function<void(const wavetap_event&)> event = {};
    std::function<void(std::uint64_t time, std::uint64_t counter)> realtime = {};
    std::function<void(const wavetap_diagnostic&)> diagnostic = {};
    std::function<void(const wavetap_token&)> token = {};
    std::function<void(const wavetap_occupancy&)> occupancy = {};
    std::function<void(const wavetap_register_write&)> register_write = {};
    std::function<void(const wavetap_code_marker&)> code_object = {};
    std::function<void(const wavetap_shader_data&)> shader_data = {};
    std::function<void(const wavetap_counters&)> counters = {};
    std::function<void(const wavetap_other_simd&)> other_simd = {};
    std::function<void(const wavetap_totals&)> totals = {};
};

/** Not for users: how visitors are called from C. */
namespace detail {

inline DecodeResult<void> checked(wavetap_status status) {
    if (status == WAVETAP_STATUS_SUCCESS) return {};
    return DecodeError{status, wavetap_decode_last_error()};
}

template <class V>
concept SeesWaves = requires(V& v, const wavetap_wave& r) {
    v.wave(r);
};
template <class V>
concept SeesDispatches = requires(V& v, const wavetap_dispatch& r) {
    v.dispatch(r);
};
template <class V>
concept SeesEvents = requires(V& v, const wavetap_event& r) {
    v.event(r);
};
template <class V>
concept SeesRealtime = requires(V& v, std::uint64_t n) {
    v.realtime(n, n);
};
template <class V>
concept SeesDiagnostics = requires(V& v, const wavetap_diagnostic& r) {
    v.diagnostic(r);
};
template <class V>
concept SeesTokens = requires(V& v, const wavetap_token& r) {
    v.token(r);
};
template <class V>
concept SeesOccupancy = requires(V& v, const wavetap_occupancy& r) {
    v.occupancy(r);
};
template <class V>
concept SeesRegisterWrites = requires(V& v, const wavetap_register_write& r) {
    v.register_write(r);
};
template <class V>
concept SeesCodeObjects = requires(V& v, const wavetap_code_marker& r) {
    v.code_object(r);
};
template <class V>
concept SeesShaderData = requires(V& v, const wavetap_shader_data& r) {
    v.shader_data(r);
};
template <class V>
concept SeesCounters = requires(V& v, const wavetap_counters& r) {
    v.counters(r);
};
template <class V>
concept SeesOtherSimd = requires(V& v, const wavetap_other_simd& r) {
    v.other_simd(r);
};
template <class V>
concept SeesTotals = requires(V& v, const wavetap_totals& r) {
    v.totals(r);
};
template <class V>
concept SeesSomething = SeesWaves<V> || SeesDispatches<V> || SeesEvents<V> || SeesRealtime<V> ||
    SeesDiagnostics<V> || SeesTokens<V> || SeesOccupancy<V> || SeesRegisterWrites<V> ||
    SeesCodeObjects<V> || SeesShaderData<V> || SeesCounters<V> || SeesOtherSimd<V> || SeesTotals<V>;

/** A visitor and the exception that it threw. */
template <class V> struct Visit {
    static_assert(SeesSomething<V>, "the visitor has none of wave, dispatch, event, …");
    V* visitor;
    std::exception_ptr thrown = nullptr;

    /** Calls from C: what is thrown is kept until rethrow(). */
    template <class Call> static void guarded(void* user, Call&& call) noexcept {
        auto* visit = static_cast<Visit*>(user);
        if (visit->thrown) return;
        try {
            call(*visit->visitor);
        } catch (...) {
            visit->thrown = std::current_exception();
        }
    }
    void rethrow() {
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    }

    wavetap_decode_handlers handlers() const {
        wavetap_decode_handlers out = {};
        out.size = sizeof out;
        if constexpr (SeesWaves<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.wave)) { return bool(v.wave); }))
                out.wave = [](const wavetap_wave* record, void* user) {
                    guarded(user, [record](V& v) { v.wave(*record); });
                };
        }
        if constexpr (SeesDispatches<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.dispatch)) { return bool(v.dispatch); }))
                out.dispatch = [](const wavetap_dispatch* record, void* user) {
                    guarded(user, [record](V& v) { v.dispatch(*record); });
                };
        }
        if constexpr (SeesEvents<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.event)) { return bool(v.event); }))
                out.event = [](const wavetap_event* record, void* user) {
                    guarded(user, [record](V& v) { v.event(*record); });
                };
        }
        if constexpr (SeesRealtime<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.realtime)) { return bool(v.realtime); }))
                out.realtime = [](std::uint64_t time, std::uint64_t counter, void* user) {
                    guarded(user, [time, counter](V& v) { v.realtime(time, counter); });
                };
        }
        if constexpr (SeesDiagnostics<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.diagnostic)) { return bool(v.diagnostic); }))
                out.diagnostic = [](const wavetap_diagnostic* record, void* user) {
                    guarded(user, [record](V& v) { v.diagnostic(*record); });
                };
        }
        if constexpr (SeesTokens<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.token)) { return bool(v.token); }))
                out.token = [](const wavetap_token* record, void* user) {
                    guarded(user, [record](V& v) { v.token(*record); });
                };
        }
        if constexpr (SeesOccupancy<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.occupancy)) { return bool(v.occupancy); }))
                out.occupancy = [](const wavetap_occupancy* record, void* user) {
                    guarded(user, [record](V& v) { v.occupancy(*record); });
                };
        }
        if constexpr (SeesRegisterWrites<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.register_write)) {
                    return bool(v.register_write);
                }))
                out.register_write = [](const wavetap_register_write* record, void* user) {
                    guarded(user, [record](V& v) { v.register_write(*record); });
                };
        }
        if constexpr (SeesCodeObjects<V>) {
            if (is_set(
                    [](auto& v) -> decltype(bool(v.code_object)) { return bool(v.code_object); }))
                out.code_object = [](const wavetap_code_marker* record, void* user) {
                    guarded(user, [record](V& v) { v.code_object(*record); });
                };
        }
        if constexpr (SeesShaderData<V>) {
            if (is_set(
                    [](auto& v) -> decltype(bool(v.shader_data)) { return bool(v.shader_data); }))
                out.shader_data = [](const wavetap_shader_data* record, void* user) {
                    guarded(user, [record](V& v) { v.shader_data(*record); });
                };
        }
        if constexpr (SeesCounters<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.counters)) { return bool(v.counters); }))
                out.counters = [](const wavetap_counters* record, void* user) {
                    guarded(user, [record](V& v) { v.counters(*record); });
                };
        }
        if constexpr (SeesOtherSimd<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.other_simd)) { return bool(v.other_simd); }))
                out.other_simd = [](const wavetap_other_simd* record, void* user) {
                    guarded(user, [record](V& v) { v.other_simd(*record); });
                };
        }
        if constexpr (SeesTotals<V>) {
            if (is_set([](auto& v) -> decltype(bool(v.totals)) { return bool(v.totals); }))
                out.totals = [](const wavetap_totals* record, void* user) {
                    guarded(user, [record](V& v) { v.totals(*record); });
                };
        }
        return out;
    }

  private:
    /** False for a std::function that is empty; a member function is always there. */
    template <class Question> bool is_set(Question question) const {
        if constexpr (std::is_invocable_v<Question, V&>)
            return question(*visitor);
        else
            return true;
    }
};

struct Destroy {
    void operator()(wavetap_decoder* p) const noexcept { wavetap_decoder_destroy(p); }
    void operator()(wavetap_stream* p) const noexcept { wavetap_stream_destroy(p); }
    void operator()(wavetap_scanner* p) const noexcept { wavetap_scanner_destroy(p); }
};

/** Asks for the size, then for the bytes. */
template <class Bytes, class Call> DecodeResult<Bytes> fetch(Call&& call) {
    Bytes out;
    std::size_t size = 0;
    wavetap_status status = call(out.data(), &size);
    if (status == WAVETAP_STATUS_LIMIT) {
        out.resize(size);
        status = call(out.data(), &size);
    }
    if (status != WAVETAP_STATUS_SUCCESS) return DecodeError{status, wavetap_decode_last_error()};
    out.resize(size);
    return out;
}

} // namespace detail

/**
 * A decode whose bytes come in pieces (Decoder::stream()). Movable; borrows the decoder and the
 * visitor, which must stay. One thread at a time.
 */
template <class V> class DecodeStream {
  public:
    /** The next bytes, any number of them. Errors: CORRUPT (no known header), WRONG_STATE (finished). */
    DecodeResult<void> feed(std::span<const std::byte> bytes) {
        const wavetap_status status =
            wavetap_stream_feed(handle_.get(), bytes.data(), bytes.size());
        visit_->rethrow();
        return detail::checked(status);
    }
    /** The next chunk of a capture with several buffers, whose first `read_offset` bytes end a token
     * of the chunk before; `missing`: that one was not fed. Errors: as wavetap_stream_feed_chunk(). */
    DecodeResult<void> feed_chunk(std::span<const std::byte> chunk, std::size_t read_offset,
                                  bool missing = false) {
        const wavetap_status status = wavetap_stream_feed_chunk(
            handle_.get(), chunk.data(), chunk.size(), read_offset, missing ? 1 : 0);
        visit_->rethrow();
        return detail::checked(status);
    }
    /** The end: the rest of the records, then diagnostics; without it they are dropped. Errors: CORRUPT
     * (fewer than eight bytes came), WRONG_STATE (it was finished). */
    DecodeResult<void> finish() {
        const wavetap_status status = wavetap_stream_finish(handle_.get());
        visit_->rethrow();
        return detail::checked(status);
    }

  private:
    friend class Decoder;
    DecodeStream() = default;

    std::unique_ptr<detail::Visit<V>> visit_;
    std::unique_ptr<wavetap_stream, detail::Destroy> handle_; /**< goes first */
};

/** Code objects, and how to decode. Movable; one thread at a time, any number of decoders. */
class Decoder {
  public:
    /** `gfx` names the chip whose instructions are disassembled ("gfx90a"); "": that of the first code
     * object. Errors: UNSUPPORTED (unknown chip), LIMIT. */
    static DecodeResult<Decoder> create(const std::string& gfx = {}) {
        wavetap_decoder* made = nullptr;
        const wavetap_status status =
            wavetap_decoder_create(gfx.empty() ? nullptr : gfx.c_str(), &made);
        Decoder decoder;
        decoder.handle_.reset(made);
        if (auto done = detail::checked(status); !done) return done.error();
        return decoder;
    }

    /** An AMDGPU ELF file (copied) that was loaded at `load_address`; `id` is not 0. Errors: as
     * wavetap_decoder_load_code(). */
    DecodeResult<void> load_code(std::uint64_t id, std::uint64_t load_address,
                                 std::span<const std::byte> elf) {
        return detail::checked(
            wavetap_decoder_load_code(handle_.get(), id, load_address, elf.data(), elf.size()));
    }
    /** Errors: NOT_FOUND. */
    DecodeResult<void> unload_code(std::uint64_t id) {
        return detail::checked(wavetap_decoder_unload_code(handle_.get(), id));
    }

    /** Decodes one blob; the visitor is called by this thread, before the function returns. Errors: as
     * wavetap_decoder_decode(). */
    template <class V> DecodeResult<void> decode(std::span<const std::byte> blob, V&& visitor) {
        detail::Visit<std::remove_reference_t<V>> visit{&visitor};
        const wavetap_decode_handlers handlers = visit.handlers();
        const wavetap_status status =
            wavetap_decoder_decode(handle_.get(), blob.data(), blob.size(), &handlers, &visit);
        visit.rethrow();
        return detail::checked(status);
    }

    /** Begins a stream with the code objects of now. Until it is destroyed, the decoder stays as it is
     * and `visitor` where it is. Errors: as wavetap_stream_create(). */
    template <class V> DecodeResult<DecodeStream<V>> stream(V& visitor) {
        DecodeStream<V> out;
        out.visit_ = std::make_unique<detail::Visit<V>>(detail::Visit<V>{&visitor});
        const wavetap_decode_handlers handlers = out.visit_->handlers();
        wavetap_stream* made = nullptr;
        const wavetap_status status =
            wavetap_stream_create(handle_.get(), &handlers, out.visit_.get(), &made);
        out.handle_.reset(made);
        if (auto done = detail::checked(status); !done) return done.error();
        return out;
    }

    /** The instruction at `elf_address` of code object `id`, in words. Errors: NOT_FOUND, UNSUPPORTED. */
    DecodeResult<std::string> text(std::uint64_t id, std::uint64_t elf_address) {
        auto found = detail::fetch<std::string>([&](char* room, std::size_t* size) {
            char none = 0; // null is refused
            return wavetap_decoder_text(handle_.get(), id, elf_address, *size == 0 ? &none : room,
                                        size);
        });
        if (found) found->pop_back(); // the terminator
        return found;
    }

  private:
    Decoder() = default;
    std::unique_ptr<wavetap_decoder, detail::Destroy> handle_;
};

/** The quick way through a stream that comes in chunks: dispatches, events, clock samples, register
 * writes and code objects, no waves. Movable; one thread at a time. */
class Scanner {
  public:
    /** Errors: LIMIT. */
    static DecodeResult<Scanner> create() {
        wavetap_scanner* made = nullptr;
        const wavetap_status status = wavetap_scanner_create(&made);
        Scanner scanner;
        scanner.handle_.reset(made);
        if (auto done = detail::checked(status); !done) return done.error();
        return scanner;
    }
    /** The next chunk; the first one begins with the header. Errors: as wavetap_scanner_feed(). */
    template <class V> DecodeResult<void> feed(std::span<const std::byte> chunk, V&& visitor) {
        detail::Visit<std::remove_reference_t<V>> visit{&visitor};
        const wavetap_decode_handlers handlers = visit.handlers();
        const wavetap_status status =
            wavetap_scanner_feed(handle_.get(), chunk.data(), chunk.size(), &handlers, &visit);
        visit.rethrow();
        return detail::checked(status);
    }

  private:
    Scanner() = default;
    std::unique_ptr<wavetap_scanner, detail::Destroy> handle_;
};

/** Dispatch `index` (from 0) of a blob, as a blob that decodes alone with the same times. Errors:
 * NOT_FOUND (fewer dispatches), CORRUPT. */
inline DecodeResult<std::vector<std::byte>> cut_dispatch(std::span<const std::byte> blob,
                                                         std::uint64_t index) {
    return detail::fetch<std::vector<std::byte>>([&](std::byte* room, std::size_t* size) {
        return wavetap_decode_cut_dispatch(blob.data(), blob.size(), index, room, size);
    });
}
/** The same for the tokens of clocks [`begin`, `end`). */
inline DecodeResult<std::vector<std::byte>> cut_window(std::span<const std::byte> blob,
                                                       std::uint64_t begin, std::uint64_t end) {
    return detail::fetch<std::vector<std::byte>>([&](std::byte* room, std::size_t* size) {
        return wavetap_decode_cut_window(blob.data(), blob.size(), begin, end, room, size);
    });
}

} // namespace wavetap
