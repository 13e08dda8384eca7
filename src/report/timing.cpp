// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "report/timing.hpp"

namespace wavetap::report {

std::string timing_word(const std::set<std::string>& timings) {
    if (timings.empty()) return "unknown";
    return timings.size() == 1 ? *timings.begin() : "mixed";
}

std::string timing_line(std::string_view timing) {
    std::string line = "timing: " + std::string(timing);
    if (timing == "modelled")
        line += " (waves, PCs, counts and order are exact; times are the software GPU's model)";
    if (timing == "hardware") line += " (shader clocks of the chip)";
    if (timing == "mixed") line += " (some traces come from the software GPU, some from hardware)";
    return line + "\n";
}

std::string blob_name(const Blob& blob) {
    return "process " + std::to_string(blob.process->pid) + ", run " +
           std::to_string(blob.run->info.id) + ", SE " + std::to_string(blob.se);
}

std::vector<std::string> process_problems(const store::ProcessTrace& process) {
    std::vector<std::string> problems;
    const std::string name = "process " + std::to_string(process.pid);
    if (!process.complete)
        problems.push_back(name + " was killed; shown is what it had written until then");
    for (const auto& [severity, text] : process.notes)
        if (severity != "info") problems.push_back(name + ": " + severity + ": " + text);
    return problems;
}

} // namespace wavetap::report
