// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>

extern char** environ;

namespace wavetap::cli {

namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP};

/// The program that gets our signals; 0 = none. A handler can only see a global.
std::atomic<pid_t> forward_to{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

void forward_signal(int number, siginfo_t* info, void*) {
    const int kept = errno;
    const pid_t child = forward_to.load();
    const bool from_terminal = info->si_code == SI_KERNEL; // the whole group got it
    if (child > 0 && !from_terminal) ::kill(child, number);
    errno = kept;
}

Error start_error(const std::string& program, int error_number) {
    const std::string why = std::generic_category().message(error_number);
    if (error_number == ENOENT || error_number == ENOTDIR)
        return Error{ErrorCode::kNotFound, "there is no program '" + program + "'", why,
                     program.find('/') == std::string::npos
                         ? "it is looked for in PATH; write ./" + program +
                               " for one in this folder"
                         : ""};
    if (error_number == EACCES || error_number == ENOEXEC || error_number == EISDIR)
        return Error{ErrorCode::kUnavailable, "'" + program + "' cannot be executed", why, ""};
    return Error{ErrorCode::kInternal, "cannot start '" + program + "'", why, ""};
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (const std::string& text : strings)
        result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> environment_with(const Variables& variables) {
    std::vector<std::string> result;
    for (const auto& [name, value] : variables)
        result.push_back(name + "=" + value);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        const bool replaced = std::any_of(variables.begin(), variables.end(),
                                          [&](const auto& v) { return v.first == name; });
        if (!replaced) result.emplace_back(text);
    }
    return result;
}

/// File actions and attributes of posix_spawn, freed at the end of the scope.
struct SpawnPlan {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    SpawnPlan() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
};

Result<pid_t> spawn(const SpawnPlan& plan, const std::vector<std::string>& argv,
                    const Variables& variables) {
    const std::vector<std::string> environment = environment_with(variables);
    pid_t child = 0;
    const int code = ::posix_spawnp(&child, argv[0].c_str(), &plan.actions, &plan.attributes,
                                    pointers(argv).data(), pointers(environment).data());
    if (code != 0) return start_error(argv[0], code);
    return child;
}

bool readable_until(int descriptor, const Clock& clock, TimePoint deadline) {
    while (true) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.now()).count();
        struct pollfd poller = {descriptor, POLLIN, 0};
        const int ready = ::poll(&poller, 1, static_cast<int>(std::max<long>(left, 0)));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

int wait_status(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return 125;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

int exit_code_of(const Error& error) {
    if (error.code == ErrorCode::kNotFound) return 127;
    if (error.code == ErrorCode::kUnavailable) return 126;
    return 125;
}

Error become(const std::vector<std::string>& argv, const Variables& variables) {
    for (const auto& [name, value] : variables)
        ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(argv[0].c_str(), pointers(argv).data());
    return start_error(argv[0], errno);
}

Result<int> run_to_end(const std::vector<std::string>& argv, const RunOptions& options) {
    SpawnPlan plan;
    if (options.stdout_to_stderr)
        ::posix_spawn_file_actions_adddup2(&plan.actions, STDERR_FILENO, STDOUT_FILENO);

    // Our signals wait until the handlers know the child; the child starts with the old mask.
    sigset_t ours;
    sigset_t before;
    sigemptyset(&ours);
    for (const int number : kForwarded)
        sigaddset(&ours, number);
    ::sigprocmask(SIG_BLOCK, &ours, &before);
    ::posix_spawnattr_setsigmask(&plan.attributes, &before);
    ::posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGMASK);
    Result<pid_t> child = spawn(plan, argv, options.variables);
    struct sigaction old[std::size(kForwarded)] = {};
    if (child) {
        forward_to.store(*child);
        struct sigaction action = {};
        action.sa_sigaction = forward_signal;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        for (std::size_t i = 0; i < std::size(kForwarded); ++i)
            ::sigaction(kForwarded[i], &action, &old[i]);
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (!child) return child.error();

    const int status = wait_status(*child);
    forward_to.store(0);
    for (std::size_t i = 0; i < std::size(kForwarded); ++i)
        ::sigaction(kForwarded[i], &old[i], nullptr);
    return status;
}

Result<Captured> run_captured(const std::vector<std::string>& argv, const Variables& variables,
                              const Clock& clock, Duration limit) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return Error{ErrorCode::kLimit, "cannot make a pipe", "", ""};
    SpawnPlan plan;
    ::posix_spawn_file_actions_adddup2(&plan.actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&plan.actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    Result<pid_t> child = spawn(plan, argv, variables);
    ::close(ends[1]);
    Captured captured;
    bool timed_out = false;
    const TimePoint deadline = clock.deadline_after(limit);
    while (child) {
        timed_out = !readable_until(ends[0], clock, deadline);
        if (timed_out) break;
        char buffer[4096];
        const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
        if (count <= 0) break;
        captured.out.append(buffer, static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    if (!child) return child.error();
    const int ended = static_cast<int>(::syscall(SYS_pidfd_open, *child, 0));
    if (!timed_out && ended >= 0) timed_out = !readable_until(ended, clock, deadline);
    if (ended >= 0) ::close(ended);
    if (timed_out) ::kill(*child, SIGKILL);
    captured.status = wait_status(*child);
    if (timed_out)
        return Error{ErrorCode::kTimeout, "'" + argv[0] + "' did not end in time and was stopped",
                     "", ""};
    return captured;
}

} // namespace wavetap::cli
