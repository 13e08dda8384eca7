// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "code/code_object.hpp"
#include "code/disassembler.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

namespace wavetap::code {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string path_of(const std::string& gfx) {
    return std::string(WAVETAP_TESTDATA) + "/saxpy_" + gfx + ".elf";
}

CodeObject load_or_die(const std::string& gfx) {
    auto object = CodeObject::load(path_of(gfx));
    EXPECT_TRUE(object) << to_string(object.error());
    return *std::move(object);
}

std::vector<std::byte> copy_of(const CodeObject& object) {
    return {object.file_bytes().begin(), object.file_bytes().end()};
}

const Symbol* find(const CodeObject& object, std::string_view name) {
    for (const Symbol& symbol : object.functions())
        if (symbol.name == name) return &symbol;
    return nullptr;
}

std::vector<Instruction> disassemble(const CodeObject& object, const Symbol& function) {
    auto disassembler = Disassembler::create(object.gfx());
    EXPECT_TRUE(disassembler);
    std::vector<Instruction> result;
    std::uint64_t address = function.address;
    while (address < function.address + function.size_bytes) {
        auto instruction = disassembler->decode(object.bytes_at(address), address);
        EXPECT_TRUE(instruction) << to_string(instruction.error());
        if (!instruction) break;
        address += instruction->size_bytes;
        result.push_back(*std::move(instruction));
    }
    return result;
}

TEST(CodeObjectTest, ChipFunctionsAndKernels) {
    for (const std::string gfx : {"gfx90a", "gfx1100", "gfx1201"}) {
        const CodeObject object = load_or_die(gfx);
        EXPECT_EQ(object.gfx(), gfx);
        const Symbol* saxpy = find(object, "saxpy");
        const Symbol* store = find(object, "store");
        ASSERT_NE(saxpy, nullptr);
        ASSERT_NE(store, nullptr);
        EXPECT_TRUE(saxpy->is_kernel);
        EXPECT_TRUE(find(object, "twice")->is_kernel);
        EXPECT_FALSE(store->is_kernel);
        EXPECT_EQ(object.function_at(saxpy->address), saxpy);
        EXPECT_EQ(object.function_at(saxpy->address + saxpy->size_bytes - 4), saxpy);
        EXPECT_NE(object.function_at(saxpy->address + saxpy->size_bytes), saxpy);
        EXPECT_EQ(object.function_at(0), nullptr);
        EXPECT_GE(object.memory_bytes(), saxpy->address + saxpy->size_bytes);
    }
}

TEST(CodeObjectTest, EveryInstructionOfEveryFunction) {
    for (const std::string gfx : {"gfx90a", "gfx1100", "gfx1201"}) {
        const CodeObject object = load_or_die(gfx);
        for (const Symbol& function : object.functions()) {
            const auto instructions = disassemble(object, function);
            ASSERT_FALSE(instructions.empty());
            const Instruction& last = instructions.back();
            EXPECT_EQ(last.address + last.size_bytes, function.address + function.size_bytes);
            EXPECT_TRUE(last.text == "s_endpgm" || last.text.starts_with("s_setpc_b64"))
                << last.text;
        }
    }
}

TEST(CodeObjectTest, SourceLineIsTheInnermostAndChainGoesOutwards) {
    const CodeObject object = load_or_die("gfx90a");
    const Symbol* saxpy = find(object, "saxpy");
    ASSERT_NE(saxpy, nullptr);
    bool found = false;
    for (const Instruction& instruction : disassemble(object, *saxpy)) {
        if (!instruction.text.starts_with("v_add_f32")) continue;
        found = true;
        const auto line = object.source_line(instruction.address);
        ASSERT_TRUE(line);
        EXPECT_THAT(line->file, EndsWith("testdata/saxpy.cl"));
        EXPECT_EQ(line->line, 5u);
        const auto chain = object.source_chain(instruction.address);
        ASSERT_EQ(chain.size(), 3u);
        EXPECT_EQ(chain[0].line, 5u);
        EXPECT_EQ(chain[1].line, 9u);
        EXPECT_EQ(chain[2].line, 19u);
        EXPECT_THAT(chain[2].file, EndsWith("testdata/saxpy.cl"));
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(object.source_line(saxpy->address)->line, 16u);
    EXPECT_FALSE(object.source_line(0));
    EXPECT_FALSE(object.source_line(saxpy->address + saxpy->size_bytes + 0x100000));
    EXPECT_TRUE(object.source_chain(0).empty());
}

TEST(CodeObjectTest, InstructionsWithoutALineTakeTheOneBeforeThem) {
    const CodeObject object = load_or_die("gfx90a");
    const Symbol* twice = find(object, "twice");
    ASSERT_NE(twice, nullptr);
    int nearby = 0;
    for (const Instruction& instruction : disassemble(object, *twice)) {
        const auto line = object.source_line(instruction.address);
        ASSERT_TRUE(line) << instruction.text;
        EXPECT_GE(line->line, 5u);
        EXPECT_LE(line->line, 26u);
        if (!line->nearby) continue;
        ++nearby;
        EXPECT_EQ(line->line, 24u) << instruction.text;
        EXPECT_EQ(object.source_chain(instruction.address).size(), 1u);
    }
    EXPECT_GT(nearby, 0) << "clang gave every instruction a line: the test program no longer tests";
    EXPECT_FALSE(object.source_line(twice->address)->nearby);
}

TEST(CodeObjectTest, LinesFromSeveralThreads) {
    const CodeObject object = load_or_die("gfx90a");
    const std::uint64_t address = find(object, "saxpy")->address;
    std::vector<std::thread> threads;
    std::vector<unsigned> lines(4);
    for (unsigned& line : lines)
        threads.emplace_back(
            [&] { line = object.source_line(address).value_or(SourceLine{}).line; });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_THAT(lines, ::testing::Each(16u));
}

TEST(CodeObjectTest, BytesAtEndsWithTheSegment) {
    const CodeObject object = load_or_die("gfx90a");
    const std::uint64_t address = find(object, "saxpy")->address;
    const auto bytes = object.bytes_at(address);
    ASSERT_GE(bytes.size(), 4u);
    EXPECT_EQ(object.bytes_at(address + bytes.size() - 1).size(), 1u);
    EXPECT_TRUE(object.bytes_at(address + bytes.size()).empty());
    EXPECT_TRUE(object.bytes_at(~std::uint64_t{0}).empty());
}

TEST(CodeObjectTest, WrongFilesAreWordedErrors) {
    const auto missing = CodeObject::load("/nonexistent/code.elf");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(CodeObject::parse({}).error().code, ErrorCode::kCorrupt);

    auto bytes = copy_of(load_or_die("gfx90a"));
    auto other = bytes;
    other[offsetof(Elf64_Ehdr, e_machine)] = std::byte{62};
    EXPECT_EQ(CodeObject::parse(other).error().code, ErrorCode::kUnsupported);
    other = bytes;
    other[EI_CLASS] = std::byte{ELFCLASS32};
    EXPECT_EQ(CodeObject::parse(other).error().code, ErrorCode::kUnsupported);
    other = bytes;
    other[offsetof(Elf64_Ehdr, e_flags)] = std::byte{0xee};
    const auto unknown = CodeObject::parse(other);
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, HasSubstr("unknown chip"));
    EXPECT_THAT(unknown.error().hint, HasSubstr("gfx90a"));
    other = bytes;
    other[offsetof(Elf64_Ehdr, e_shoff) + 7] = std::byte{0xff};
    const auto outside = CodeObject::parse(other);
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(outside.error().where, HasSubstr("offset 0x"));
}

TEST(CodeObjectTest, ChipsThatLlvmDoesNotKnowAreRead) {
    auto bytes = copy_of(load_or_die("gfx90a"));
    bytes[offsetof(Elf64_Ehdr, e_flags)] = std::byte{0x4f};
    const auto object = CodeObject::parse(bytes);
    ASSERT_TRUE(object) << to_string(object.error());
    EXPECT_EQ(object->gfx(), "gfx950");
    EXPECT_TRUE(object->source_line(find(*object, "saxpy")->address));
}

/// Asks everything there is to ask; the answers do not matter, only that they come.
std::uint64_t touch_everything(const CodeObject& object, Disassembler& disassembler) {
    std::uint64_t sum = object.memory_bytes();
    for (const Symbol& function : object.functions()) {
        sum += function.size_bytes + function.demangled.size();
        const std::uint64_t end =
            function.address + std::min<std::uint64_t>(function.size_bytes, 512);
        for (std::uint64_t address = function.address; address < end; address += 4) {
            const auto instruction = disassembler.decode(object.bytes_at(address), address);
            if (instruction) sum += instruction->size_bytes;
            sum += object.source_chain(address).size();
        }
        sum += object.function_at(end) != nullptr;
    }
    return sum;
}

TEST(CodeObjectTest, TruncatedAnywhereNeverCrashes) {
    const auto bytes = copy_of(load_or_die("gfx90a"));
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 64) {
        auto object = CodeObject::parse({bytes.begin(), bytes.begin() + std::ptrdiff_t(size)});
        if (!object) {
            EXPECT_FALSE(object.error().message.empty());
            continue;
        }
        EXPECT_GT(touch_everything(*object, *disassembler), 0u);
    }
}

TEST(CodeObjectTest, MutatedBytesNeverCrash) {
    const auto bytes = copy_of(load_or_die("gfx90a"));
    auto disassembler = Disassembler::create("gfx90a");
    ASSERT_TRUE(disassembler);
    std::mt19937 random(7);
    int parsed = 0;
    for (int round = 0; round < 1500; ++round) {
        auto mutated = bytes;
        // Every other round aims at the headers, where a byte breaks most.
        const std::size_t range = round % 2 == 0 ? bytes.size() : 64 + 56 * 9;
        for (unsigned i = 0, count = 1 + random() % 8; i < count; ++i) {
            const std::size_t at =
                round % 4 == 1 ? bytes.size() - 1 - random() % 1600 : random() % range;
            mutated[at] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
        }
        auto object = CodeObject::parse(std::move(mutated));
        if (!object) continue;
        ++parsed;
        static_cast<void>(touch_everything(*object, *disassembler));
    }
    EXPECT_GT(parsed, 100);
}

} // namespace
} // namespace wavetap::code
