// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "capture/c_api.hpp"

#include "base/mutex.hpp"
#include "capture/correlation.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>

using wavetap::copy_in;
using wavetap::Error;
using wavetap::ErrorCode;
using wavetap::Result;
using namespace wavetap::capture;

namespace {

/// A client's handler; its address is the `user` of capture's handler and must stay.
struct Client {
    wavetap_chunk_handler handler = nullptr;
    void* user = nullptr;
    std::uint64_t context = 0;
    wavetap_dispatch_handler dispatch = nullptr; ///< dispatch mode
    wavetap_dispatch_end_handler end = nullptr;
};

thread_local constinit wavetap::LastError t_last_error;

} // namespace

struct wavetap_session {
    std::unique_ptr<wavetap::Clock> clock;
    double deadline_scale = 1.0;
    wavetap::Mutex mutex;
    std::optional<Error> attach_error WAVETAP_GUARDED_BY(mutex);
    void (*close_hook)(wavetap_session*) WAVETAP_GUARDED_BY(mutex) = nullptr;
    /// By context and agent.
    std::map<std::pair<std::uint64_t, std::uint32_t>, Client> clients WAVETAP_GUARDED_BY(mutex);
    std::unique_ptr<Session> session; ///< goes first
};

namespace {

Error null_argument(const char* name) {
    return Error{ErrorCode::kInvalidArgument, std::string(name) + " is null", "", ""};
}

/// Copies as much of a versioned struct as its caller knows; `to` begins with its size.
template <class T> Result<void> copy_out(T* to, T from) {
    std::size_t size = 0;
    std::memcpy(&size, to, sizeof size);
    if (size < sizeof size)
        return Error{ErrorCode::kInvalidArgument, "the struct's size is not set", "", ""};
    from.size = std::min(size, sizeof(T));
    std::memcpy(static_cast<void*>(to), &from, from.size);
    return {};
}

wavetap_chunk chunk_of(const Chunk& chunk, const Client& client) {
    wavetap_chunk out{};
    out.size = sizeof out;
    out.context.handle = client.context;
    out.run = chunk.run;
    out.shader_engine = chunk.engine;
    out.index = chunk.index;
    out.flags = chunk.flags;
    out.read_offset = chunk.read_offset;
    out.data = chunk.data.data();
    out.data_bytes = chunk.data.size();
    out.capacity_bytes = chunk.capacity_bytes;
    out.start_counter = chunk.start_counter;
    out.end_counter = chunk.end_counter;
    out.status = chunk.status;
    out.dropped = chunk.dropped;
    out.wptr = chunk.wptr;
    return out;
}

void forward(const Chunk& chunk, void* user) {
    const auto* client = static_cast<const Client*>(user);
    if (client->handler == nullptr) return;
    const wavetap_chunk out = chunk_of(chunk, *client);
    client->handler(&out, client->user);
}

wavetap_dispatch_info dispatch_of(const Dispatch& dispatch, const Client& client) {
    wavetap_dispatch_info out{};
    out.size = sizeof out;
    out.context.handle = client.context;
    out.agent = dispatch.agent;
    out.traceable = dispatch.traceable ? 1 : 0;
    out.dispatch = dispatch.number;
    out.queue = dispatch.queue;
    out.correlation_id = dispatch.correlation;
    out.external_correlation_id = dispatch.external_correlation;
    out.kernel = dispatch.kernel_object;
    out.kernel_name = dispatch.kernel;
    return out;
}

bool decide_dispatch(const Dispatch& dispatch, void* user, void** dispatch_user) {
    const auto* client = static_cast<const Client*>(user);
    *dispatch_user = client->user;
    const wavetap_dispatch_info out = dispatch_of(dispatch, *client);
    try {
        return client->dispatch(&out, client->user, dispatch_user) == WAVETAP_DISPATCH_TRACE;
    } catch (...) { // of a client that does not keep to its word
        return false;
    }
}

void forward_dispatch(const Chunk& chunk, const Dispatch& dispatch, void* user,
                      void* dispatch_user) {
    const auto* client = static_cast<const Client*>(user);
    if (client->handler == nullptr) return;
    wavetap_chunk out = chunk_of(chunk, *client);
    out.dispatch = dispatch.number;
    client->handler(&out, dispatch_user);
}

void end_dispatch(const Dispatch& dispatch, const Result<RunSummary>& summary, void* user,
                  void* dispatch_user) {
    const auto* client = static_cast<const Client*>(user);
    if (client->end == nullptr) return;
    const wavetap_dispatch_info out = dispatch_of(dispatch, *client);
    const wavetap_status status =
        summary ? WAVETAP_STATUS_SUCCESS : t_last_error.report(summary.error());
    try {
        client->end(&out, status, dispatch_user);
    } catch (...) { // the same
        t_last_error.keep("a dispatch end handler threw");
    }
}

constexpr DispatchHandlers kDispatchHandlers{decide_dispatch, forward_dispatch, end_dispatch};

/// An error that wavetap_session_intercept() could not return.
Result<void> check_attached(wavetap_session* session) {
    WAVETAP_CHECK_OK(check_session(session));
    wavetap::MutexLock lock(session->mutex);
    if (session->attach_error) return *session->attach_error;
    return {};
}

Result<void> check_agent(wavetap_session* session, std::uint32_t agent) {
    WAVETAP_CHECK_OK(check_session(session));
    if (agent < session->session->agents()) return {};
    return Error{ErrorCode::kNotFound, "there is no agent " + std::to_string(agent), "",
                 "agents count from 0"};
}

/// Keeps `client` where `configure`, which gets it, may point to; not if that fails.
template <class Configure>
Result<void> with_client(wavetap_session* session, std::uint32_t agent, const Client& client,
                         Configure configure) {
    wavetap::MutexLock lock(session->mutex);
    const std::pair key(client.context, agent);
    const bool known = session->clients.count(key) != 0;
    Client unused = client;
    Client& kept = known ? unused : session->clients[key];
    kept = client;
    Result<void> done = configure(kept);
    if (!done && !known) session->clients.erase(key);
    return done;
}

wavetap_parameters defaults() {
    const TraceParams params;
    wavetap_parameters out{};
    out.size = sizeof out;
    out.se_mask = params.se_mask;
    out.target_cu = params.target_cu;
    out.simd_mask = params.simd_mask;
    out.buffer_bytes = params.buffer_bytes;
    out.buffers = params.buffers;
    out.detail = params.detail;
    out.clock_markers = params.clock_markers;
    out.several_engines = params.several_engines;
    out.stream_rate = params.stream_rate;
    out.as_ready = params.as_ready;
    out.end_on_full = params.end_on_full;
    out.serialize_all = params.serialize_all;
    out.perf_period = params.perf_period;
    out.perf_exclude_mask = params.perf_exclude_mask;
    out.perf_counter_count = params.perf_counter_count;
    for (std::size_t i = 0; i < params.perf_counters.size(); ++i)
        out.perf_counters[i] = {params.perf_counters[i].id, params.perf_counters[i].simd_mask};
    return out;
}

Result<TraceParams> params_of(const wavetap_parameters* given) {
    if (given == nullptr) return null_argument("parameters");
    wavetap_parameters known = defaults();
    WAVETAP_CHECK_OK(
        copy_in(known, *given, "wavetap_parameters", "call wavetap_parameters_init()"));
    TraceParams params;
    params.se_mask = known.se_mask;
    params.target_cu = known.target_cu;
    params.simd_mask = known.simd_mask;
    params.buffer_bytes = known.buffer_bytes;
    params.buffers = known.buffers;
    params.detail = known.detail;
    params.clock_markers = known.clock_markers;
    params.several_engines = known.several_engines;
    params.stream_rate = known.stream_rate;
    params.as_ready = known.as_ready;
    params.end_on_full = known.end_on_full;
    params.serialize_all = known.serialize_all;
    params.perf_period = known.perf_period;
    params.perf_exclude_mask = known.perf_exclude_mask;
    params.perf_counter_count = known.perf_counter_count;
    for (std::size_t i = 0; i < params.perf_counters.size(); ++i)
        params.perf_counters[i] = {known.perf_counters[i].id, known.perf_counters[i].simd_mask};
    return params;
}

} // namespace

