// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"
#include "rocr/completion_gate.hpp"
#include "rocr/interception.hpp"

using namespace wavetap;

/// The C interface's name for a rocr::CompletionGate.
struct wavetap_gate {
    std::unique_ptr<rocr::CompletionGate> gate;
};

namespace {

static_assert(WAVETAP_GATE_PACKETS == rocr::CompletionGate::kMostPackets);

Error null_argument(const char* name) {
    return Error{ErrorCode::kInvalidArgument, std::string(name) + " is null", "", ""};
}

/// Those of the runtime, whatever stands in the table by now.
Result<rocr::HsaFunctions> functions_of(void* table) {
    if (const auto* seen = rocr::Interception::existing()) return seen->functions();
    WAVETAP_TRY(const rocr::HsaTable known, rocr::HsaTable::open(table));
    return known.functions();
}

} // namespace

extern "C" wavetap_status wavetap_gate_open_hsa(void* api_table, double deadline_scale,
                                                wavetap_gate** gate) {
    return capture::guarded([&]() -> Result<void> {
        if (api_table == nullptr || gate == nullptr) return null_argument("api_table or gate");
        if (!(deadline_scale > 0))
            return Error{ErrorCode::kInvalidArgument, "deadline_scale is not above 0", "", ""};
        WAVETAP_TRY(const rocr::HsaFunctions hsa, functions_of(api_table));
        *gate = new wavetap_gate{std::make_unique<rocr::CompletionGate>(hsa, deadline_scale)};
        return {};
    });
}

extern "C" wavetap_status wavetap_gate_packets(wavetap_gate* gate, wavetap_gate_handler handler,
                                               void* user, uint64_t completion_signal,
                                               void* packets, uint32_t* count) {
    return capture::guarded([&]() -> Result<void> {
        if (gate == nullptr || handler == nullptr || packets == nullptr || count == nullptr)
            return null_argument("gate, handler, packets or count");
        rocr::Packet made[WAVETAP_GATE_PACKETS];
        WAVETAP_TRY(const std::size_t filled,
                    gate->gate->packets(handler, user, {completion_signal}, made));
        std::memcpy(packets, made, filled * sizeof *made);
        *count = static_cast<std::uint32_t>(filled);
        return {};
    });
}

extern "C" wavetap_status wavetap_gate_close(wavetap_gate* gate) {
    return capture::guarded([&]() -> Result<void> {
        if (gate == nullptr) return null_argument("gate");
        auto closed = rocr::CompletionGate::close(gate->gate);
        if (!closed && closed.error().code == ErrorCode::kWouldDeadlock) return closed;
        delete gate;
        return closed;
    });
}
