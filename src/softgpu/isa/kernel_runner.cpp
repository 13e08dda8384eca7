// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/kernel_runner.hpp"

#include <elf.h>

#include <fstream>
#include <iterator>

namespace wavetap::softgpu::isa_test {
namespace {

constexpr std::uint64_t kLoadBase = 0x100000000;
constexpr std::uint32_t kScratchLaneBytes = 8192;
constexpr std::size_t kMaxWaves = 16;

std::vector<std::byte> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in) << path;
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<std::byte> out(text.size());
    std::memcpy(out.data(), text.data(), text.size());
    return out;
}

template <class T> T load(const std::vector<std::byte>& file, std::uint64_t at) {
    T out{};
    EXPECT_LE(at + sizeof(T), file.size());
    if (at + sizeof(T) <= file.size()) std::memcpy(&out, file.data() + at, sizeof(T));
    return out;
}

} // namespace

KernelRunner::KernelRunner(const std::string& path) : memory_(space_) {
    const std::vector<std::byte> file = read_file(path);
    const auto header = load<Elf64_Ehdr>(file, 0);
    std::uint64_t end = 0;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto p = load<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
        if (p.p_type == PT_LOAD) end = std::max<std::uint64_t>(end, p.p_vaddr + p.p_memsz);
    }
    const auto image = space_.add(kLoadBase, end + 256);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const auto p = load<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
        if (p.p_type == PT_LOAD)
            std::memcpy(image.data() + p.p_vaddr, file.data() + p.p_offset, p.p_filesz);
    }
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto s = load<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
        if (s.sh_type == SHT_RELA) {
            for (std::uint64_t at = 0; at < s.sh_size; at += sizeof(Elf64_Rela)) {
                const auto r = load<Elf64_Rela>(file, s.sh_offset + at);
                const std::uint64_t value = kLoadBase + static_cast<std::uint64_t>(r.r_addend);
                std::memcpy(image.data() + r.r_offset, &value, 8);
            }
        }
        if (s.sh_type != SHT_DYNSYM) continue;
        const auto names = load<Elf64_Shdr>(file, header.e_shoff + s.sh_link * sizeof(Elf64_Shdr));
        for (std::uint64_t at = 0; at < s.sh_size; at += sizeof(Elf64_Sym)) {
            const auto symbol = load<Elf64_Sym>(file, s.sh_offset + at);
            const char* name =
                reinterpret_cast<const char*>(file.data()) + names.sh_offset + symbol.st_name;
            symbols_[name] = kLoadBase + symbol.st_value;
        }
    }
    auto made = Program::create("gfx90a", space_);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (made) program_ = std::move(*made);
    arguments_va_ = allocate(4096);
    packet_va_ = allocate(4096);
    scratch_va_ = allocate(kScratchLaneBytes * kLanes * kMaxWaves);
}

std::uint64_t KernelRunner::allocate(std::size_t bytes) {
    const std::uint64_t va = next_va_;
    space_.add(va, bytes);
    next_va_ += (bytes + 0x1fffff) / 0x200000 * 0x200000 + 0x200000;
    return va;
}

std::vector<std::string> KernelRunner::kernels() const {
    std::vector<std::string> out;
    for (const auto& [name, address] : symbols_)
        if (name.ends_with(".kd")) out.push_back(name.substr(0, name.size() - 3));
    return out;
}

KernelRunner::Descriptor KernelRunner::descriptor(const std::string& kernel) {
    Descriptor d{};
    const auto found = symbols_.find(kernel + ".kd");
    EXPECT_NE(found, symbols_.end()) << kernel;
    if (found == symbols_.end()) return d;
    const std::uint64_t at = found->second;
    std::int64_t entry = 0;
    EXPECT_TRUE(memory_.read(at, d.lds_bytes) && memory_.read(at + 4, d.scratch_bytes) &&
                memory_.read(at + 16, entry) && memory_.read(at + 44, d.rsrc3) &&
                memory_.read(at + 48, d.rsrc1) && memory_.read(at + 52, d.rsrc2) &&
                memory_.read(at + 56, d.properties));
    d.entry = at + static_cast<std::uint64_t>(entry);
    return d;
}