namespace wavetap::capture {

wavetap_session* wrap_session(std::unique_ptr<Clock> clock, std::unique_ptr<Session> session,
                              double deadline_scale) {
    auto* wrapped = new wavetap_session;
    wrapped->clock = std::move(clock);
    wrapped->session = std::move(session);
    wrapped->deadline_scale = deadline_scale;
    return wrapped;
}

double deadline_scale_of(wavetap_session* session) {
    return session->deadline_scale;
}

Session& session_of(wavetap_session* session) {
    return *session->session;
}

Result<void> check_session(const wavetap_session* session) {
    if (session == nullptr) return null_argument("session");
    return session->session->check_process();
}

void fail_attach(wavetap_session* session, const Error& error) {
    MutexLock lock(session->mutex);
    session->attach_error = error;
}

void set_close_hook(wavetap_session* session, void (*hook)(wavetap_session* session)) {
    MutexLock lock(session->mutex);
    session->close_hook = hook;
}

const Clock& clock_of(wavetap_session* session) {
    return *session->clock;
}

Result<void> attach_hubs(wavetap_session* session, std::vector<std::unique_ptr<AgentHub>> hubs) {
    if (session->session->agents() != 0)
        return Error{ErrorCode::kWrongState, "the session has its agents already", "", ""};
    for (auto& hub : hubs)
        session->session->add_agent(std::move(hub));
    return start_pending(session);
}

Result<void> start_pending(wavetap_session* session) {
    auto failures = session->session->attach();
    if (failures.empty()) return {};
    Error first = std::move(failures.front().error);
    if (failures.size() > 1)
        first.message += " (and " + std::to_string(failures.size() - 1) + " more failed)";
    return first;
}

LastError& last_error() noexcept {
    return t_last_error;
}

} // namespace wavetap::capture

