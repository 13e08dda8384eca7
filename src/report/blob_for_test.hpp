// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "report/blob.hpp"
#include "tests/support/temp_folder.hpp"

#include <filesystem>
#include <string>

namespace wavetap::report {

inline std::string saxpy_path() {
    return std::string(WAVETAP_TESTDATA) + "/saxpy_gfx90a.elf";
}

/// One process with the saxpy program of src/code as code object 7, one context, one run.
struct TestTrace {
    test::TempFolder folder_on_disk;
    store::TraceFolder folder;

    TestTrace() {
        std::filesystem::copy(saxpy_path(), folder_on_disk.path() + "/7.elf");
        folder.dir = folder_on_disk.path();
        store::ProcessTrace process;
        process.pid = 42;
        process.dir = folder_on_disk.path();
        process.complete = true;
        process.agents.push_back({0, "gfx90a", 8, 14, 4, "modelled"});
        process.contexts.push_back({3, 0, 0x1, 1, 0xf, 1 << 20, 1, true, "device"});
        process.code_objects.push_back({7, 0, 0x100000, 0x3000, "file:///saxpy", "7.elf", false});
        store::Run run;
        run.info.id = 5;
        run.info.context = 3;
        run.complete = true;
        run.chunks.push_back({5, 0, "0.att", 1024, 1 << 20, false, false, true, 0, 0, 0});
        process.runs.push_back(run);
        folder.processes.push_back(process);
    }

    store::ProcessTrace& process() { return folder.processes[0]; }

    Blob blob() {
        Blob blob;
        blob.process = &process();
        blob.agent = &process().agents[0];
        blob.context = &process().contexts[0];
        blob.run = &process().runs[0];
        blob.se = 0;
        blob.bytes = 1024;
        blob.capacity_bytes = 1 << 20;
        blob.ended = true;
        return blob;
    }
};

inline decode::Pc pc_at(std::uint64_t elf_address) {
    return {0x100000 + elf_address, elf_address, 7};
}

/// A target wave of `start`..`end` on CU 1.
inline decode::WaveRecord wave_at(decode::Pc entry, std::uint64_t start, std::uint64_t end) {
    decode::WaveRecord wave;
    wave.cu = 1;
    wave.entry = entry;
    wave.start = start;
    wave.end = end;
    wave.on_target = true;
    return wave;
}

} // namespace wavetap::report
