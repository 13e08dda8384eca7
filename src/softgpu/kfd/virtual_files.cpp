// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/virtual_files.hpp"

#include <cstring>

namespace wavetap::softgpu::kfd {
namespace {

constexpr char kClassRoot[] = "/sys/class/kfd";
constexpr char kSysfs[] = "/sys/devices/virtual/kfd";
constexpr char kModule[] = "/sys/module/amdgpu";
constexpr char kModules[] = "/proc/modules";
constexpr char kKfd[] = "/dev/kfd";
constexpr char kRender[] = "/dev/dri/renderD";

// lsmod, which rocminfo runs, looks for the driver here.
constexpr VirtualFile kModuleFiles[] = {
    {kModule, nullptr},
    {"/sys/module/amdgpu/coresize", "16384\n"},
    {"/sys/module/amdgpu/holders", nullptr},
    {"/sys/module/amdgpu/initstate", "live\n"},
    {"/sys/module/amdgpu/refcnt", "1\n"},
    {kModules, "amdgpu 16384 1 - Live 0x0000000000000000\n"},
};
constexpr std::size_t kModuleFileCount = sizeof kModuleFiles / sizeof *kModuleFiles;

// `path` is `root` or lies below it.
bool is_below(const char* path, const char* root) {
    const std::size_t size = std::strlen(root);
    return std::strncmp(path, root, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

int render_minor(const char* path) {
    const std::size_t prefix = sizeof kRender - 1;
    if (std::strncmp(path, kRender, prefix) != 0) return -1;
    int minor = 0;
    const char* digit = path + prefix;
    for (; *digit >= '0' && *digit <= '9' && minor < 10000; ++digit)
        minor = 10 * minor + (*digit - '0');
    return *digit == '\0' && digit != path + prefix ? minor : -1;
}

struct Table {
    const VirtualFile* files;
    std::size_t count;
};

Table table_of(const char* path, const EngineAbi* engine) {
    if (!is_below(path, kSysfs)) return {kModuleFiles, kModuleFileCount};
    return engine != nullptr ? Table{engine->files, engine->file_count} : Table{nullptr, 0};
}

// The name of `child` if it lies directly in folder `path`, else nullptr.
const char* name_in(const char* path, const char* child) {
    if (!is_below(child, path) || child[std::strlen(path)] == '\0') return nullptr;
    const char* name = child + std::strlen(path) + 1;
    return std::strchr(name, '/') == nullptr ? name : nullptr;
}

} // namespace

bool may_be_ours(const char* path) {
    if (path[0] != '/') return false;
    while (path[1] == '/')
        ++path;
    return std::strncmp(path, "/dev/", 5) == 0 || std::strncmp(path, "/sys/", 5) == 0 ||
           std::strncmp(path, "/proc/m", 7) == 0;
}

bool normalise(const char* path, char* out, std::size_t size) {
    if (path[0] != '/' || size < 2) return false;
    std::size_t length = 0;
    while (*path != '\0') {
        while (*path == '/')
            ++path;
        const char* end = path;
        while (*end != '\0' && *end != '/')
            ++end;
        const auto part = static_cast<std::size_t>(end - path);
        if (part == 2 && path[0] == '.' && path[1] == '.') {
            while (length > 0 && out[--length] != '/') {
            }
        } else if (part != 0 && !(part == 1 && path[0] == '.')) {
            if (length + part + 2 > size) return false;
            out[length++] = '/';
            std::memcpy(out + length, path, part);
            length += part;
        }
        path = end;
    }
    if (length == 0) out[length++] = '/';
    out[length] = '\0';
    return true;
}

bool needs_engine(const char* path) {
    char normal[sizeof Node::path];
    if (!normalise(path, normal, sizeof normal)) return false;
    return is_below(normal, kSysfs) || is_below(normal, kClassRoot) ||
           std::strcmp(normal, kKfd) == 0 || render_minor(normal) >= kFirstRenderMinor;
}

Node find_node(const char* path, const EngineAbi* engine) {
    Node node;
    char normal[sizeof node.path];
    if (!normalise(path, normal, sizeof normal)) return node;
    const char* tail = normal;
    const char* head = "";
    if (is_below(normal, kClassRoot)) {
        head = kSysfs;
        tail = normal + sizeof kClassRoot - 1;
    }
    if (std::strlen(head) + std::strlen(tail) >= sizeof node.path) return node;
    std::strcpy(node.path, head);
    std::strcat(node.path, tail);

    const unsigned gpus = engine != nullptr ? engine->gpus : 0;
    if (std::strcmp(node.path, kKfd) == 0) {
        node.kind = gpus != 0 ? NodeKind::kDevice : NodeKind::kMissing;
        return node;
    }
    if (const int minor = render_minor(node.path); minor >= kFirstRenderMinor) {
        node.minor = minor;
        node.kind = static_cast<unsigned>(minor - kFirstRenderMinor) < gpus ? NodeKind::kDevice
                                                                            : NodeKind::kMissing;
        return node;
    }
    if (!is_below(node.path, kSysfs) && !is_below(node.path, kModule) &&
        std::strcmp(node.path, kModules) != 0)
        return node;
    node.kind = NodeKind::kMissing;
    const Table table = table_of(node.path, engine);
    for (std::size_t i = 0; i < table.count; ++i) {
        if (std::strcmp(table.files[i].path, node.path) != 0) continue;
        node.text = table.files[i].text;
        node.kind = node.text != nullptr ? NodeKind::kText : NodeKind::kFolder;
        node.append_real = std::strcmp(node.path, kModules) == 0;
    }
    return node;
}

bool folder_entry(const char* path, const EngineAbi* engine, std::size_t index, char* name,
                  std::size_t name_size, bool& is_folder) {
    is_folder = true;
    if (index < 2) {
        std::strcpy(name, index == 0 ? "." : "..");
        return true;
    }
    const Table table = table_of(path, engine);
    std::size_t left = index - 2;
    for (std::size_t i = 0; i < table.count; ++i) {
        const char* child = name_in(path, table.files[i].path);
        if (child == nullptr || left-- != 0) continue;
        if (std::strlen(child) >= name_size) return false;
        std::strcpy(name, child);
        is_folder = table.files[i].text == nullptr;
        return true;
    }
    return false;
}

} // namespace wavetap::softgpu::kfd
