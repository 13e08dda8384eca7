// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa.hpp"

#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

// Lane functions: a plain function of scalar types becomes a loop over 64 lanes. Its signature says
// how operands are read (float: a 32-bit register, double: a register pair, …), so that the table of
// instructions needs no second description. Loops always compute every lane; EXEC only decides
// what is written. Lane functions must therefore be defined for all inputs.

/// Functions with this attribute run only where cpu_is_wide().
#if defined(__x86_64__)
#define WAVETAP_WIDE [[gnu::target("avx2,fma,f16c")]]
#else
#define WAVETAP_WIDE
#endif

namespace wavetap::softgpu::isa {

/// The machine has AVX2, FMA and F16C.
inline bool cpu_is_wide() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
#else
    return false;
#endif
}

/// How an operand is read or written, derived from the C++ type.
enum class Elem : std::uint8_t {
    kNone,
    kB16,
    kB32,
    kB64,
    kF16,
    kF32,
    kF64,
    kMask,      ///< one bit a lane: a pair of scalar registers
    kPacked16,  ///< two 16-bit values in a register; op_sel picks the halves
    kPackedB32, ///< two 32-bit values in a pair; op_sel picks the registers
    kMix,       ///< f32, or f16 if op_sel_hi says so (v_fma_mix)
    kMode,      ///< not an operand: the wave's MODE register
};

constexpr bool is_float(Elem elem) {
    return elem == Elem::kF16 || elem == Elem::kF32 || elem == Elem::kF64 || elem == Elem::kMix ||
           elem == Elem::kPackedB32;
}

struct Half {
    std::uint16_t bits;
};
struct MaskBit {
    bool on;
};
/// Two 16-bit values after operand selection.
struct Packed16 {
    std::uint32_t bits;
};
/// Two 32-bit values after operand selection.
struct PackedB32 {
    std::uint32_t lo, hi;
};
struct Mix {
    float value;
};
struct Mode {
    std::uint32_t bits;
    bool ieee() const { return (bits >> 9 & 1) != 0; }
};
/// A value and a bit of a mask: v_add_co_u32, v_div_scale_f32.
template <class T> struct WithMask {
    T value;
    bool mask;
};

struct LaneArgs {
    /// Sources: first and second register of each.
    const std::uint32_t* s[4][2];
    /// Results. They never alias sources.
    std::uint32_t* d[2];
    /// One byte (0 or 1) a lane.
    std::uint8_t* mask;
    std::uint32_t mode;
};

using LaneFn = void (*)(const LaneArgs&);

/// The same loop for every x86-64 and for machines with AVX2, FMA and F16C.
struct Kernel {
    LaneFn plain = nullptr;
    LaneFn wide = nullptr;
    Elem dst = Elem::kNone;
    bool writes_mask = false;
    std::uint8_t sources = 0;
    Elem src[4] = {};
};

template <class T> constexpr Elem elem_of() {
    if constexpr (std::is_same_v<T, float>) return Elem::kF32;
    if constexpr (std::is_same_v<T, double>) return Elem::kF64;
    if constexpr (std::is_same_v<T, Half>) return Elem::kF16;
    if constexpr (std::is_same_v<T, MaskBit>) return Elem::kMask;
    if constexpr (std::is_same_v<T, Packed16>) return Elem::kPacked16;
    if constexpr (std::is_same_v<T, PackedB32>) return Elem::kPackedB32;
    if constexpr (std::is_same_v<T, Mix>) return Elem::kMix;
    if constexpr (std::is_same_v<T, Mode>) return Elem::kMode;
    if constexpr (std::is_integral_v<T> && sizeof(T) == 2) return Elem::kB16;
    if constexpr (std::is_integral_v<T> && sizeof(T) == 4) return Elem::kB32;
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return Elem::kB64;
    return Elem::kNone;
}

template <class T> struct ResultOf {
    static constexpr Elem kElem = std::is_same_v<T, bool> ? Elem::kNone : elem_of<T>();
    static constexpr bool kMask = std::is_same_v<T, bool>;
};
template <class T> struct ResultOf<WithMask<T>> {
    static constexpr Elem kElem = elem_of<T>();
    static constexpr bool kMask = true;
};

