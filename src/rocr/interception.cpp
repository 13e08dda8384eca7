// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "rocr/interception.hpp"

#include "capture/correlation.hpp"

#include <chrono>
#include <exception>

namespace wavetap::rocr {

namespace {

/// For leases, when their context stops; as HubLimits::drain.
constexpr auto kCloseLimit = std::chrono::seconds(10);
/// For a code-object handler that is inside when the session goes.
constexpr auto kUnbindLimit = std::chrono::seconds(30);

std::atomic<Interception*> g_interception{nullptr};
Mutex g_install_mutex;

// A forked child has the table and nothing behind it: all passes unchanged there.

hsa_status_t queue_create(hsa_agent_t agent, std::uint32_t size, hsa_queue_type32_t type,
                          QueueErrorHandler callback, void* data, std::uint32_t private_bytes,
                          std::uint32_t group_bytes, hsa_queue_t** queue) {
    Interception& seen = *g_interception.load();
    if (!seen.in_own_process())
        return seen.functions().queue_create(agent, size, type, callback, data, private_bytes,
                                             group_bytes, queue);
    return seen.interceptor().create(agent, size, type, callback, data, private_bytes, group_bytes,
                                     queue);
}
hsa_status_t queue_destroy(hsa_queue_t* queue) {
    Interception& seen = *g_interception.load();
    if (!seen.in_own_process()) return seen.functions().queue_destroy(queue);
    return seen.interceptor().destroy(queue);
}
hsa_status_t executable_freeze(hsa_executable_t executable, const char* options) {
    return g_interception.load()->freeze(executable, options);
}
hsa_status_t executable_destroy(hsa_executable_t executable) {
    return g_interception.load()->destroy(executable);
}

} // namespace

/// A dispatch that a context traces, or holds back.
class Interception::ClientDispatch final : public LeasedDispatch {
  public:
    ClientDispatch(const capture::DispatchClient& client, const capture::Dispatch& dispatch,
                   Name name)
        : client_(client), dispatch_(dispatch), name_(std::move(name)), user_(client.user) {
        dispatch_.kernel = name_ ? name_->c_str() : "";
        client_.request.handler = on_chunk;
        client_.request.user = this;
    }
    /// Asks the client.
    bool wanted() {
        traced_ = client_.handlers->decide(dispatch_, client_.user, &user_) && dispatch_.traceable;
        client_.request.untraced = !traced_;
        return traced_;
    }
    Result<capture::RunRequest> request() override { return client_.request; }
    void began(const Result<void>& armed) override {
        if (!armed) refused_ = armed;
    }
    void ended(const Result<capture::RunSummary>& summary) override {
        if (!traced_) return;
        const Result<capture::RunSummary> outcome =
            refused_ ? summary : Result<capture::RunSummary>(refused_.error());
        client_.handlers->ended(dispatch_, outcome, client_.user, user_);
    }

  private:
    static void on_chunk(const capture::Chunk& chunk, void* data) {
        // A handler that does not return may outlive this.
        const auto* self = static_cast<const ClientDispatch*>(data);
        const capture::Dispatch dispatch = self->dispatch_;
        self->client_.handlers->chunk(chunk, dispatch, self->client_.user, self->user_);
    }

