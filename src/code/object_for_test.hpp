// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/code_object.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace wavetap::test {

/// For tests: an ELF file of a chip with one segment, at address 0. `code` lies at file offset `at`
/// (120 or more, behind the headers) and ends file and segment; that begins at file offset `segment`.
inline code::CodeObject object_for_test(std::uint8_t mach, std::span<const std::byte> code,
                                        std::size_t at, std::size_t segment) {
    std::vector<std::byte> bytes(at + code.size());
    const auto put = [&bytes](std::size_t offset, auto value) {
        std::memcpy(bytes.data() + offset, &value, sizeof value);
    };
    put(0, std::uint32_t{0x464C457F});
    put(4, std::uint32_t{0x40010102}); // 64 bit, little endian, version 1, OS ABI amdhsa
    put(8, std::uint8_t{2});
    put(16, std::uint16_t{3});
    put(18, std::uint16_t{224});
    put(20, std::uint32_t{1});
    put(32, std::uint64_t{64}); // program headers
    put(48, std::uint32_t{mach});
    put(52, std::uint16_t{64});
    put(54, std::uint16_t{56});
    put(56, std::uint16_t{1});
    put(58, std::uint16_t{64});
    put(64, std::uint32_t{1}); // PT_LOAD
    put(68, std::uint32_t{5});
    put(72, std::uint64_t{segment});
    put(96, std::uint64_t{bytes.size() - segment});
    put(104, std::uint64_t{bytes.size() - segment});
    put(112, std::uint64_t{4096});
    std::memcpy(bytes.data() + at, code.data(), code.size());
    auto object = code::CodeObject::parse(std::move(bytes));
    EXPECT_TRUE(object) << to_string(object.error());
    return *std::move(object);
}

} // namespace wavetap::test
