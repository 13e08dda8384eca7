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

void Decoder::set_analysis(bool hidden_latency) {
    const MutexLock lock(mutex_);
    settings_.hidden_latency = hidden_latency;
}

Status Decoder::set_filter(const RecordFilter* filter) {
    const MutexLock lock(mutex_);
    if (filter != nullptr) return settings_.wanted.set(*filter);
    settings_.wanted = Wanted();
    return kSuccess;
}

std::optional<decode::ScanState> Decoder::entry_of(std::uint64_t index, Duration wait) {
    const TimePoint deadline = SteadyClock().deadline_after(wait);
    const MutexLock lock(mutex_);
    ended_.wait_until(mutex_, deadline,
                      [&]() WAVETAP_NO_THREAD_SAFETY_ANALYSIS { return entries_.contains(index); });
    const auto found = entries_.find(index);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
}

void Decoder::ended(std::uint64_t index, decode::ScanState state) {
    const MutexLock lock(mutex_);
    entries_.insert_or_assign(index + 1, std::move(state));
    if (entries_.size() > kMostChunks) entries_.erase(entries_.begin());
    ended_.notify_all();
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
