// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "softgpu/isa/isa_test_util.hpp"

#include <cstring>

namespace wavetap::softgpu::isa_test {

/// Launch dimensions and kernel arguments.
struct Launch {
    unsigned groups_x = 1, groups_y = 1;
    unsigned threads_x = 64, threads_y = 1;
    std::vector<std::byte> arguments;

    template <class T> Launch& arg(T value) {
        const std::size_t at = (arguments.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        arguments.resize(at + sizeof(T));
        std::memcpy(arguments.data() + at, &value, sizeof(T));
        return *this;
    }
};

/// Loads a code object and runs its kernels work-group by work-group, waves in turn between
/// barriers: the smallest chip that gives results.
class KernelRunner {
  public:
    explicit KernelRunner(const std::string& code_object_path);

    /// Memory for kernels; returns its address.
    std::uint64_t allocate(std::size_t bytes);
    template <class T> T* host(std::uint64_t va) {
        return reinterpret_cast<T*>(memory_.at(va, sizeof(T), Access::kWrite));
    }
    std::vector<std::string> kernels() const;
    /// Fails the test on a fault, an unknown instruction or an endless loop.
    void launch(const std::string& kernel, const Launch& launch);
    std::uint64_t instructions() const { return instructions_; }

  private:
    struct Descriptor {
        std::uint32_t lds_bytes, scratch_bytes;
        std::uint64_t entry;
        std::uint32_t rsrc1, rsrc2, rsrc3;
        std::uint16_t properties;
    };
    Descriptor descriptor(const std::string& kernel);
    Wave make_wave(const Descriptor& d, const Launch& launch, unsigned group_x, unsigned group_y,
                   unsigned wave);
    void run_group(std::vector<Wave>& waves);

    TestSpace space_;
    Memory memory_;
    std::unique_ptr<Program> program_;
    std::map<std::string, std::uint64_t> symbols_;
    std::uint64_t next_va_ = 0x7f1000000000;
    std::uint64_t arguments_va_ = 0, packet_va_ = 0, scratch_va_ = 0;
    std::uint64_t instructions_ = 0;
};

} // namespace wavetap::softgpu::isa_test
