// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/kfd/loaded_code.hpp"

#include "base/units.hpp"
#include "code/code_object.hpp"
#include "softgpu/kfd/real.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>

#include <algorithm>
#include <charconv>

namespace wavetap::softgpu::kfd {
namespace {

constexpr unsigned kMostObjects = 4096;
constexpr std::uint64_t kMostBytes = 256 * kMiB;

bool read_memory(std::uint64_t address, void* out, std::size_t size) {
    const iovec local{out, size};
    const iovec remote{reinterpret_cast<void*>(address), size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::string read_string(std::uint64_t address) {
    std::string text;
    char c = 0;
    while (text.size() < 4096 && read_memory(address + text.size(), &c, 1) && c != '\0')
        text += c;
    return text;
}

std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(&text[i + 1], &text[i + 3], value, 16).ptr == &text[i + 3]) {
            out += static_cast<char>(value);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::vector<std::byte> read_file(const CodeUri& uri) {
    std::vector<std::byte> bytes;
    const int fd = real::open_file(AT_FDCWD, uri.path.c_str(), O_RDONLY | O_CLOEXEC);
    struct ::stat status {};
    if (fd < 0) return bytes;
    if (real::fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) > uri.offset) {
        const std::uint64_t rest = static_cast<std::uint64_t>(status.st_size) - uri.offset;
        bytes.resize(std::min(uri.size != 0 ? std::min(uri.size, rest) : rest, kMostBytes));
        if (pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(uri.offset)) !=
            static_cast<ssize_t>(bytes.size()))
            bytes.clear();
    }
    real::close(fd);
    return bytes;
}

std::vector<std::byte> read_code(const CodeUri& uri) {
    if (!uri.in_memory) return read_file(uri);
    if (uri.size == 0 || uri.size > kMostBytes) return {};
    std::vector<std::byte> bytes(uri.size);
    if (!read_memory(uri.offset, bytes.data(), bytes.size())) bytes.clear();
    return bytes;
}

std::string describe(const code::CodeObject& object, std::uint64_t address) {
    const code::Symbol* symbol = object.function_at(address);
    if (symbol == nullptr) return "";
    std::string text = symbol->demangled.empty() ? symbol->name : symbol->demangled;
    if (const auto line = object.source_line(address))
        text += " (" + line->file.substr(line->file.rfind('/') + 1) + ":" +
                std::to_string(line->line) + ")";
    return text;
}

} // namespace

Result<CodeUri> parse_code_uri(std::string_view uri) {
    const auto bad = [&](const char* what) {
        return Error{ErrorCode::kInvalidArgument, what, std::string(uri), ""};
    };
    constexpr std::string_view kFile = "file://", kMemory = "memory://";
    CodeUri out;
    out.in_memory = uri.starts_with(kMemory);
    if (!out.in_memory && !uri.starts_with(kFile)) return bad("neither a file nor a memory URI");
    const std::string_view rest = uri.substr(out.in_memory ? kMemory.size() : kFile.size());
    const std::size_t mark = rest.find_first_of("#?");
    if (!out.in_memory) out.path = unescape(rest.substr(0, mark));
    if (mark == std::string_view::npos) {
        if (out.in_memory) return bad("a memory URI without a range");
        return out;
    }
    for (const std::string_view part : split(rest.substr(mark + 1), '&')) {
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) return bad("a part of the range has no value");
        WAVETAP_TRY(const std::uint64_t value, parse_number(part.substr(equals + 1)));
        if (part.substr(0, equals) == "offset") out.offset = value;
        if (part.substr(0, equals) == "size") out.size = value;
    }
    return out;
}

const void* find_loaded_code_list() {
    void* const runtime = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (runtime == nullptr) return nullptr;
    const void* const list = dlsym(runtime, "_amdgpu_r_debug");
    dlclose(runtime);
    return list;
}

std::string describe_code(const void* list, std::uint64_t pc) {
    r_debug head{};
    if (list == nullptr ||
        !read_memory(reinterpret_cast<std::uint64_t>(list), &head, sizeof head) ||
        head.r_state != r_debug::RT_CONSISTENT)
        return "";
    auto next = reinterpret_cast<std::uint64_t>(head.r_map);
    for (unsigned i = 0; next != 0 && i < kMostObjects; ++i) {
        link_map entry{};
        if (!read_memory(next, &entry, sizeof entry)) return "";
        next = reinterpret_cast<std::uint64_t>(entry.l_next);
        if (pc < entry.l_addr || pc - entry.l_addr > kMostBytes) continue;
        const auto uri = parse_code_uri(read_string(reinterpret_cast<std::uint64_t>(entry.l_name)));
        if (!uri) continue;
        const auto object = code::CodeObject::parse(read_code(*uri));
        if (!object || pc - entry.l_addr >= object->memory_bytes()) continue;
        return describe(*object, pc - entry.l_addr);
    }
    return "";
}

} // namespace wavetap::softgpu::kfd
