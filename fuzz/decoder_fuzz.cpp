// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

// The first byte chooses the generation, the rest is the stream behind that generation's header.
// Code is made up from the address, so that stitching follows branches and anchors everywhere.

namespace {

using namespace wavetap;

class MadeUpCode final : public decode::CodeSource {
  public:
    decode::CodeLine fetch(std::uint64_t id, std::uint64_t address) override {
        static constexpr const char* kText[] = {"s_mov_b32 s0, s1",
                                                "v_add_f32 v0, v1, v2",
                                                "s_cbranch_scc0 65500",
                                                "s_branch 3",
                                                "s_waitcnt vmcnt(0)",
                                                "global_load_dword v0, v[0:1], off",
                                                "ds_read_b32 v0, v1",
                                                "s_load_dword s0, s[0:1], 0x0",
                                                "s_barrier",
                                                "s_barrier_wait 0xffff",
                                                "s_delay_alu 0",
                                                "v_mfma_scale_f32 v0",
                                                "flat_store_dword v[0:1], v0",
                                                "s_nop 0",
                                                "s_endpgm",
                                                ""};
        const std::uint64_t mixed = (address / 4 + id) * 0x9E3779B97F4A7C15ULL >> 60;
        if (*kText[mixed] == '\0') return {};
        return decode::line_from_text(kText[mixed], 4, (id & 1) != 0);
    }
    bool knows(std::uint64_t) const override { return true; }
};

class CheckingSink final : public decode::RecordSink {
  public:
    void wave(const decode::WaveView& view) override {
        const std::size_t size = view.instructions.size();
        if (!view.pcs.empty() && (view.pcs.size() != size || view.has_pc.size() != size))
            std::abort();
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static constexpr std::uint64_t kHeaders[] = {0x00000000000FC011, 0x0000000000000091,
                                                 0x0000000000000111, 0x0000000068900191,
                                                 0x0913100868700211, 0x0800000000000291};
    if (size == 0) return 0;
    const unsigned choice = data[0] % 7;
    std::vector<std::byte> bytes;
    if (choice < 6) {
        bytes.resize(8);
        std::memcpy(bytes.data(), &kHeaders[choice], 8);
    }
    const auto* rest = reinterpret_cast<const std::byte*>(data + 1);
    bytes.insert(bytes.end(), rest, rest + (size - 1));
    MadeUpCode source;
    decode::CodeMap code(&source, {});
    decode::Diagnostics diagnostics;
    CheckingSink sink;
    decode::StreamOptions options;
    options.insert_barrier_waits = (data[0] & 0x80) != 0;
    const auto totals = decode::decode_stream(bytes, options, code, sink, diagnostics);
    if (choice < 6 && !totals) std::abort();
    if (totals && totals->instructions_with_pc > totals->instructions) std::abort();
    return 0;
}
