// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/vmem.hpp"

#include "softgpu/isa/atomic.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wavetap::softgpu::isa {
namespace {

StepInfo fault(std::uint64_t va, Access access) {
    StepInfo info;
    info.outcome = Outcome::kMemoryFault;
    info.fault_va = va;
    info.fault_access = access;
    return info;
}

/// Bytes of one lane's access, piece by piece: a swizzled place is contiguous only inside a dword.
template <class F> bool for_pieces(const Place& place, unsigned bytes, F&& piece) {
    if (place.swizzle_lanes == 0) return piece(place.va, 0U, bytes);
    for (unsigned done = 0; done < bytes;) {
        const std::uint64_t at = place.offset + done;
        const auto size = std::min<unsigned>(bytes - done, 4U - static_cast<unsigned>(at & 3));
        if (!piece(place.va + (at >> 2) * 4 * place.swizzle_lanes + (at & 3), done, size))
            return false;
        done += size;
    }
    return true;
}

struct LaneAccess {
    Wave& wave;
    Memory& memory;
    std::uint64_t fault_va = 0;

    bool read(const Place& place, void* out, unsigned bytes) {
        if (place.kind == Place::Kind::kOutOfRange) {
            std::memset(out, 0, bytes);
            return true;
        }
        if (place.kind == Place::Kind::kLds) {
            std::memset(out, 0, bytes);
            if (place.va + bytes <= wave.lds.size())
                std::memcpy(out, wave.lds.data() + place.va, bytes);
            return true;
        }
        return for_pieces(place, bytes, [&](std::uint64_t va, unsigned done, unsigned size) {
            const std::byte* p = memory.at(va, size, Access::kRead);
            if (p == nullptr) return read_bytes(va, static_cast<std::byte*>(out) + done, size);
            std::memcpy(static_cast<std::byte*>(out) + done, p, size);
            return true;
        });
    }
    bool write(const Place& place, const void* in, unsigned bytes) {
        if (place.kind == Place::Kind::kOutOfRange) return true;
        if (place.kind == Place::Kind::kLds) {
            if (place.va + bytes <= wave.lds.size())
                std::memcpy(wave.lds.data() + place.va, in, bytes);
            return true;
        }
        return for_pieces(place, bytes, [&](std::uint64_t va, unsigned done, unsigned size) {
            std::byte* p = memory.at(va, size, Access::kWrite);
            if (p == nullptr)
                return write_bytes(va, static_cast<const std::byte*>(in) + done, size);
            std::memcpy(p, static_cast<const std::byte*>(in) + done, size);
            return true;
        });
    }

  private:
    /// An access across two windows.
    bool read_bytes(std::uint64_t va, std::byte* out, unsigned size) {
        for (unsigned i = 0; i < size; ++i) {
            if (memory.read(va + i, out[i])) continue;
            fault_va = va + i;
            return false;
        }
        return true;
    }
    bool write_bytes(std::uint64_t va, const std::byte* in, unsigned size) {
        for (unsigned i = 0; i < size; ++i) {
            if (memory.write(va + i, in[i])) continue;
            fault_va = va + i;
            return false;
        }
        return true;
    }
};

std::uint32_t extend(std::uint32_t value, const MemorySpec& spec) {
    if (spec.bytes == 1)
        return spec.sign_extend ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                                : value & 0xff;
    return spec.sign_extend ? static_cast<std::uint32_t>(static_cast<std::int16_t>(value))
                            : value & 0xffff;
}

void put_d16(std::uint32_t& to, std::uint32_t value, bool high) {
    to = high ? (to & 0xffff) | value << 16 : (to & 0xffff0000) | (value & 0xffff);
}

/// Host memory that holds every active lane's bytes; `host` is null if no single window does.
struct Reach {
    std::byte* host = nullptr;
    std::uint64_t low = 0;
    bool dense = false; ///< all 64 lanes, one element after the other