template <class T>
inline T get_lane(const std::uint32_t* lo, const std::uint32_t* hi, std::uint32_t mode,
                  unsigned lane) {
    if constexpr (std::is_same_v<T, Half>)
        return Half{static_cast<std::uint16_t>(lo[lane])};
    else if constexpr (std::is_same_v<T, MaskBit>)
        return MaskBit{lo[lane] != 0};
    else if constexpr (std::is_same_v<T, Packed16>)
        return Packed16{lo[lane]};
    else if constexpr (std::is_same_v<T, PackedB32>)
        return PackedB32{lo[lane], hi[lane]};
    else if constexpr (std::is_same_v<T, Mix>)
        return Mix{std::bit_cast<float>(lo[lane])};
    else if constexpr (std::is_same_v<T, Mode>)
        return Mode{mode};
    else if constexpr (sizeof(T) == 8)
        return std::bit_cast<T>(static_cast<std::uint64_t>(hi[lane]) << 32 | lo[lane]);
    else if constexpr (sizeof(T) == 2)
        return static_cast<T>(lo[lane]);
    else
        return std::bit_cast<T>(lo[lane]);
}

template <class T>
inline void put_lane(std::uint32_t* __restrict lo, std::uint32_t* __restrict hi,
                     std::uint8_t* __restrict mask, unsigned lane, T value) {
    if constexpr (std::is_same_v<T, bool>) {
        mask[lane] = value;
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Packed16>) {
        lo[lane] = value.bits;
    } else if constexpr (std::is_same_v<T, PackedB32>) {
        lo[lane] = value.lo;
        hi[lane] = value.hi;
    } else if constexpr (requires { value.mask; }) {
        mask[lane] = value.mask;
        put_lane(lo, hi, mask, lane, value.value);
    } else if constexpr (sizeof(T) == 8) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        lo[lane] = static_cast<std::uint32_t>(bits);
        hi[lane] = static_cast<std::uint32_t>(bits >> 32);
    } else if constexpr (sizeof(T) == 2) {
        lo[lane] = static_cast<std::uint16_t>(value);
    } else {
        lo[lane] = std::bit_cast<std::uint32_t>(value);
    }
}

template <auto F, class R, class... A> struct LaneLoop {
    template <std::size_t... I>
    [[gnu::always_inline]] static inline void body(const LaneArgs& args,
                                                   std::index_sequence<I...>) {
        const LaneArgs local = args;
        std::uint32_t* __restrict lo = local.d[0];
        std::uint32_t* __restrict hi = local.d[1];
        std::uint8_t* __restrict mask = local.mask;
        for (unsigned lane = 0; lane < kLanes; ++lane)
            put_lane<R>(lo, hi, mask, lane,
                        F(get_lane<A>(local.s[I & 3][0], local.s[I & 3][1], local.mode, lane)...));
    }
    static void plain(const LaneArgs& args) { body(args, std::index_sequence_for<A...>{}); }
    WAVETAP_WIDE static void wide(const LaneArgs& args) {
        body(args, std::index_sequence_for<A...>{});
    }
    static constexpr Kernel kernel() {
        Kernel k;
        k.plain = &plain;
        k.wide = &wide;
        k.dst = ResultOf<R>::kElem;
        k.writes_mask = ResultOf<R>::kMask;
        std::size_t i = 0;
        ((elem_of<A>() == Elem::kMode ? void() : void(k.src[i++] = elem_of<A>())), ...);
        k.sources = static_cast<std::uint8_t>(i);
        return k;
    }
};

template <auto F, class R, class... A> constexpr Kernel kernel_of(R (*)(A...)) {
    return LaneLoop<F, R, A...>::kernel();
}

/// The loop for captureless lambda F. A Mode parameter, if there is one, comes last.
template <auto F> constexpr Kernel kernel() {
    return kernel_of<F>(+F);
}

} // namespace wavetap::softgpu::isa
