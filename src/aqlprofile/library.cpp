// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "aqlprofile/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdio>

namespace wavetap::aqlprofile {

namespace {

constexpr std::array<const char*, 2> kNames{"libhsa-amd-aqlprofile64.so.1",
                                            "libhsa-amd-aqlprofile64.so"};
constexpr const char* kOwnHint = "leave out --packets aqlprofile: wavetap makes its own packets";

struct Closer {
    void operator()(void* library) const { (void)::dlclose(library); }
};
using Opened = std::unique_ptr<void, Closer>;

Result<Opened> load(const std::string& name) {
    std::string why;
    const auto attempt = [&why](const char* file) {
        Opened opened(::dlopen(file, RTLD_NOW | RTLD_LOCAL));
        if (!opened && why.empty()) {
            const char* text = ::dlerror();
            why = text != nullptr ? text : "it cannot be loaded";
        }
        return opened;
    };
    if (!name.empty()) {
        if (Opened opened = attempt(name.c_str())) return opened;
    } else {
        for (const char* file : kNames)
            if (Opened opened = attempt(file)) return opened;
    }
    return Error{ErrorCode::kNotFound, "aqlprofile cannot be loaded: " + why,
                 name.empty() ? kNames[1] : name,
                 std::string("install hsa-amd-aqlprofile, or name the library in ") +
                     kLibraryVariable + "; or " + kOwnHint};
}

std::string path_of(void* library, const std::string& name) {
    struct link_map* map = nullptr;
    if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return name;
    return map->l_name;
}

template <class Function>
Result<void> find(void* opened, const Library& library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(opened, name));
    if (function != nullptr) return {};
    return Error{ErrorCode::kUnsupported,
                 std::string("this library has no ") + name + "; aqlprofile 1 has it", library.path,
                 std::string("use a newer aqlprofile, or ") + kOwnHint};
}

/// Two signatures of that function are in use (abi.hpp); UBSan knows of one.
#if defined(__clang__)
#define WAVETAP_EITHER_SIGNATURE __attribute__((no_sanitize("function")))
#else
#define WAVETAP_EITHER_SIGNATURE
#endif
WAVETAP_EITHER_SIGNATURE Result<Version> version_of(const Library& library,
                                                    GetVersion get_version) {
    std::array<std::uint32_t, 4> words{};
    const std::int32_t status = get_version(&words[0], &words[1], &words[2], &words[3]);
    if (status != kSuccess)
        return Error{ErrorCode::kUnavailable,
                     "aqlprofile does not tell its version: " + status_text(status), library.path,
                     kOwnHint};
    return Version{words[0], words[1], words[2]};
}

} // namespace

Result<std::shared_ptr<const Library>> Library::open(const std::string& name) {
    WAVETAP_TRY(Opened opened, load(name));
    auto library = std::make_shared<Library>();
    library->path = path_of(opened.get(), name);
    GetVersion get_version = nullptr;
    WAVETAP_CHECK_OK(find(opened.get(), *library, "aqlprofile_get_version", get_version));
    WAVETAP_TRY(library->version, version_of(*library, get_version));
    if (library->version.major != kMajorVersion)
        return Error{ErrorCode::kUnsupported,
                     "version " + std::to_string(library->version.major) + "." +
                         std::to_string(library->version.minor) + "." +
                         std::to_string(library->version.patch) +
                         " of aqlprofile is not known; wavetap knows version " +
                         std::to_string(kMajorVersion),
                     library->path,
                     std::string("name another library in ") + kLibraryVariable + ", or " +
                         kOwnHint};
    WAVETAP_CHECK_OK(
        find(opened.get(), *library, "aqlprofile_att_create_packets", library->create_packets));
    WAVETAP_CHECK_OK(
        find(opened.get(), *library, "aqlprofile_att_delete_packets", library->delete_packets));
    WAVETAP_CHECK_OK(
        find(opened.get(), *library, "aqlprofile_att_iterate_data", library->iterate_data));
    WAVETAP_CHECK_OK(
        find(opened.get(), *library, "aqlprofile_att_codeobj_marker", library->marker));
    (void)find(opened.get(), *library, "aqlprofile_att_get_buffer_packets",
               library->buffer_packets);
    (void)find(opened.get(), *library, "aqlprofile_att_update_buffer_status",
               library->buffer_status);
    (void)opened.release();
    return std::shared_ptr<const Library>(std::move(library));
}

Error no_rings_error(const Library& library, const std::string& where) {
    return Error{ErrorCode::kUnsupported,
                 "this aqlprofile cannot trace through several buffers: it has no "
                 "aqlprofile_att_get_buffer_packets and aqlprofile_att_update_buffer_status",
                 where.empty() ? library.path : where + ", " + library.path,
                 std::string("use one buffer, or ") + kOwnHint};
}

std::string status_text(std::int32_t status) {
    char number[16];
    (void)std::snprintf(number, sizeof number, "%#x", static_cast<unsigned>(status));
    switch (status) {
    case kError:
        return std::string(number) + " (a general error)";
    case kInvalidArgument:
        return std::string(number) + " (invalid argument)";
    case kInvalidAgent:
        return std::string(number) + " (invalid agent)";
    case kOutOfResources:
        return std::string(number) + " (out of resources)";
    case kException:
        return std::string(number) + " (an exception of the hardware)";
    default:
        return number;
    }
}

} // namespace wavetap::aqlprofile