extern "C" {

const char* wavetap_status_name(wavetap_status status) {
    return wavetap::status_name(status);
}

const char* wavetap_last_error(void) {
    return t_last_error.words();
}

uint32_t wavetap_version(void) {
    return WAVETAP_VERSION_MAJOR << 16 | WAVETAP_VERSION_MINOR;
}

wavetap_status wavetap_session_close(wavetap_session* session) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        void (*hook)(wavetap_session*) = nullptr;
        {
            wavetap::MutexLock lock(session->mutex);
            hook = std::exchange(session->close_hook, nullptr);
        }
        if (hook != nullptr) hook(session);
        auto closed = session->session->close();
        if (!closed && closed.error().code == ErrorCode::kWouldDeadlock) return closed;
        if (closed) delete session; // else a thread of it still runs
        return closed;
    });
}

wavetap_status wavetap_agent_count(wavetap_session* session, uint32_t* count) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        if (count == nullptr) return null_argument("count");
        *count = session->session->agents();
        return {};
    });
}

wavetap_status wavetap_agent_get_info(wavetap_session* session, uint32_t agent,
                                      wavetap_agent_info* info) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_agent(session, agent));
        if (info == nullptr) return null_argument("info");
        const AgentHub& hub = session->session->hub(agent);
        const AgentTopology& topology = hub.topology();
        wavetap_agent_info out{};
        std::strncpy(out.name, topology.gfx.c_str(), sizeof out.name - 1);
        out.shader_engines = engine_count(topology);
        out.cus_per_engine = topology.cus_per_engine;
        out.simds_per_cu = topology.simds_per_cu;
        std::strncpy(out.backend, hub.backend_name(), sizeof out.backend - 1);
        std::strncpy(out.packets, hub.packets_name(), sizeof out.packets - 1);
        return copy_out(info, out);
    });
}

