// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/code_objects.hpp"

#include <unistd.h>

#include <cstring>

namespace wavetap::rocr {

namespace {

hsa_status_t add_object(hsa_executable_t, hsa_loaded_code_object_t object, void* data) {
    try { // ROCr is above
        static_cast<std::vector<hsa_loaded_code_object_t>*>(data)->push_back(object);
    } catch (...) {
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    return HSA_STATUS_SUCCESS;
}

/// `size` bytes of `file` from `offset`; empty if there are fewer.
std::vector<std::byte> read_file(int file, std::uint64_t offset, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    std::uint64_t done = 0;
    while (done < size) {
        const ssize_t got =
            ::pread(file, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
        if (got <= 0) return {};
        done += static_cast<std::uint64_t>(got);
    }
    return bytes;
}

struct KernelSearch {
    const HsaFunctions* hsa;
    std::vector<LoadedKernel> kernels;
};

hsa_status_t find_kernel(hsa_executable_symbol_t symbol, KernelSearch& search) {
    const auto get = search.hsa->executable_symbol_get_info;
    hsa_symbol_kind_t kind{};
    std::uint32_t length = 0;
    if (get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind) != HSA_STATUS_SUCCESS ||
        kind != HSA_SYMBOL_KIND_KERNEL ||
        get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length) != HSA_STATUS_SUCCESS)
        return HSA_STATUS_SUCCESS;
    LoadedKernel kernel;
    kernel.name.resize(length);
    if (get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, kernel.name.data()) != HSA_STATUS_SUCCESS ||
        get(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.kernel_object) !=
            HSA_STATUS_SUCCESS)
        return HSA_STATUS_SUCCESS;
    if (kernel.name.ends_with(".kd")) kernel.name.resize(kernel.name.size() - 3);
    search.kernels.push_back(std::move(kernel));
    return HSA_STATUS_SUCCESS;
}

hsa_status_t add_kernel(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* data) {
    try { // ROCr is above
        return find_kernel(symbol, *static_cast<KernelSearch*>(data));
    } catch (...) {
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
}

} // namespace

Result<CodeObjectReader> CodeObjectReader::create(const HsaFunctions& hsa) {
    hsa_ven_amd_loader_1_01_pfn_t loader{};
    const hsa_status_t status =
        hsa.system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader);
    if (status != HSA_STATUS_SUCCESS ||
        loader.hsa_ven_amd_loader_loaded_code_object_get_info == nullptr)
        return Error{ErrorCode::kUnsupported, "this ROCr has no loader extension 1.01", "", ""};
    return CodeObjectReader(hsa, loader);
}

Result<std::vector<LoadedCodeObject>>
CodeObjectReader::code_objects(hsa_executable_t executable) const {
    std::vector<hsa_loaded_code_object_t> handles;
    const hsa_status_t status = loader_.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
        executable, add_object, &handles);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(hsa_, status, "listing loaded code objects");

    const auto get = loader_.hsa_ven_amd_loader_loaded_code_object_get_info;
    std::vector<LoadedCodeObject> objects;
    for (const hsa_loaded_code_object_t handle : handles) {
        LoadedCodeObject object;
        std::int64_t delta = 0;
        std::uint32_t kind = 0, storage = 0, uri_length = 0;
        if (get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND, &kind) !=
                HSA_STATUS_SUCCESS ||
            kind != HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT)
            continue;
        (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT, &object.agent);
        (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &delta);
        (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &object.load_base);
        (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &object.load_bytes);
        object.load_delta = static_cast<std::uint64_t>(delta);
        if (get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH, &uri_length) ==
            HSA_STATUS_SUCCESS) {
            object.uri.resize(uri_length + 1);
            (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, object.uri.data());
            object.uri.resize(std::strlen(object.uri.c_str()));
        }
        (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE,
                  &storage);
        std::uint64_t base = 0, size = 0;
        if (storage == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY) {
            (void)get(handle,
                      HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE,
                      &base);
            (void)get(handle,
                      HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE,
                      &size);
            const auto* bytes = reinterpret_cast<const std::byte*>(base);
            if (bytes != nullptr) object.elf.assign(bytes, bytes + size);
        } else if (storage == HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE) {
            int file = -1;
            (void)get(handle, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE,
                      &file);
            const off_t end = file >= 0 ? ::lseek(file, 0, SEEK_END) : 0;
            if (end > 0) object.elf = read_file(file, 0, static_cast<std::uint64_t>(end));
        }
        objects.push_back(std::move(object));
    }
    return objects;
}

Result<std::vector<LoadedKernel>> CodeObjectReader::kernels(hsa_executable_t executable,
                                                            hsa_agent_t agent) const {
    KernelSearch search{&hsa_, {}};
    const hsa_status_t status =
        hsa_.executable_iterate_agent_symbols(executable, agent, add_kernel, &search);
    if (status != HSA_STATUS_SUCCESS) return hsa_error(hsa_, status, "listing kernels");
    return std::move(search.kernels);
}

} // namespace wavetap::rocr
