/// \file
/// The command `rollcall`. It reports every error in one line on standard error. The exit code is 2 for wrong usage, and 1 for other
/// errors.
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bench/command.hpp"
#include "bench/simulate.hpp"
#include "bench/tune.hpp"
#include "command/info.hpp"
#include "launcher/command.hpp"
#include "support/usage.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int fail(int exit_code, std::string_view sentence) {
    std::cout.flush();
    std::cerr << "rollcall: " << rollcall::usage::one_line(sentence) << std::endl;
    return exit_code;
}

/// Returns the option that sets the sizes of the data, as the user gave it. Returns "what was asked" if there is none.
std::string sizes_asked(int argc, char** argv) {
    constexpr std::string_view kOptions[] = {"--bytes", "--block", "--blocks"};
    std::string asked = "what was asked";
    for (int i = 1; i < argc; ++i)
        for (const std::string_view option : kOptions) {
            const std::string_view word = argv[i];
            if (word == option && i + 1 < argc) asked = fmt::format("{} {}", word, argv[i + 1]);
            if (word.starts_with(option) && word.substr(option.size()).starts_with('=')) asked = word;
        }
    return asked;
}

int exit_code_of(rollcall::ErrorCode code) {
    using rollcall::ErrorCode;
    return code == ErrorCode::invalid_argument || code == ErrorCode::invalid_setting ? kWrongUsage : kFailed;
}

int run(int argc, char** argv) {
    rollcall::usage::Command root("Runs parallel programs, and measures their communication when processes arrive late.", "rollcall");
    root.set_version_flag("--version", "rollcall " ROLLCALL_COMMAND_VERSION);
    root.require_subcommand(1);
    int exit_code = 0;
    rollcall::launcher::add_run_command(root, exit_code);
    rollcall::bench::add_bench_command(root, exit_code);
    rollcall::bench::add_simulate_command(root);
    rollcall::bench::add_tune_command(root, exit_code);
    rollcall::command::add_info_command(root);
    try {
        root.parse(argc, argv);
    } catch (const rollcall::usage::WrongUsage& error) {
        return fail(kWrongUsage, error.what());
    }
    if (!std::cout.flush()) return fail(kFailed, "the output cannot be written");
    return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const rollcall::Error& error) {
        return fail(exit_code_of(error.code()), error.what());
    } catch (const std::bad_alloc&) {
        return fail(kFailed, fmt::format("there is not enough memory for {}: give smaller sizes or fewer ranks", sizes_asked(argc, argv)));
    } catch (const std::length_error&) {
        return fail(kWrongUsage, fmt::format("{}: a size is larger than any memory; give a smaller one", sizes_asked(argc, argv)));
    } catch (const std::exception& error) {
        return fail(kFailed, error.what());
    }
}
