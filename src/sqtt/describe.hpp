// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "sqtt/reader.hpp"

#include <string>

namespace wavetap::sqtt {

/// One line: "WSTART sa=0 cu=1 slot=2 …", every field by its name, from the generation's table.
/// Delta and reserved fields are left out while 0.
std::string describe(Generation generation, const Token& token);

/// The table of a generation as Markdown rows: token, id, length, delta, fields, evidence.
std::string table_markdown(Generation generation);

} // namespace wavetap::sqtt
