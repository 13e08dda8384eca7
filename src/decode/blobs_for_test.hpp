// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#pragma once

#include "code/code_object.hpp"
#include "decode/blob_source.hpp"
#include "decode/decoder.hpp"
#include "sqtt/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

// Real and synthetic blobs with their code, for tests that take all of them.

namespace wavetap::decode::test_blobs {

struct TestBlob {
    std::string name;
    std::vector<std::byte> bytes;
    std::shared_ptr<code::CodeObject> object; ///< null for synthetic streams
    std::uint64_t load_base = 0;

    std::vector<LoadedObject> objects() const {
        std::vector<LoadedObject> out;
        if (object) out.push_back({object.get(), load_base, 0});
        return out;
    }
};

inline std::vector<TestBlob> real_blobs(const std::string& arch) {
    std::vector<TestBlob> blobs;
    std::string folder;
    std::shared_ptr<code::CodeObject> object;
    std::uint64_t base = 0;
    for (const auto& path : test::trace_files(arch, ".att")) {
        if (path.parent_path().string() != folder) {
            folder = path.parent_path().string();
            auto loaded = code::CodeObject::load(folder + "/code.elf");
            EXPECT_TRUE(loaded) << folder;
            if (!loaded) continue;
            object = std::make_shared<code::CodeObject>(*std::move(loaded));
            const auto meta = nlohmann::json::parse(std::ifstream(folder + "/meta.json"));
            base = std::stoull(meta["load_base"].get<std::string>(), nullptr, 16);
        }
        blobs.push_back(
            {arch + "/" + path.parent_path().filename().string() + "/" + path.filename().string(),
             test::read_bytes(path), object, base});
    }
    return blobs;
}

inline std::vector<TestBlob> synthetic_blobs() {
    std::vector<TestBlob> blobs;
    const auto root = test::data_folder() / "traces" / "synthetic";
    if (!std::filesystem::exists(root)) return blobs;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
        if (entry.path().extension() != ".att") continue;
        blobs.push_back({"synthetic/" + entry.path().filename().string(),
                         test::read_bytes(entry.path()), nullptr, 0});
    }
    std::sort(blobs.begin(), blobs.end(),
              [](const TestBlob& a, const TestBlob& b) { return a.name < b.name; });
    return blobs;
}

/// Real ones of three chips, then the synthetic ones.
inline std::vector<TestBlob> all_blobs() {
    std::vector<TestBlob> blobs;
    for (const char* arch : {"gfx950", "gfx1100", "gfx1200"}) {
        for (TestBlob& blob : real_blobs(arch))
            blobs.push_back(std::move(blob));
    }
    for (TestBlob& blob : synthetic_blobs())
        blobs.push_back(std::move(blob));
    return blobs;
}

inline std::string text_of(const Pc& pc) {
    return std::to_string(pc.absolute) + "/" + std::to_string(pc.elf_address) + "/" +
           std::to_string(pc.code_object);
}

/// Everything of a record but its byte offset.
inline std::string text_of(const DispatchRecord& r) {
    return "dispatch " + std::to_string(r.time) + " " + std::to_string(r.me) + " " +
           std::to_string(r.pipe) + " " + std::to_string(r.initiator) + " " + text_of(r.entry) +
           " " + std::to_string(r.threads[0]) + "," + std::to_string(r.threads[1]) + "," +
           std::to_string(r.threads[2]) + " " + std::to_string(r.rsrc1) + " " +
           std::to_string(r.rsrc2) + " " + std::to_string(r.packet_va);
}
inline std::string text_of(const EventRecord& r) {
    return std::string("event ") + std::to_string(r.time) + " " + event_kind_name(r.kind) + " " +
           std::to_string(r.me) + " " + std::to_string(r.pipe) + " " + std::to_string(r.payload) +
           (r.from_start ? " from-start" : "") + (r.of_pipe ? " pipe" : "") +
           (r.at_bottom ? " bottom" : "");
}
inline std::string text_of(const CodeObjectEvent& r) {
    return "object " + std::to_string(r.time) + " " + std::to_string(r.id) + " " +
           std::to_string(r.address) + " " + std::to_string(r.size) + (r.unload ? " unload" : "") +
           (r.from_start ? " from-start" : "");
}
inline std::string text_of(const WaveRecord& r) {
    std::string out = "wave " + std::to_string(r.start) + "-" + std::to_string(r.end) + " " +
                      std::to_string(r.record_end) + " at " + std::to_string(r.sa) + "." +
                      std::to_string(r.cu) + "." + std::to_string(r.simd) + "." +
                      std::to_string(r.slot) + " queue " + std::to_string(r.me) + "." +
                      std::to_string(r.pipe) + " count " + std::to_string(r.count) + " wg " +
                      std::to_string(r.workgroup) + " cluster " + std::to_string(r.cluster) +
                      " contexts " + std::to_string(r.contexts) + " " + text_of(r.entry) +
                      (r.on_target ? " target" : "") + (r.stitched ? " stitched" : "");
    for (const InstructionRecord& i : r.instructions)
        out += "\n  " + std::string(category_name(i.category)) + " " + std::to_string(i.time) +
               " " + std::to_string(i.duration) + " " + std::to_string(i.stall) + " " +
               text_of(i.pc);
    for (const auto& [state, clocks] : r.timeline)
        out += "\n  " + std::string(wave_state_name(state)) + " " + std::to_string(clocks);
    for (const auto& wait : r.excluded_barrier_waits)
        out += "\n  barrier wait " + std::to_string(wait.index) + " " + std::to_string(wait.pc);
    return out;
}

/// A blob in pieces of one size, each in a place of its own, so that what reads beyond is seen.
class PiecedSource final : public BlobSource {
  public:
    PiecedSource(std::span<const std::byte> bytes, std::size_t size) : bytes_(bytes), size_(size) {}
    std::uint64_t bytes() const override { return bytes_.size(); }
    void rewind() override { at_ = 0; }
    Result<std::span<const std::byte>> next() override {
        const auto piece = bytes_.subspan(at_, std::min(size_, bytes_.size() - at_));
        at_ += piece.size();
        piece_ = std::vector<std::byte>(piece.begin(), piece.end());
        return std::span<const std::byte>(piece_);
    }

  private:
    std::span<const std::byte> bytes_;
    std::size_t size_, at_ = 0;
    std::vector<std::byte> piece_;
};

} // namespace wavetap::decode::test_blobs
