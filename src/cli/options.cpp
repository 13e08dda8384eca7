// SPDX-FileCopyrightText: 2026 The wavetap authors
// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include "base/task_pool.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace wavetap::cli {
namespace {

bool takes_program(const std::string& command) {
    return command == "run" || command == "record";
}

/// Shows --json as it is written (its value needs the equals sign), and where the program stands.
class HelpFormatter : public CLI::Formatter {
  public:
    std::string make_usage(const CLI::App* app, std::string) const override {
        std::string usage = CLI::Formatter::make_usage(
            app, app->get_parent() == nullptr ? "wavetap" : "wavetap " + app->get_name());
        if (takes_program(app->get_name()))
            usage.insert(usage.find_last_not_of('\n') + 1, " -- APP [ARG...]");
        return usage;
    }
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name = CLI::Formatter::make_option_name(option, is_positional);
        const std::size_t at = name.find("{-}");
        if (at != std::string::npos) name.replace(at, 3, "[=FILE]");
        return name;
    }
};

constexpr const char* kDescription =
    "wavetap records, decodes and explains thread traces (ATT, SQTT) of AMD GPUs.";
constexpr const char* kFooter = R"(Examples:
  wavetap doctor                                       what is here, what is missing
  wavetap record --gpu soft:gfx90a -- ./saxpy          trace a program on the software GPU
  wavetap report                                       hot spots of the newest trace
`wavetap COMMAND --help` shows options and examples of a command.
Exit codes: 0 good; 1 the answer is no; 2 wrong use or unreadable input. `run` and `record` return
the program's own code (128+n for a signal), 125 if wavetap itself failed, 126 / 127 if the program
cannot be executed / is not there.)";

std::string selected_command(const CLI::App& app) {
    const auto commands = app.get_subcommands();
    return commands.empty() ? "wavetap" : "wavetap " + commands.front()->get_name();
}

int usage_error(const CLI::App& app, std::string message, std::string hint = "") {
    std::replace(message.begin(), message.end(), '\n', ' ');
    if (hint.empty()) hint = "`" + selected_command(app) + " --help` shows the options";
    return fail({ErrorCode::kInvalidArgument, std::move(message), "", std::move(hint)}, kUsage);
}

bool known_command(const CLI::App& app, const std::string& name) {
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(commands.begin(), commands.end(),
                       [&](const CLI::App* command) { return command->get_name() == name; });
}

} // namespace

Command::Command(CLI::App& app, const char* name, const char* text)
    : command_(app.add_subcommand(name, text)) {}

void Command::option(const char* names, std::string& value, const char* text, const char* type) {
    CLI::Option* option = command_->add_option(names, value, text);
    if (*type != 0) option->type_name(type);
}

void Command::option(const char* names, std::vector<std::string>& values, const char* text) {
    command_->add_option(names, values, text);
}

void Command::option(const char* names, std::size_t& value, const char* text, const char* type) {
    command_->add_option(names, value, text)->type_name(type);
}

void Command::required(const char* names, std::string& value, const char* text, const char* type) {
    command_->add_option(names, value, text)->type_name(type)->required();
}

void Command::flag(const char* names, bool& value, const char* text) {
    command_->add_flag(names, value, text);
}

void Command::json_option(JsonOption& json) {
    command_->add_flag("--json{-}", json.file, "print JSON, or write it to FILE");
}

void Command::threads_option(unsigned& threads) {
    command_
        ->add_option("--threads", threads,
                     "threads that decode (default: one for each processor); changes no output")
        ->type_name("N")
        ->check(CLI::Range(0U, TaskPool::kMaxThreads));
}

void Command::footer(const char* text) {
    command_->footer(text);
}

void Command::hide() {
    command_->group("");
}

void Command::callback(std::function<void()> run) {
    command_->callback(std::move(run));
}

int run_command_line(std::vector<std::string> arguments) {
    Session session;
    const auto separator = std::find(arguments.begin(), arguments.end(), "--");
    const bool has_program = separator != arguments.end();
    if (has_program) {
        session.program.assign(separator + 1, arguments.end());
        arguments.erase(separator, arguments.end());
    }

    CLI::App app(kDescription, "wavetap");
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(kFooter);
    app.set_version_flag("--version", "wavetap " WAVETAP_VERSION);
    app.require_subcommand(1);
    add_doctor(app, session);
    add_probe(app, session);
    add_run(app, session);
    add_env(app, session);
    add_record(app, session);
    add_health(app, session);
    add_verify(app, session);
    add_report(app, session);
    add_decode(app, session);
    add_export(app, session);
    add_soak(app, session);

    if (arguments.empty()) return usage_error(app, "no command given");
    if (arguments.front().front() != '-' && !known_command(app, arguments.front()))
        return usage_error(app, "there is no command '" + arguments.front() + "'");
    const std::string command = arguments.front();
    if (has_program && !takes_program(command))
        return usage_error(app, "only `run` and `record` take a program behind --");
    std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back
    try {
        app.parse(arguments);
    } catch (const CLI::Success& request) { // --help, --version
        return app.exit(request);
    } catch (const CLI::ParseError& error) {
        const bool stray_program = takes_program(command) && !has_program &&
                                   dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
        return usage_error(app, error.what(),
                           stray_program ? "the program stands behind --, as in `wavetap " +
                                               command + " --gpu soft:gfx90a -- ./saxpy`"
                                         : "");
    }
    return session.status;
}

} // namespace wavetap::cli
