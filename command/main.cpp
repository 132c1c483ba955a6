/// \file
/// The command `rollcall`. It reports every error in one line on standard error. The exit code is 2 for wrong usage, and 1 for other
/// errors.
#include <unistd.h>

#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bench/commands/command.hpp"
#include "bench/commands/simulate.hpp"
#include "bench/commands/tune.hpp"
#include "bench/options/asked_sizes.hpp"
#include "command/info.hpp"
#include "launcher/command.hpp"
#include "support/usage.hpp"

namespace {

using rollcall::usage::exit_code_of;
using rollcall::usage::kFailed;
using rollcall::usage::kWrongUsage;

int fail(int exit_code, std::string_view sentence) {
    std::cout.flush();
    std::cerr << "rollcall: " << rollcall::usage::one_line(sentence) << std::endl;
    return exit_code;
}

/// Returns the option whose size this machine cannot hold. Empty if there is none, and the memory went elsewhere.
std::string impossible_size(int argc, char** argv) {
    const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || bytes <= 0 || argc < 2) return "";
    return rollcall::bench::size_beyond(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)),
                                        static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes));
}

int fail_for_memory(int argc, char** argv) {
    const std::string size = impossible_size(argc, argv);
    return fail(kFailed, size.empty() ? "there is not enough memory for what was asked: give smaller sizes, or fewer ranks or iterations"
                                      : fmt::format("there is not enough memory for {}: give smaller sizes or fewer ranks", size));
}

int fail_for_length(int argc, char** argv) {
    const std::string size = impossible_size(argc, argv);
    return fail(kWrongUsage, size.empty() ? "what was asked is larger than any memory; give smaller sizes, or fewer ranks or iterations"
                                          : fmt::format("{}: a size is larger than any memory; give a smaller one", size));
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
    } catch (const rollcall::usage::EarlyEnd& error) {
        return fail(error.exit_code(), error.what());
    } catch (const rollcall::Error& error) {
        return fail(exit_code_of(error.code()), error.what());
    } catch (const std::bad_alloc&) {
        return fail_for_memory(argc, argv);
    } catch (const std::length_error&) {
        return fail_for_length(argc, argv);
    } catch (const std::exception& error) {
        return fail(kFailed, error.what());
    }
}
