// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <exception>

int main(int argc, char** argv) {
    using namespace wavetap; // NOLINT: this file only wires them
    try {
        return cli::run_command_line({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        return cli::fail({ErrorCode::kInternal, error.what(), "", "please report this"},
                         cli::kFailed);
    }
}
