// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/opcode.hpp"

#include <string>

// Scalar ALU rows from lambdas, as lanes.hpp does for vectors: parameter types give operand widths,
// a trailing `bool&` is SCC.

namespace wavetap::softgpu::isa {

inline Error unsupported_text(const ParsedText& text, const std::string& what) {
    return Error{ErrorCode::kUnsupported, std::string(text.full_mnemonic) + ": " + what, {}, {}};
}

template <class T> T read_operand(const OpCode& c, unsigned i, const Wave& w) {
    const Operand& operand = c.op[i];
    if (operand.kind != Operand::Kind::kScalar) return static_cast<T>(c.constant[i]);
    if constexpr (sizeof(T) == 8)
        return static_cast<T>(read_scalar_pair(w, operand.index));
    else
        return static_cast<T>(read_scalar(w, operand.index));
}

template <class T> void write_operand(const OpCode& c, unsigned i, Wave& w, T value) {
    if constexpr (sizeof(T) == 8)
        write_scalar_pair(w, c.op[i].index, static_cast<std::uint64_t>(value));
    else
        write_scalar(w, c.op[i].index, static_cast<std::uint32_t>(value));
}

/// Operand `i` of the text as a scalar of `dwords`; a constant goes to c.constant[i].
inline Result<void> bind_scalar_operand(const ParsedText& text, OpCode& c, unsigned i,
                                        unsigned dwords, bool is_signed) {
    const Operand& operand = text.operands[i];
    c.op[i] = operand;
    if (operand.kind == Operand::Kind::kScalar) {
        if (operand.dwords != dwords)
            return unsupported_text(text, "operand " + std::to_string(i) + " has another width");
        return {};
    }
    WAVETAP_TRY(std::uint64_t bits, constant_bits(operand, dwords == 2 ? Elem::kB64 : Elem::kB32));
    // A 32-bit literal is widened by the type of the instruction.
    if (dwords == 2 && operand.kind == Operand::Kind::kHex && is_signed && bits >> 32 == 0)
        bits =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    c.constant[i] = bits;
    return {};
}

/// Destination first, then sources, with the given widths in dwords.
template <unsigned... Dwords>
Result<void> bind_scalar(const Semantics&, ParsedText& text, std::uint64_t, Op&, OpCode& c) {
    constexpr unsigned kWidths[] = {Dwords...};
    if (text.operands.size() != sizeof...(Dwords))
        return unsupported_text(text, "unexpected number of operands");
    for (unsigned i = 0; i < sizeof...(Dwords); ++i)
        WAVETAP_CHECK_OK(bind_scalar_operand(text, c, i, kWidths[i], false));
    if (c.op[0].kind != Operand::Kind::kScalar)
        return unsupported_text(text, "destination is no scalar register");
    return {};
}

constexpr Semantics scalar_row(std::string_view name, BindFn bind, RunFn run) {
    Semantics row;
    row.name = name;
    row.bind = bind;
    row.run = run;
    row.unit = Unit::kSalu;
    row.sqtt_type = kInstSalu;
    return row;
}

/// Lambda signature taken apart.
template <auto F, class R, class... A> struct ScalarLoop {
    static constexpr bool kVoid = std::is_void_v<R>;
    static constexpr bool kScc = (std::is_same_v<A, bool&> || ...);
    static constexpr unsigned kSources = sizeof...(A) - (kScc ? 1 : 0);

    template <class T> static decltype(auto) argument(const OpCode& c, Wave& w, unsigned i) {
        if constexpr (std::is_same_v<T, bool&>)
            return (w.scc);
        else
            return read_operand<T>(c, i + (kVoid ? 0 : 1), w);
    }
    template <std::size_t... I>
    static void apply(const OpCode& c, Wave& w, std::index_sequence<I...>) {
        if constexpr (kVoid)
            F(argument<A>(c, w, I)...);
        else
            write_operand(c, 0, w, F(argument<A>(c, w, I)...));
    }
    static StepInfo run(const Op& op, Wave& w, Memory&) {
        apply(*op.code, w, std::index_sequence_for<A...>{});
        return next(op, w);
    }
    template <std::size_t... I>
    static StepInfo run_logic_of(const Op& op, Wave& w, std::index_sequence<I...>) {
        const OpCode& c = *op.code;
        const R result = static_cast<R>(F(argument<A>(c, w, I)...));
        write_operand(c, 0, w, result);
        w.scc = result != 0;
        return next(op, w);
    }
    /// SCC = result is not zero.
    static StepInfo run_logic(const Op& op, Wave& w, Memory&) {
        if constexpr (!kVoid)
            return run_logic_of(op, w, std::index_sequence_for<A...>{});
        else
            return next(op, w);
    }
    /// The text names destination and sources; with `keep` the old destination is the last source.
    static Result<void> bind_with(ParsedText& text, OpCode& c, bool keep) {
        const unsigned sources = kSources - (keep ? 1 : 0);
        if (text.operands.size() != sources + (kVoid ? 0 : 1))
            return unsupported_text(text, "unexpected number of operands");
        constexpr unsigned kWidths[] = {(sizeof(std::remove_reference_t<A>) == 8 ? 2U : 1U)..., 0};
        constexpr bool kSigned[] = {std::is_signed_v<A>..., false};
        unsigned at = 0;
        if constexpr (!kVoid) {
            WAVETAP_CHECK_OK(bind_scalar_operand(text, c, at++, sizeof(R) / 4, false));
            if (c.op[0].kind != Operand::Kind::kScalar)
                return unsupported_text(text, "destination is no scalar register");
        }
        for (unsigned i = 0; i < sources; ++i)
            WAVETAP_CHECK_OK(bind_scalar_operand(text, c, at++, kWidths[i], kSigned[i]));
        if (keep) c.op[at] = c.op[0];
        return {};
    }
    static Result<void> bind(const Semantics&, ParsedText& text, std::uint64_t, Op&, OpCode& c) {
        return bind_with(text, c, false);
    }
    static Result<void> bind_keep(const Semantics&, ParsedText& text, std::uint64_t, Op&,
                                  OpCode& c) {
        return bind_with(text, c, true);
    }
    /// SOPK: "name sdst, simm16"; constant 1 is the sign-extended immediate, source 2 the old value.
    static Result<void> bind_k(const Semantics&, ParsedText& text, std::uint64_t raw, Op&,
                               OpCode& c) {
        if (text.operands.size() != 2 || text.operands[0].kind != Operand::Kind::kScalar)
            return unsupported_text(text, "unexpected operands");
        c.op[0] = text.operands[0];
        c.constant[1] = static_cast<std::uint64_t>(static_cast<std::int16_t>(raw & 0xffff));
        c.op[2] = c.op[0];
        return {};
    }
    static StepInfo run_compare(const Op& op, Wave& w, Memory&) {
        const OpCode& c = *op.code;
        using T = std::tuple_element_t<0, std::tuple<A...>>;
        const std::uint64_t k = c.constant[1] & (std::is_signed_v<T> ? ~std::uint64_t{0} : 0xffff);
        w.scc = F(read_operand<T>(c, 0, w), static_cast<T>(k));
        return next(op, w);
    }
};

template <auto F, class R, class... A> constexpr ScalarLoop<F, R, A...> scalar_loop(R (*)(A...)) {
    return {};
}
template <auto F> using ScalarLoopOf = decltype(scalar_loop<F>(+F));

template <auto F> constexpr Semantics salu(std::string_view name) {
    return scalar_row(name, &ScalarLoopOf<F>::bind, &ScalarLoopOf<F>::run);
}
template <auto F> constexpr Semantics salu_keep(std::string_view name) {
    return scalar_row(name, &ScalarLoopOf<F>::bind_keep, &ScalarLoopOf<F>::run);
}
template <auto F> constexpr Semantics logic(std::string_view name) {
    return scalar_row(name, &ScalarLoopOf<F>::bind, &ScalarLoopOf<F>::run_logic);
}
template <auto F> constexpr Semantics sopk(std::string_view name) {
    return scalar_row(name, &ScalarLoopOf<F>::bind_k, &ScalarLoopOf<F>::run);
}
template <auto F> constexpr Semantics sopk_keep(std::string_view name) {
    return sopk<F>(name);
}
template <auto F> constexpr Semantics sopk_compare(std::string_view name) {
    return scalar_row(name, &ScalarLoopOf<F>::bind_k, &ScalarLoopOf<F>::run_compare);
}

inline std::uint32_t shift_add(std::uint32_t a, std::uint32_t b, unsigned shift, bool& scc) {
    const std::uint64_t sum = (std::uint64_t{a} << shift) + b;
    scc = sum >> 32 != 0;
    return static_cast<std::uint32_t>(sum);
}

} // namespace wavetap::softgpu::isa