    capture::DispatchClient client_;
    capture::Dispatch dispatch_;
    const Name name_;
    void* user_;
    bool traced_ = false;
    Result<void> refused_;
};

class Interception::Use {
  public:
    explicit Use(Interception& owner) : owner_(owner) {
        MutexLock lock(owner_.mutex_);
        take();
    }
    /// Keeps the new executable in the same step, so that bind() tells of it or the caller does.
    Use(Interception& owner, hsa_executable_t executable, const std::vector<Loaded>& loaded)
        : owner_(owner) {
        MutexLock lock(owner_.mutex_);
        owner_.executables_[executable.handle] = loaded;
        take();
    }
    ~Use() {
        if (session_ == nullptr) return;
        MutexLock lock(owner_.mutex_);
        --owner_.users_;
        owner_.unused_.notify_all();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    capture::Session* session() const { return session_; }
    const CodeObjectHandler& handler() const { return handler_; }

  private:
    void take() WAVETAP_REQUIRES(owner_.mutex_) {
        session_ = owner_.session_;
        if (session_ == nullptr) return;
        ++owner_.users_;
        handler_ = owner_.handler_;
    }

    Interception& owner_;
    capture::Session* session_ = nullptr;
    CodeObjectHandler handler_;
};

Interception::Interception(HsaTable table, std::vector<GpuAgent> agents, CodeObjectReader reader,
                           double deadline_scale)
    : table_(std::move(table)), agents_(std::move(agents)), reader_(std::move(reader)),
      clock_(deadline_scale), clients_(agents_.size()) {
    LeaseOwner& owner = *this;
    leaser_ = std::make_unique<Leaser>(functions(), owner, agents_.size(), clock_);
    interceptor_ = std::make_unique<QueueInterceptor>(
        functions(), agents_, std::vector<bool>(agents_.size(), true), *leaser_, clock_);
    leaser_->set_interceptor(interceptor_.get());
}

Interception* Interception::existing() {
    return g_interception.load();
}

Result<Interception*> Interception::install(void* table, double deadline_scale) {
    MutexLock lock(g_install_mutex);
    if (g_interception.load() != nullptr)
        return Error{ErrorCode::kWrongState, "the dispatches of this process are seen already", "",
                     "one session in a process can have them"};
    WAVETAP_TRY(HsaTable known, HsaTable::open(table));
    WAVETAP_TRY(auto agents, find_gpu_agents(known.functions()));
    WAVETAP_TRY(auto reader, CodeObjectReader::create(known.functions()));
    std::unique_ptr<Interception> made(
        new Interception(std::move(known), std::move(agents), std::move(reader), deadline_scale));
    HsaTable& ours = made->table_;
    Interception* interception = made.release();
    g_interception.store(interception);
    ours.replace_queue_create(queue_create);
    ours.replace_queue_destroy(queue_destroy);
    ours.replace_executable_freeze(executable_freeze);
    ours.replace_executable_destroy(executable_destroy);
    return interception;
}

bool Interception::free() const {
    MutexLock lock(mutex_);
    return !bound_;
}

Result<void> Interception::bind(capture::Session& session, CodeObjectHandler handler) {
    std::unordered_map<std::uint64_t, std::vector<Loaded>> executables;
    {
        MutexLock lock(mutex_);
        if (std::exchange(bound_, true))
            return Error{ErrorCode::kWrongState,
                         "another session has the dispatches of this process", "",
                         "one session in a process can have them"};
        session_ = &session;
        handler_ = std::move(handler);
        executables = executables_;
    }
    session.set_dispatch_driver(this);
    Use use(*this);
    for (const auto& [executable, loaded] : executables)
        if (const auto objects = reader_.code_objects({executable})) tell(use, *objects, loaded);
    return {};
}

void Interception::tell(Use& use, const std::vector<LoadedCodeObject>& objects,
                        const std::vector<Loaded>& loaded) {
    std::size_t next = 0;
    for (const LoadedCodeObject& object : objects) {
        if (index_of(agents_, object.agent) < 0 || next == loaded.size()) continue;
        const Loaded& one = loaded[next++];
        // Address - load_delta = ELF address, in the marker and for the handler.
        (void)use.session()->hub(one.agent).code_object_loaded(
            {one.id, object.load_delta,
             object.load_bytes + (object.load_base - object.load_delta)});
        if (use.handler()) use.handler()({one.agent, one.id, &object});
    }
}

hsa_status_t Interception::freeze(hsa_executable_t executable, const char* options) {
    const hsa_status_t status = functions().executable_freeze(executable, options);
    if (status != HSA_STATUS_SUCCESS || finalized_.load() || !in_own_process()) return status;
    try {
        loaded(executable);
    } catch (const std::exception&) { // no memory: it is in no code object for the client
        return status;
    }
    return status;
}

void Interception::loaded(hsa_executable_t executable) {
    const auto objects = reader_.code_objects(executable);
    if (!objects) return;
    std::vector<Loaded> loaded;
    for (const LoadedCodeObject& object : *objects) {
        const int agent = index_of(agents_, object.agent);
        if (agent < 0) continue;
        loaded.push_back({static_cast<std::uint32_t>(agent), next_object_.fetch_add(1)});
        const auto kernels = reader_.kernels(executable, object.agent);
        if (!kernels) continue;
        MutexLock lock(mutex_);
        for (const LoadedKernel& kernel : *kernels)
            kernels_[kernel.kernel_object] = std::make_shared<const std::string>(kernel.name);
    }
    Use use(*this, executable, loaded);
    if (use.session() != nullptr) tell(use, *objects, loaded);
}

hsa_status_t Interception::destroy(hsa_executable_t executable) {
    if (!in_own_process()) return functions().executable_destroy(executable);
    std::vector<Loaded> loaded;
    {
        MutexLock lock(mutex_);
        if (const auto found = executables_.find(executable.handle); found != executables_.end()) {
            loaded = std::move(found->second);
            executables_.erase(found);
        }
    }
    // Before the memory can be used again.
    if (Use use(*this); use.session() != nullptr && !finalized_.load()) {
        for (const Loaded& one : loaded) {
            (void)use.session()->hub(one.agent).code_object_unloaded(one.id);
            if (use.handler()) use.handler()({one.agent, one.id, nullptr});
        }
    }
    return functions().executable_destroy(executable);
}

std::unique_ptr<LeasedDispatch> Interception::decide(const DispatchNote& note) {
    capture::Dispatch dispatch;
    dispatch.number = dispatches_.fetch_add(1) + 1;
    if (!note.watched) return nullptr;
    dispatch.agent = note.agent;
    dispatch.queue = note.queue;
    dispatch.correlation = dispatch.number;
    dispatch.external_correlation = capture::external_correlation();
    dispatch.kernel_object = note.kernel_object;
    dispatch.traceable = note.room;
    capture::DispatchClient client;
    Name name;
    {
        MutexLock lock(mutex_);
        client = clients_[note.agent];
        if (const auto found = kernels_.find(note.kernel_object); found != kernels_.end())
            name = found->second;
    }
    auto lease = std::make_unique<ClientDispatch>(client, dispatch, std::move(name));
    const bool held = lease->wanted() || client.request.serialize_all;
    if (!held || !note.room) return nullptr;
    return lease;
}

Result<void> Interception::open(std::uint32_t agent, capture::AgentHub& hub,
                                const capture::DispatchClient& client) {
    {
        MutexLock lock(mutex_);
        if (agent >= clients_.size() || session_ == nullptr)
            return Error{ErrorCode::kWrongState, "the session does not see dispatches any more", "",
                         ""};
        clients_[agent] = client;
    }
    return leaser_->open(agent, hub, client.request.context);
}

Result<void> Interception::close(std::uint32_t agent) {
    return leaser_->close(agent, clock_.deadline_after(kCloseLimit));
}

Result<void> Interception::may_wait(std::uint32_t agent, capture::AgentHub& hub) const {
    if (!Leaser::deciding() && !hub.on_hub_thread() && !leaser_->needs_this_thread(agent))
        return {};
    return Error{ErrorCode::kWouldDeadlock, "from here the call would wait for its own thread",
                 "dispatch mode", "stop asynchronously, or from another thread"};
}

void Interception::unbind() {
    interceptor_->stop();
    leaser_->finish(clock_.deadline_after(kCloseLimit));
    MutexLock lock(mutex_);
    session_ = nullptr;
    handler_ = nullptr;
    const bool unused =
        unused_.wait_until(mutex_, clock_.deadline_after(kUnbindLimit),
                           [this]() WAVETAP_REQUIRES(mutex_) { return users_ == 0; });
    (void)unused; // a handler of the client's that never returns
}

void Interception::finalize() {
    if (!in_own_process() || finalized_.exchange(true)) return;
    capture::Session* session = nullptr;
    {
        MutexLock lock(mutex_);
        session = session_;
    }
    if (session != nullptr)
        (void)session->close();
    else
        unbind();
}

} // namespace wavetap::rocr