Wave KernelRunner::make_wave(const Descriptor& d, const Launch& l, unsigned group_x,
                             unsigned group_y, unsigned number) {
    Wave w;
    w.pc = d.entry;
    // Rounding and subnormals, DX10_CLAMP, IEEE.
    w.mode = (d.rsrc1 >> 12 & 0xff) | (d.rsrc1 >> 21 & 1) << 8 | (d.rsrc1 >> 23 & 1) << 9;
    const unsigned granted = ((d.rsrc1 & 63) + 1) * 8;
    const unsigned accum_offset = ((d.rsrc3 & 63) + 1) * 4;
    w.vgpr.resize(std::min(granted, accum_offset));
    if (granted > accum_offset) w.agpr.resize(granted - accum_offset);
    w.shared_aperture = 0x1000000000000;
    w.private_aperture = 0x2000000000000;
    w.scratch_bytes_per_lane = kScratchLaneBytes;
    const std::uint64_t scratch_offset = std::uint64_t{number} * kScratchLaneBytes * kLanes;
    w.scratch_base = scratch_va_ + scratch_offset;

    unsigned s = 0;
    const auto pair = [&](std::uint64_t value) {
        w.sgpr[s++] = static_cast<std::uint32_t>(value);
        w.sgpr[s++] = static_cast<std::uint32_t>(value >> 32);
    };
    if ((d.properties & 1) != 0) { // private segment buffer: swizzled, 64 lanes of dwords
        pair(scratch_va_ | std::uint64_t{1} << 63);
        w.sgpr[s++] = 0xffffffff;
        w.sgpr[s++] = 3U << 21 | 1U << 23;
    }
    if ((d.properties & 2) != 0) pair(packet_va_);
    if ((d.properties & 4) != 0) pair(0);
    if ((d.properties & 8) != 0) pair(arguments_va_);
    if ((d.properties & 16) != 0) pair(0);
    if ((d.properties & 32) != 0) pair(scratch_va_);
    if ((d.properties & 64) != 0) w.sgpr[s++] = kScratchLaneBytes;
    s = d.rsrc2 >> 1 & 31;
    if ((d.rsrc2 & 1 << 7) != 0) w.sgpr[s++] = group_x;
    if ((d.rsrc2 & 1 << 8) != 0) w.sgpr[s++] = group_y;
    if ((d.rsrc2 & 1 << 9) != 0) w.sgpr[s++] = 0;
    if ((d.rsrc2 & 1 << 10) != 0) w.sgpr[s++] = 0;
    if ((d.rsrc2 & 1) != 0) w.sgpr[s++] = static_cast<std::uint32_t>(scratch_offset);

    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const unsigned thread = number * kLanes + lane;
        if (thread >= l.threads_x * l.threads_y) continue;
        w.exec |= std::uint64_t{1} << lane;
        // gfx90a packs the three work-item ids into one register.
        w.vgpr[0][lane] = thread % l.threads_x | thread / l.threads_x << 10;
    }
    return w;
}

void KernelRunner::run_group(std::vector<Wave>& waves) {
    std::vector<bool> ended(waves.size(), false);
    for (bool running = true; running;) {
        running = false;
        for (std::size_t i = 0; i < waves.size(); ++i) {
            if (ended[i]) continue;
            for (;;) {
                auto op = program_->fetch(waves[i].pc);
                if (!op) {
                    ADD_FAILURE() << op.error().message;
                    return;
                }
                const StepInfo info = execute(**op, waves[i], memory_);
                ++instructions_;
                ASSERT_LT(instructions_, 200'000'000U) << "endless loop";
                ASSERT_NE(info.outcome, Outcome::kMemoryFault)
                    << std::hex << info.fault_va << " at " << waves[i].pc << " " << (*op)->text;
                ASSERT_NE(info.outcome, Outcome::kIllegal) << (*op)->text;
                ASSERT_NE(info.outcome, Outcome::kTrap) << (*op)->text;
                if (info.outcome == Outcome::kEnd) ended[i] = true;
                if (info.outcome == Outcome::kEnd || info.outcome == Outcome::kBarrier) break;
            }
            running = running || !ended[i];
        }
    }
}

void KernelRunner::launch(const std::string& kernel, const Launch& l) {
    const Descriptor d = descriptor(kernel);
    ASSERT_NE(d.entry, 0U);
    std::vector<std::byte> arguments = l.arguments;
    arguments.resize(std::max<std::size_t>(arguments.size(), 256) + 256);
    // Hidden arguments of code object version 5 follow the explicit ones.
    const std::size_t hidden = (l.arguments.size() + 7) / 8 * 8;
    const std::uint32_t counts[] = {l.groups_x, l.groups_y, 1};
    const std::uint16_t sizes[] = {static_cast<std::uint16_t>(l.threads_x),
                                   static_cast<std::uint16_t>(l.threads_y), 1};
    std::memcpy(arguments.data() + hidden, counts, sizeof counts);
    std::memcpy(arguments.data() + hidden + 12, sizes, sizeof sizes);
    std::memcpy(space_.bytes(arguments_va_).data(), arguments.data(), arguments.size());

    struct Packet {
        std::uint16_t header, setup, size_x, size_y, size_z, reserved;
        std::uint32_t grid_x, grid_y, grid_z;
    } const packet{
        2, 2, sizes[0], sizes[1], 1, 0, l.threads_x * l.groups_x, l.threads_y * l.groups_y, 1};
    std::memcpy(space_.bytes(packet_va_).data(), &packet, sizeof packet);

    const unsigned waves_per_group = (l.threads_x * l.threads_y + kLanes - 1) / kLanes;
    for (unsigned y = 0; y < l.groups_y; ++y) {
        for (unsigned x = 0; x < l.groups_x; ++x) {
            std::vector<std::byte> lds(d.lds_bytes);
            std::vector<Wave> waves;
            for (unsigned i = 0; i < waves_per_group; ++i) {
                waves.push_back(make_wave(d, l, x, y, i));
                waves.back().lds = lds;
            }
            run_group(waves);
            if (::testing::Test::HasFatalFailure()) return;
        }
    }
}

} // namespace wavetap::softgpu::isa_test
