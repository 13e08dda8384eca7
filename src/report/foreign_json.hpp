// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What the JSON files of foreign folders say; only what reading traces needs.

namespace wavetap::report {

struct ForeignObject {
    std::uint64_t id = 0;
    std::uint64_t load_base = 0, load_bytes = 0;
    std::string uri;
    std::optional<std::uint64_t> agent; ///< handle of the agent that it was loaded on, if told
};

struct ForeignAgent {
    std::uint64_t handle = 0;
    std::string name; ///< "gfx942"
    std::uint32_t shader_engines = 0, cus = 0, simds_per_cu = 0;
    bool modelled = false; ///< an export of ours: times are the software GPU's model
};

/// PREFIX_results.json of rocprofv3.
struct RocprofResults {
    std::vector<std::string> att_files; ///< names without folders
    std::vector<ForeignObject> objects;
    std::vector<ForeignAgent> agents; ///< GPUs
};
/// Errors: kCorrupt with the path, kIo.
Result<RocprofResults> read_results(const std::string& path);

/// meta.json of a plain folder.
struct PlainMeta {
    std::string gfx; ///< may be empty
    std::string kernel;
    std::uint64_t load_base = 0;
};
/// Errors as above; load_base must be a number or hexadecimal text if it is there.
Result<PlainMeta> read_meta(const std::string& path);

} // namespace wavetap::report