    std::byte* at(std::uint64_t va) const { return host + (va - low); }
};

[[gnu::always_inline]] inline void extent(const std::uint64_t* va, std::uint64_t bytes,
                                          std::uint64_t& low, std::uint64_t& high, bool& dense) {
    std::uint64_t differs = 0;
    std::uint64_t least = va[0];
    std::uint64_t most = va[0];
    for (unsigned i = 0; i < kLanes; ++i) {
        differs |= va[i] ^ (va[0] + i * bytes);
        least = va[i] < least ? va[i] : least;
        most = va[i] > most ? va[i] : most;
    }
    low = least;
    high = most;
    dense = differs == 0;
}
WAVETAP_WIDE void extent_wide(const std::uint64_t* va, std::uint64_t bytes, std::uint64_t& low,
                              std::uint64_t& high, bool& dense) {
    extent(va, bytes, low, high, dense);
}

Reach reach_of(const Addresses& a, std::uint64_t exec, unsigned bytes, Memory& memory,
               Access access) {
    Reach reach;
    if (!a.linear || exec == 0) return reach;
    std::uint64_t high = 0;
    if (exec == ~std::uint64_t{0}) {
        if (a.wide)
            extent_wide(a.va.data(), bytes, reach.low, high, reach.dense);
        else
            extent(a.va.data(), bytes, reach.low, high, reach.dense);
    } else {
        reach.low = ~std::uint64_t{0};
        for (std::uint64_t left = exec; left != 0; left &= left - 1) {
            const std::uint64_t va = a.va[static_cast<unsigned>(std::countr_zero(left))];
            reach.low = std::min(reach.low, va);
            high = std::max(high, va);
        }
    }
    if (high > ~std::uint64_t{0} - bytes) return reach;
    reach.host = memory.at(reach.low, high - reach.low + bytes, access);
    return reach;
}

template <unsigned Dwords>
void load_dwords(const Reach& reach, const Addresses& a, std::uint64_t exec, LaneWords* data) {
    if (Dwords == 1 && reach.dense) {
        std::memcpy(data->data(), reach.host, sizeof(LaneWords));
        return;
    }
    for (std::uint64_t left = exec; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        std::uint32_t value[Dwords];
        std::memcpy(value, reach.at(a.va[lane]), sizeof value);
        for (unsigned i = 0; i < Dwords; ++i)
            data[i][lane] = value[i];
    }
}
template <unsigned Dwords>
void store_dwords(const Reach& reach, const Addresses& a, std::uint64_t exec,
                  const LaneWords* data) {
    if (Dwords == 1 && reach.dense) {
        std::memcpy(reach.host, data->data(), sizeof(LaneWords));
        return;
    }
    for (std::uint64_t left = exec; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        std::uint32_t value[Dwords];
        for (unsigned i = 0; i < Dwords; ++i)
            value[i] = data[i][lane];
        std::memcpy(reach.at(a.va[lane]), value, sizeof value);
    }
}

/// Loads of whole dwords from one window; false: the general way must do it.
bool load_fast(const Addresses& a, Wave& w, Memory& memory, LaneWords* data, unsigned dwords) {
    const Reach reach = reach_of(a, w.exec, dwords * 4, memory, Access::kRead);
    if (reach.host == nullptr) return false;
    if (dwords == 1) load_dwords<1>(reach, a, w.exec, data);
    if (dwords == 2) load_dwords<2>(reach, a, w.exec, data);
    if (dwords == 3) load_dwords<3>(reach, a, w.exec, data);
    if (dwords == 4) load_dwords<4>(reach, a, w.exec, data);
    return true;
}
bool store_fast(const Addresses& a, Wave& w, Memory& memory, const LaneWords* data,
                unsigned dwords) {
    const Reach reach = reach_of(a, w.exec, dwords * 4, memory, Access::kWrite);
    if (reach.host == nullptr) return false;
    if (dwords == 1) store_dwords<1>(reach, a, w.exec, data);
    if (dwords == 2) store_dwords<2>(reach, a, w.exec, data);
    if (dwords == 3) store_dwords<3>(reach, a, w.exec, data);
    if (dwords == 4) store_dwords<4>(reach, a, w.exec, data);
    return true;
}

LaneWords* registers(Wave& w, const Operand& operand) {
    return (operand.kind == Operand::Kind::kAgpr ? w.agpr : w.vgpr).data() + operand.index;
}

template <class F> void for_active_lanes(std::uint64_t exec, F&& f) {
    for (; exec != 0; exec &= exec - 1)
        if (!f(static_cast<unsigned>(std::countr_zero(exec)))) return;
}

/// The places of one lane are a function of the addressing mode.
StepInfo load(const Op& op, Wave& w, Memory& memory, const Addresses& addresses) {
    const OpCode& c = *op.code;
    const MemorySpec& spec = c.row->memory;
    LaneWords* data = registers(w, c.dst);
    const unsigned dwords = spec.bytes / 4U;
    if (dwords != 0 && load_fast(addresses, w, memory, data, dwords)) return next(op, w);
    LaneAccess access{w, memory};
    bool good = true;
    for_active_lanes(w.exec, [&](unsigned lane) {
        std::uint32_t value[4] = {};
        good = access.read(addresses.place(lane), value, spec.bytes);
        if (!good) return false;
        if (spec.d16)
            put_d16(data[0][lane], extend(value[0], spec), spec.high);
        else if (spec.bytes < 4)
            data[0][lane] = extend(value[0], spec);
        else
            for (unsigned i = 0; i < dwords; ++i)
                data[i][lane] = value[i];
        return true;
    });
    return good ? next(op, w) : fault(access.fault_va, Access::kRead);
}

StepInfo store(const Op& op, Wave& w, Memory& memory, const Addresses& addresses) {
    const OpCode& c = *op.code;
    const MemorySpec& spec = c.row->memory;
    const LaneWords* data = registers(w, c.dst);
    const unsigned dwords = spec.bytes / 4U;
    if (dwords != 0 && store_fast(addresses, w, memory, data, dwords)) return next(op, w);
    LaneAccess access{w, memory};
    bool good = true;
    for_active_lanes(w.exec, [&](unsigned lane) {
        std::uint32_t value[4] = {};
        for (unsigned i = 0; i < std::max(dwords, 1U); ++i)
            value[i] = data[i][lane];
        if (spec.high) value[0] >>= 16;
        good = access.write(addresses.place(lane), value, spec.bytes);
        return good;
    });
    return good ? next(op, w) : fault(access.fault_va, Access::kWrite);
}

template <class T> T gather(const LaneWords* data, unsigned first, unsigned lane) {
    if constexpr (sizeof(T) == 8)
        return static_cast<T>(data[first + 1][lane]) << 32 | data[first][lane];
    else
        return data[first][lane];
}

template <class T>
bool atomic_lane(const Place& place, LaneAccess& access, AtomicOp op, T data, T compare, T& old) {
    old = 0;
    if (place.kind == Place::Kind::kOutOfRange) return true;
    if (place.kind == Place::Kind::kLds || place.swizzle_lanes != 0) {
        if (!access.read(place, &old, sizeof(T))) return false;
        const T fresh = atomic_result(op, old, data, compare);
        return access.write(place, &fresh, sizeof(T));
    }
    std::byte* p = access.memory.at(place.va, sizeof(T), Access::kWrite);
    if (p == nullptr || place.va % sizeof(T) != 0) {
        access.fault_va = place.va;
        return false;
    }
    auto* cell = reinterpret_cast<T*>(p);
    __atomic_load(cell, &old, __ATOMIC_RELAXED);
    T fresh = atomic_result(op, old, data, compare);
    while (!__atomic_compare_exchange(cell, &old, &fresh, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        fresh = atomic_result(op, old, data, compare);
    return true;
}

template <class T>
StepInfo atomic(const Op& op, Wave& w, Memory& memory, const Addresses& addresses) {
    const OpCode& c = *op.code;
    const AtomicOp kind = c.row->memory.atomic;
    constexpr unsigned kDwords = sizeof(T) / 4;
    const LaneWords* data = registers(w, c.op[0]);
    LaneWords* result = c.returns ? registers(w, c.dst) : nullptr;
    LaneAccess access{w, memory};
    bool good = true;
    for_active_lanes(w.exec, [&](unsigned lane) {
        const T value = gather<T>(data, 0, lane);
        const T compare = kind == AtomicOp::kCmpSwap ? gather<T>(data, kDwords, lane) : T{0};
        T old = 0;
        good = atomic_lane(addresses.place(lane), access, kind, value, compare, old);
        if (!good) return false;
        if (result != nullptr) {
            result[0][lane] = static_cast<std::uint32_t>(old);
            if constexpr (sizeof(T) == 8) result[1][lane] = static_cast<std::uint32_t>(old >> 32);
        }
        return true;
    });
    return good ? next(op, w) : fault(access.fault_va, Access::kWrite);
}

} // namespace

StepInfo access_memory(const Op& op, Wave& w, Memory& memory, const Addresses& addresses) {
    const MemorySpec& spec = op.code->row->memory;
    switch (spec.kind) {
    case MemoryKind::kLoad:
        return load(op, w, memory, addresses);
    case MemoryKind::kStore:
        return store(op, w, memory, addresses);
    case MemoryKind::kAtomic:
        return spec.bytes == 8 ? atomic<std::uint64_t>(op, w, memory, addresses)
                               : atomic<std::uint32_t>(op, w, memory, addresses);
    }
    return illegal_register();
}

} // namespace wavetap::softgpu::isa
