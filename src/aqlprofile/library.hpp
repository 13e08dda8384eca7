// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "aqlprofile/abi.hpp"
#include "base/result.hpp"

#include <memory>
#include <string>

namespace wavetap::aqlprofile {

/// AMD's aqlprofile, loaded at run time: its functions. Immutable, any thread; stays loaded until the
/// process ends, since its own threads and destructors may outlive ours.
struct Library {
    std::string path;
    Version version;
    CreatePackets create_packets = nullptr;
    DeletePackets delete_packets = nullptr;
    IterateData iterate_data = nullptr;
    CodeObjectMarker marker = nullptr;
    // Both or none: several buffers.
    GetBufferPackets buffer_packets = nullptr;
    UpdateBufferStatus buffer_status = nullptr;

    bool has_rings() const { return buffer_packets != nullptr && buffer_status != nullptr; }

    /// `name`: a path, or a name that the loader looks up; empty: the names under which ROCm installs
    /// it. Errors: kNotFound (no such library), kUnsupported (a function is missing, or the version is
    /// not one that we know), kUnavailable (it does not tell its version).
    static Result<std::shared_ptr<const Library>> open(const std::string& name);
};

/// What a trace through several buffers gets where the library cannot do it. `where` may be empty.
Error no_rings_error(const Library& library, const std::string& where);

/// The environment variable that names the library for `wavetap record`.
inline constexpr const char* kLibraryVariable = "WAVETAP_AQLPROFILE";

/// "0x1008 (out of resources)".
std::string status_text(std::int32_t status);

} // namespace wavetap::aqlprofile
