// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "softgpu/isa/isa_test_util.hpp"

#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

#include <cstring>

namespace wavetap::softgpu::isa_test {
namespace {

/// Collects encoded instructions; labels inside the text are not resolved.
class CodeCollector : public llvm::MCStreamer {
  public:
    CodeCollector(llvm::MCContext& context, llvm::MCCodeEmitter& emitter)
        : llvm::MCStreamer(context), emitter_(emitter) {}
    void emitInstruction(const llvm::MCInst& inst, const llvm::MCSubtargetInfo& sti) override {
        llvm::SmallVector<char, 16> bytes;
        llvm::SmallVector<llvm::MCFixup, 4> fixups;
        emitter_.encodeInstruction(inst, bytes, fixups, sti);
        EXPECT_TRUE(fixups.empty()) << "the test assembler has no labels";
        for (const char c : bytes)
            code.push_back(static_cast<std::byte>(c));
    }
    bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
    void emitCommonSymbol(llvm::MCSymbol*, std::uint64_t, llvm::Align) override {}
    void emitZerofill(llvm::MCSection*, llvm::MCSymbol*, std::uint64_t, llvm::Align,
                      llvm::SMLoc) override {}
    std::vector<std::byte> code;

  private:
    llvm::MCCodeEmitter& emitter_;
};

} // namespace

std::vector<std::byte> assemble(std::string_view text) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    const std::string triple = "amdgcn-amd-amdhsa";
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) {
        ADD_FAILURE() << error;
        return {};
    }
    const std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
    llvm::MCTargetOptions options;
    const std::unique_ptr<llvm::MCAsmInfo> asm_info(
        target->createMCAsmInfo(*registers, triple, options));
    const std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
    const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
        target->createMCSubtargetInfo(triple, "gfx90a", ""));
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size())), {});
    std::string messages;
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic& d, void* to) {
            *static_cast<std::string*>(to) += d.getMessage().str() + "\n";
        },
        &messages);
    llvm::MCContext context(llvm::Triple(triple), asm_info.get(), registers.get(), subtarget.get(),
                            &sources, &options);
    const std::unique_ptr<llvm::MCObjectFileInfo> object(
        target->createMCObjectFileInfo(context, false));
    context.setObjectFileInfo(object.get());
    const std::unique_ptr<llvm::MCCodeEmitter> emitter(
        target->createMCCodeEmitter(*instructions, context));
    CodeCollector collector(context, *emitter);
    collector.setUseAssemblerInfoForParsing(false);
    const std::unique_ptr<llvm::MCAsmParser> parser(
        llvm::createMCAsmParser(sources, context, collector, *asm_info));
    // The target parser wants a target streamer.
    const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
        target->createMCAsmParser(*subtarget, *parser, *instructions, options));
    target->createNullTargetStreamer(collector);
    parser->setTargetParser(*target_parser);
    if (parser->Run(false) || !messages.empty())
        ADD_FAILURE() << "assembler: " << messages << "in: " << text;
    return collector.code;
}

Machine::Machine() : memory(space) {
    space.add(kCode, 65536);
    space.add(kData, kDataBytes);
    auto made = Program::create("gfx90a", space);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (made) program = std::move(*made);
    lds.resize(4096);
    wave.lds = lds;
    wave.vgpr.resize(64);
    wave.agpr.resize(64);
    wave.exec = ~std::uint64_t{0};
    wave.mode = 0x3f0; // round to nearest even, subnormals kept, DX10_CLAMP, IEEE
    wave.pc = kCode;
}

StepInfo Machine::run(std::string_view text) {
    std::vector<std::byte> code = assemble(text);
    const std::vector<std::byte> end = {std::byte{0}, std::byte{0}, std::byte{0x81},
                                        std::byte{0xbf}};
    code.insert(code.end(), end.begin(), end.end());
    EXPECT_LE(code.size(), space.bytes(kCode).size());
    std::memcpy(space.bytes(kCode).data(), code.data(), code.size());
    program->invalidate();
    wave.pc = kCode;
    return run_from_pc();
}

StepInfo Machine::run_from_pc(std::uint64_t limit) {
    for (std::uint64_t i = 0; i < limit; ++i) {
        auto op = program->fetch(wave.pc);
        if (!op) {
            ADD_FAILURE() << op.error().message;
            return {Outcome::kIllegal};
        }
        const StepInfo info = execute(**op, wave, memory);
        switch (info.outcome) {
        case Outcome::kEnd:
        case Outcome::kTrap:
        case Outcome::kIllegal:
        case Outcome::kMemoryFault:
            return info;
        default:
            break;
        }
    }
    ADD_FAILURE() << "no end after " << limit << " steps";
    return {Outcome::kIllegal};
}

} // namespace wavetap::softgpu::isa_test
