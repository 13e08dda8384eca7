// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "decode/engine.hpp"
#include "fuzz/check.hpp"
#include "fuzz/made_up_code.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

// The first byte chooses the generation, the rest is the stream behind that generation's header.

namespace {

using namespace wavetap;

class CheckingSink final : public decode::RecordSink {
  public:
    void wave(const decode::WaveView& view) override {
        const std::size_t size = view.instructions.size();
        fuzz::check(view.pcs.empty() || (view.pcs.size() == size && view.has_pc.size() == size));
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
    fuzz::MadeUpCode source;
    decode::CodeMap code(&source, {});
    decode::Diagnostics diagnostics;
    CheckingSink sink;
    decode::StreamOptions options;
    options.insert_barrier_waits = (data[0] & 0x80) != 0;
    const auto totals = decode::decode_stream(bytes, options, code, sink, diagnostics);
    fuzz::check(choice == 6 || totals.has_value());
    fuzz::check(!totals || totals->instructions_with_pc <= totals->instructions);
    return 0;
}