wavetap_status wavetap_parameters_init(wavetap_parameters* parameters, size_t size) {
    return guarded([&]() -> Result<void> {
        if (parameters == nullptr) return null_argument("parameters");
        if (size < sizeof size || size > sizeof(wavetap_parameters))
            return Error{ErrorCode::kInvalidArgument, "this size is not known", "",
                         "pass sizeof(wavetap_parameters)"};
        wavetap_parameters all = defaults();
        all.size = size;
        std::memcpy(static_cast<void*>(parameters), &all, size);
        return {};
    });
}

wavetap_status wavetap_session_open(double deadline_scale, wavetap_session** session) {
    return guarded([&]() -> Result<void> {
        if (session == nullptr) return null_argument("session");
        if (!(deadline_scale > 0))
            return Error{ErrorCode::kInvalidArgument, "deadline_scale is not above 0", "", ""};
        *session = wrap_session(std::make_unique<wavetap::SteadyClock>(deadline_scale),
                                std::make_unique<Session>(), deadline_scale);
        return {};
    });
}

wavetap_status wavetap_session_set_idle_release(wavetap_session* session, uint64_t milliseconds) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        constexpr std::uint64_t kMost = 24ull * 3600 * 1000;
        if (milliseconds > kMost)
            return Error{ErrorCode::kInvalidArgument, "idle release is over a day", "", ""};
        for (std::uint32_t i = 0; i < session->session->agents(); ++i)
            session->session->hub(i).set_idle_release(std::chrono::milliseconds(milliseconds));
        return {};
    });
}

wavetap_status wavetap_context_create(wavetap_session* session, wavetap_context* context) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        if (context == nullptr) return null_argument("context");
        WAVETAP_TRY(const ContextHandle handle, session->session->create());
        context->handle = handle.value;
        return {};
    });
}

wavetap_status wavetap_context_configure(wavetap_session* session, wavetap_context context,
                                         uint32_t agent, const wavetap_parameters* parameters,
                                         wavetap_chunk_handler handler, void* user) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_attached(session));
        WAVETAP_TRY(const TraceParams params, params_of(parameters));
        const Client client{handler, user, context.handle, nullptr, nullptr};
        return with_client(session, agent, client, [&](Client& kept) {
            return session->session->configure({context.handle}, agent, params, forward, &kept);
        });
    });
}

wavetap_status wavetap_context_configure_dispatch(wavetap_session* session, wavetap_context context,
                                                  uint32_t agent,
                                                  const wavetap_parameters* parameters,
                                                  const wavetap_dispatch_handlers* handlers) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_attached(session));
        WAVETAP_TRY(const TraceParams params, params_of(parameters));
        if (handlers == nullptr) return null_argument("handlers");
        wavetap_dispatch_handlers known{};
        WAVETAP_CHECK_OK(copy_in(known, *handlers, "wavetap_dispatch_handlers",
                                 "set it to sizeof(wavetap_dispatch_handlers)"));
        if (known.dispatch == nullptr) return null_argument("handlers->dispatch");
        const Client client{known.chunk, known.user, context.handle, known.dispatch, known.end};
        return with_client(session, agent, client, [&](Client& kept) {
            return session->session->configure_dispatches({context.handle}, agent, params,
                                                          kDispatchHandlers, &kept);
        });
    });
}

wavetap_status wavetap_external_correlation_push(uint64_t id) {
    return guarded([&] { return push_external_correlation(id); });
}

wavetap_status wavetap_external_correlation_pop(uint64_t* id) {
    return guarded([&]() -> Result<void> {
        WAVETAP_TRY(const std::uint64_t popped, pop_external_correlation());
        if (id != nullptr) *id = popped;
        return {};
    });
}

uint64_t wavetap_external_correlation_id(void) {
    return external_correlation();
}

wavetap_status wavetap_context_start(wavetap_session* session, wavetap_context context) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_attached(session));
        return session->session->start({context.handle});
    });
}

