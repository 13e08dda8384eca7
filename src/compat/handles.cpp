// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "compat/handles.hpp"

#include <utility>

namespace wavetap::compat {

void Decoder::set_isa(IsaCallback callback, void* user) {
    const MutexLock lock(mutex_);
    settings_.isa = callback;
    settings_.isa_user = user;
}

void Decoder::set_se_data(SeDataCallback callback, void* user) {
    const MutexLock lock(mutex_);
    settings_.se_data = callback;
    settings_.se_data_user = user;
}

void Decoder::load(GivenCode code) {
    const MutexLock lock(mutex_);
    std::erase_if(settings_.code, [&code](const GivenCode& each) { return each.id == code.id; });
    settings_.code.push_back(std::move(code));
}

bool Decoder::unload(std::uint64_t id) {
    const MutexLock lock(mutex_);
    return std::erase_if(settings_.code, [id](const GivenCode& each) { return each.id == id; }) !=
           0;
}

Decoder::Settings Decoder::settings() const {
    const MutexLock lock(mutex_);
    return settings_;
}

Handles& Handles::instance() {
    static auto* const handles = new Handles;
    return *handles;
}

std::uint64_t Handles::create() {
    auto decoder = std::make_shared<Decoder>();
    const MutexLock lock(mutex_);
    decoders_.emplace(last_ + 1, std::move(decoder));
    return ++last_;
}

bool Handles::destroy(std::uint64_t handle) {
    const MutexLock lock(mutex_);
    return decoders_.erase(handle) != 0;
}

std::shared_ptr<Decoder> Handles::find(std::uint64_t handle) {
    const MutexLock lock(mutex_);
    const auto found = decoders_.find(handle);
    return found == decoders_.end() ? nullptr : found->second;
}

} // namespace wavetap::compat
