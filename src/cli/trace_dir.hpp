// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "store/trace_folder.hpp"

#include <string>
#include <vector>

namespace wavetap::cli {

/// Opens the folders that a reader was given; none = the newest wavetap-*/ here, which a note on
/// stderr names. Folders of other tools open too. Errors: those of report::open_any, kNotFound (none given and none here).
Result<std::vector<store::TraceFolder>> open_folders(const std::vector<std::string>& dirs);

/// For readers of one folder.
Result<store::TraceFolder> open_one(const std::string& dir);

} // namespace wavetap::cli