wavetap_status wavetap_context_stop(wavetap_session* session, wavetap_context context) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        auto stopped = session->session->stop({context.handle});
        if (!stopped) return std::move(stopped.error());
        return {};
    });
}

wavetap_status wavetap_context_stop_async(wavetap_session* session, wavetap_context context,
                                          wavetap_stop_handler handler, void* user) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        return session->session->stop_async(
            {context.handle}, [context, handler, user](const Result<RunSummary>& stopped) {
                const wavetap_status status =
                    stopped ? WAVETAP_STATUS_SUCCESS : t_last_error.report(stopped.error());
                if (handler != nullptr) handler(context, status, user);
            });
    });
}

wavetap_status wavetap_context_is_running(wavetap_session* session, wavetap_context context,
                                          int* running) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        if (running == nullptr) return null_argument("running");
        WAVETAP_TRY(const bool answer, session->session->running({context.handle}));
        *running = answer ? 1 : 0;
        return {};
    });
}

wavetap_status wavetap_context_is_pending(wavetap_session* session, wavetap_context context,
                                          int* pending) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        if (pending == nullptr) return null_argument("pending");
        WAVETAP_TRY(const bool answer, session->session->pending({context.handle}));
        *pending = answer ? 1 : 0;
        return {};
    });
}

wavetap_status wavetap_context_destroy(wavetap_session* session, wavetap_context context) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_session(session));
        WAVETAP_CHECK_OK(session->session->destroy({context.handle}));
        wavetap::MutexLock lock(session->mutex);
        session->clients.erase(session->clients.lower_bound({context.handle, 0}),
                               session->clients.upper_bound({context.handle, UINT32_MAX}));
        return {};
    });
}

wavetap_status wavetap_code_object_loaded(wavetap_session* session, uint32_t agent, uint64_t id,
                                          uint64_t address, uint64_t bytes) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_agent(session, agent));
        return session->session->hub(agent).code_object_loaded({id, address, bytes});
    });
}

wavetap_status wavetap_code_object_unloaded(wavetap_session* session, uint32_t agent, uint64_t id) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_agent(session, agent));
        return session->session->hub(agent).code_object_unloaded(id);
    });
}

wavetap_status wavetap_get_statistics(wavetap_session* session, uint32_t agent,
                                      wavetap_statistics* statistics) {
    return guarded([&]() -> Result<void> {
        WAVETAP_CHECK_OK(check_agent(session, agent));
        if (statistics == nullptr) return null_argument("statistics");
        const HubStatistics s = session->session->hub(agent).statistics();
        const RingCounts rings = session->session->ring_counts(agent);
        wavetap_statistics out{};
        out.contexts = session->session->contexts_of(agent);
        out.runs = s.runs;
        out.starts = s.starts;
        out.stops = s.stops;
        out.refused = s.refused;
        out.serialized = s.serialized;
        out.queues_created = s.queues_created;
        out.output_slots = s.output_slots;
        out.output_bytes = s.output_bytes;
        out.staging_bytes = s.staging_bytes;
        out.control_bytes = s.control_bytes;
        out.host_bytes_per_idle_context =
            session->session->host_bytes_per_context() + sizeof(Client) + 4 * sizeof(void*);
        out.threads = s.threads;
        out.flips = s.flips;
        out.chunks = s.chunks;
        out.bytes_delivered = s.bytes_delivered;
        out.bytes_lost = s.bytes_lost;
        out.gaps = s.gaps;
        out.markers = s.markers;
        out.deadline_misses = s.deadline_misses;
        out.handler_exceptions = s.handler_exceptions;
        out.cpu_full = s.cpu_full;
        out.gpu_full = s.gpu_full;
        out.halted = s.halted;
        out.ring_waits = rings.waits;
        out.ring_crowded = rings.crowded;
        out.ring_full = rings.full;
        return copy_out(statistics, out);
    });
}

} // extern "C"
