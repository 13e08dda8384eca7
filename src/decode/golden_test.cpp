// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "decode/golden.hpp"
#include "sqtt/test_data.hpp"
#include "tests/support/proof.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

namespace wavetap::decode {
namespace {

using Json = nlohmann::json;

// Keys that another set of rules may legitimately name differently.
const std::set<std::string> kNotCompared = {"blob", "stitch",
                                            "tokens_starting_at_least_8_bytes_before_end",
                                            "unmapped_inst_codes", "first_payload_time"};

struct Outcome {
    std::string differing; ///< names of the keys; empty = equal
    BlobRecords records;
};

std::string difference(const Json& want, const Json& got) {
    std::string out;
    for (const auto& [key, value] : want.items()) {
        if (kNotCompared.contains(key)) continue;
        if (got.contains(key) && got[key] == value) continue;
        out += (out.empty() ? "" : ", ") + key;
        const Json patch = Json::diff(value, got.contains(key) ? got[key] : Json());
        if (!patch.empty()) out += " " + patch[0].dump();
    }
    return out;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, EveryRealBlobDecodesToItsGoldenFile) {
    const auto files = test::trace_files(GetParam(), ".att");
    WAVETAP_NEED_DATA(files);
    std::size_t equal = 0;
    for (const auto& path : files) {
        const Json meta = Json::parse(std::ifstream(path.parent_path() / "meta.json"));
        auto golden_path = path;
        golden_path.replace_extension(".golden.json");
        const Json want = Json::parse(std::ifstream(golden_path));
        const auto object = code::CodeObject::load(path.parent_path() / "code.elf");
        ASSERT_TRUE(object) << to_string(object.error());
        Options options;
        options.objects.push_back(
            {&*object, std::stoull(meta["load_base"].get<std::string>(), nullptr, 16), 0});
        const auto bytes = test::read_bytes(path);
        const auto records = decode_blob(bytes, options);
        ASSERT_TRUE(records) << path << ": " << to_string(records.error());
        const Json got =
            Json::parse(golden_json(*records, {path.filename().string(), -1, bytes.size()}));
        const std::string differing = difference(want, got);
        EXPECT_EQ(differing, "") << path;
        if (differing.empty()) ++equal;
        // Some headers have the engine's number over the CU's.
        const auto& faults = records->diagnostics;
        EXPECT_EQ(std::any_of(faults.begin(), faults.end(),
                              [](const Diagnostic& fault) {
                                  return std::string(fault.kind) == "target-out-of-range";
                              }),
                  records->generation == "gfx9" && records->header_fields.at("DCU") > 15)
            << path;
        for (const Diagnostic& diagnostic : records->diagnostics) {
            const std::string kind = diagnostic.kind;
            if (kind == "target-out-of-range") continue;
            // Real faults of these captures: the first write follows writes that were not traced.
            EXPECT_TRUE(kind == "nearest-chip" || kind == "cut-token" ||
                        kind == "registers-dropped")
                << path << " " << kind;
        }
    }
    std::cout << "real silicon " << GetParam() << ": " << equal << " of " << files.size()
              << " blobs equal their golden files\n";
    test::count_proof("silicon", static_cast<unsigned>(equal), static_cast<unsigned>(files.size()));
}

INSTANTIATE_TEST_SUITE_P(Silicon, Golden, testing::Values("gfx950", "gfx1100", "gfx1200"));

} // namespace
} // namespace wavetap::decode
