/// \file
/// Starting the process of one rank.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::launcher {

/// What the launcher changed for itself and a rank gets as the launcher's caller had it.
struct Inherited {
    sigset_t mask{};
    std::array<struct sigaction, NSIG> actions{};
    std::array<bool, NSIG> changed{};
    std::optional<rlimit> files;  ///< As it was, when it was raised.

    /// Notes the present action of a signal and sets another.
    void change(int signal, void (*handler)(int));
    /// Notes the limit of open files and raises it as far as it may be: two for each agent, five for each rank.
    void raise_files();
    /// Puts all back. Async-signal-safe.
    void restore() const;
};

/// Where a program is, as execvp would find it with the PATH of `environment`, or why it cannot be started.
struct Found {
    std::string path;
    int error = 0;  ///< ENOENT, EACCES, ...
};
Found find_program(const std::string& name, const std::vector<std::string>& environment);

/// Everything a rank's process is made from. The descriptors stay the caller's.
struct Spawn {
    const char* path = nullptr;
    const std::vector<std::string>* argv = nullptr;
    const std::vector<std::string>* environment = nullptr;
    int input = -1;
    int output = -1;
    int error = -1;
    int bootstrap = -1;  ///< Passed on under its own number.
    int report = -1;     ///< Close-on-exec; gets `rank` and errno, as two ints, when the program cannot be started.
    int rank = 0;
    std::vector<int> processors;  ///< Those it may use; empty: as the launcher.
    const Inherited* inherited = nullptr;
};

/// Forks and executes. The process leads its own process group and is killed when the calling thread dies. Returns its
/// id, or -1 with errno.
pid_t spawn(const Spawn& what);

/// `base` with the K=V of `more` set, later ones over earlier ones.
std::vector<std::string> with_environment(std::vector<std::string> base, const std::vector<std::string>& more);
/// A word as a shell reads it.
std::string shell_word(const std::string& word);
/// This process's environment, without what an outer launcher of ours has told it.
std::vector<std::string> own_environment();

}  // namespace rollcall::launcher
