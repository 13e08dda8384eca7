// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/disassembler.hpp"

#include "base/units.hpp"
#include "code/chip.hpp"

#include <llvm-c/Disassembler.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

// Only these of LLVM's targets: llvm-c/Target.h would declare and want all of them.
extern "C" {
void LLVMInitializeAMDGPUTargetInfo(void);
void LLVMInitializeAMDGPUTargetMC(void);
void LLVMInitializeAMDGPUDisassembler(void);
}

namespace wavetap::code {
namespace {

/// An image instruction of gfx10 with its extra address words is the longest one.
constexpr std::size_t kMaxInstructionBytes = 20;
constexpr std::size_t kTextBytes = 512;

void initialise_llvm_once() {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUDisassembler();
    });
}

std::string tidy(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t' || c == '\n';
        if (!blank) {
            result += c;
        } else if (!result.empty() && result.back() != ' ') {
            result += ' ';
        }
    }
    while (!result.empty() && result.back() == ' ')
        result.pop_back();
    return result;
}

std::optional<std::uint64_t> branch_target(std::string_view text, std::uint32_t word,
                                           std::uint64_t address) {
    const bool is_sopp = word >> 23 == 0x17f;
    const bool is_sopk = word >> 28 == 0xb && (word >> 23 & 0x1f) < 0x1d;
    const bool jumps =
        (is_sopp && text.find("branch") != std::string_view::npos) ||
        (is_sopk && (text.starts_with("s_call_b64") || text.starts_with("s_cbranch_i_fork") ||
                     text.starts_with("s_subvector_loop")));
    if (!jumps) return std::nullopt;
    const auto dwords = static_cast<std::int64_t>(static_cast<std::int16_t>(word & 0xffff));
    return address + 4 + static_cast<std::uint64_t>(dwords * 4);
}

/// SDWA words of gfx9 and gfx10 with a reserved selector: LLVM's printer has no text for them and
/// runs into undefined behaviour, so it must never see one.
bool has_reserved_sdwa(std::uint32_t word, std::uint32_t sdwa) {
    const bool is_sdwa = word >> 31 == 0 && (word & 0x1ff) == 0xf9;
    if (!is_sdwa) return false;
    const bool is_vopc = word >> 25 == 0x3e;
    const bool bad_destination = (sdwa >> 8 & 7) == 7 || (sdwa >> 11 & 3) == 3;
    return (sdwa >> 16 & 7) == 7 || (sdwa >> 24 & 7) == 7 || (!is_vopc && bad_destination);
}

std::string hex_bytes(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
        if (!text.empty()) text += ' ';
        text += kDigits[std::to_integer<unsigned>(byte) >> 4];
        text += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

} // namespace

struct Disassembler::Impl {
    const ChipRow* chip = nullptr;
    LLVMDisasmContextRef context = nullptr;

    explicit Impl(const ChipRow* row) : chip(row) {}
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        if (context != nullptr) LLVMDisasmDispose(context);
    }
};

Disassembler::Disassembler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Disassembler::Disassembler(Disassembler&&) noexcept = default;
Disassembler& Disassembler::operator=(Disassembler&&) noexcept = default;
Disassembler::~Disassembler() = default;

Result<Disassembler> Disassembler::create(std::string_view gfx) {
    const ChipRow* chip = find_chip(gfx);
    if (chip == nullptr)
        return Error{ErrorCode::kUnsupported, "no disassembler for chip '" + std::string(gfx) + "'",
                     "", "known chips: " + known_chip_names()};
    initialise_llvm_once();
    auto impl = std::make_unique<Impl>(chip);
    const std::string cpu(chip->llvm_cpu);
    impl->context =
        LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", cpu.c_str(), nullptr, 0, nullptr, nullptr);
    if (impl->context == nullptr)
        return Error{ErrorCode::kInternal, "LLVM made no disassembler for " + cpu, "",
                     "this LLVM lacks the AMDGPU target; install libllvm19"};
    return Disassembler(std::move(impl));
}

bool Disassembler::exact() const {
    return impl_->chip->exact;
}

Result<Instruction> Disassembler::decode(std::span<const std::byte> bytes, std::uint64_t address) {
    std::array<std::uint8_t, kMaxInstructionBytes> code{};
    const std::size_t available = std::min(bytes.size(), code.size());
    if (available >= 4) {
        std::memcpy(code.data(), bytes.data(), available);
        std::array<std::uint32_t, 2> words{};
        std::memcpy(words.data(), code.data(), sizeof words);
        const std::string_view generation = impl_->chip->generation;
        const bool printable = (generation != "gfx9" && generation != "gfx10") ||
                               !has_reserved_sdwa(words[0], words[1]);
        std::array<char, kTextBytes> text{};
        const std::size_t size = printable
                                     ? LLVMDisasmInstruction(impl_->context, code.data(), available,
                                                             address, text.data(), text.size())
                                     : 0;
        if (size != 0 && size <= available) {
            Instruction result;
            result.address = address;
            result.size_bytes = static_cast<std::uint32_t>(size);
            result.text = tidy(text.data());
            result.line_class = classify(result.text, generation.starts_with("gfx12"));
            result.branch_target = branch_target(result.text, words[0], address);
            return result;
        }
    }
    return Error{ErrorCode::kCorrupt,
                 "not an instruction of " + std::string(impl_->chip->name) + ": " +
                     (bytes.empty() ? "no bytes" : hex_bytes(bytes)),
                 "address " + format_hex(address),
                 impl_->chip->exact ? ""
                                    : "LLVM 19 lacks this chip; the tables of " +
                                          std::string(impl_->chip->llvm_cpu) + " were used"};
}

} // namespace wavetap::code
