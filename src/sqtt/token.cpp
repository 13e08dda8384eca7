// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "sqtt/token.hpp"

#include "sqtt/gfx9.hpp"
#include "sqtt/rdna.hpp"
#include "sqtt/reader.hpp"

namespace wavetap::sqtt {
namespace {

// gfx9: one 16-bit unit at a time; its sixteen ids leave nothing unknown.
constexpr LookupTable kGfx9Lookup = make_lookup(kGfx9Rows, 16);
constexpr LookupTable kGfx10Lookup = make_lookup(kGfx10Rows, 4);
constexpr LookupTable kGfx11Lookup = make_lookup(kGfx11Rows, 4);
constexpr LookupTable kGfx12Lookup = make_lookup(kGfx12Rows, 4);
constexpr LookupTable kGfx1250Lookup = make_lookup(kGfx1250Rows, 8);

} // namespace

const char* generation_name(Generation generation) noexcept {
    switch (generation) {
    case Generation::kGfx9:
        return "gfx9";
    case Generation::kGfx10:
        return "gfx10";
    case Generation::kGfx11:
        return "gfx11";
    case Generation::kGfx12:
        return "gfx12";
    case Generation::kGfx1250:
        return "gfx1250";
    }
    return "?";
}

std::span<const TokenRow> token_rows(Generation generation) noexcept {
    switch (generation) {
    case Generation::kGfx9:
        return kGfx9Rows;
    case Generation::kGfx10:
        return kGfx10Rows;
    case Generation::kGfx11:
        return kGfx11Rows;
    case Generation::kGfx12:
        return kGfx12Rows;
    case Generation::kGfx1250:
        return kGfx1250Rows;
    }
    return {};
}

const LookupTable& lookup_table(Generation generation) noexcept {
    switch (generation) {
    case Generation::kGfx9:
        break;
    case Generation::kGfx10:
        return kGfx10Lookup;
    case Generation::kGfx11:
        return kGfx11Lookup;
    case Generation::kGfx12:
        return kGfx12Lookup;
    case Generation::kGfx1250:
        return kGfx1250Lookup;
    }
    return kGfx9Lookup;
}

const TokenRow* find_row(Generation generation, TokenType type) noexcept {
    for (const TokenRow& row : token_rows(generation)) {
        if (row.type == type) return &row;
    }
    return nullptr;
}

const char* token_name(Generation generation, TokenType type) noexcept {
    if (type == TokenType::kExtension) return "EXTENSION";
    const TokenRow* row = find_row(generation, type);
    return row == nullptr ? "UNKNOWN" : row->name;
}

const char* evidence_name(Evidence evidence) noexcept {
    switch (evidence) {
    case Evidence::kSilicon:
        return "silicon";
    case Evidence::kDecoder:
        return "decoder";
    case Evidence::kSource:
        return "source";
    }
    return "?";
}

const char* field_name(FieldId id) noexcept {
    switch (id) {
    case FieldId::kNone:
        return "";
    case FieldId::kReserved:
        return "reserved";
    case FieldId::kPad:
        return "pad";
    case FieldId::kSa:
        return "sa";
    case FieldId::kCu:
        return "cu";
    case FieldId::kSimd:
        return "simd";
    case FieldId::kSlot:
        return "slot";
    case FieldId::kPipe:
        return "pipe";
    case FieldId::kMe:
        return "me";
    case FieldId::kType:
        return "type";
    case FieldId::kValue:
        return "value";
    case FieldId::kDropped:
        return "dropped";
    case FieldId::kPriv:
        return "priv";
    case FieldId::kOp:
        return "op";
    case FieldId::kAddress:
        return "address";
    case FieldId::kData:
        return "data";
    case FieldId::kGrouped:
        return "grouped";
    case FieldId::kCount:
        return "count";
    case FieldId::kThreadGroup:
        return "thread_group";
    case FieldId::kStage:
        return "stage";
    case FieldId::kEventId:
        return "event";
    case FieldId::kError:
        return "error";
    case FieldId::kPc:
        return "pc";
    case FieldId::kStates:
        return "states";
    case FieldId::kBank:
        return "bank";
    case FieldId::kCounter0:
        return "c0";
    case FieldId::kCounter1:
        return "c1";
    case FieldId::kCounter2:
        return "c2";
    case FieldId::kCounter3:
        return "c3";
    case FieldId::kWave64Half:
        return "w64h";
    case FieldId::kMask:
        return "mask";
    case FieldId::kSaluExecuted:
        return "salu";
    case FieldId::kVectorExecuted:
        return "valu";
    case FieldId::kOtherSimd:
        return "other";
    case FieldId::kIsVmem:
        return "vmem";
    case FieldId::kQueue:
        return "queue";
    case FieldId::kDispatcher:
        return "dispatcher";
    case FieldId::kExtended:
        return "extended";
    case FieldId::kExtIsLds:
        return "ext_is_lds";
    case FieldId::kWorkgroup:
        return "workgroup";
    case FieldId::kLast:
        return "last";
    case FieldId::kDynamicVgpr:
        return "dynamic_vgpr";
    case FieldId::kExec:
        return "exec";
    case FieldId::kKind:
        return "kind";
    case FieldId::kLevels:
        return "levels";
    case FieldId::kUnit:
        return "unit";
    case FieldId::kBop:
        return "bop";
    case FieldId::kEventType:
        return "event_type";
    case FieldId::kContext:
        return "context";
    case FieldId::kCsSpace:
        return "cs";
    case FieldId::kVmid:
        return "vmid";
    case FieldId::kSyncId:
        return "sync";
    case FieldId::kFlags:
        return "flags";
    case FieldId::kRealtime:
        return "rt";
    case FieldId::kPacketsLost:
        return "pl";
    case FieldId::kLastSample:
        return "tl";
    case FieldId::kWaveTime:
        return "wavetm";
    case FieldId::kWgp0:
        return "wgp0";
    case FieldId::kSplit0:
        return "split0";
    case FieldId::kWgp1:
        return "wgp1";
    case FieldId::kSplit1:
        return "split1";
    case FieldId::kClusterFirst:
        return "cluster_first";
    case FieldId::kClusterLast:
        return "cluster_last";
    case FieldId::kCluster:
        return "cluster";
    case FieldId::kVersion:
        return "version";
    case FieldId::kTargetSimd:
        return "target_simd";
    case FieldId::kTargetWgp:
        return "target_wgp";
    case FieldId::kTargetSa:
        return "target_sa";
    }
    return "?";
}

} // namespace wavetap::sqtt
