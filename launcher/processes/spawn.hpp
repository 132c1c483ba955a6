/// \file
/// Starts the process of one rank.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::launcher {

/// The state that the launcher changed for itself. A rank gets this state as the launcher's caller had it.
struct Inherited {
    sigset_t mask{};
    std::array<struct sigaction, NSIG> actions{};
    std::array<bool, NSIG> changed{};
    std::optional<rlimit> files;  ///< As it was, when it was raised.

    /// Saves the present action of a signal and sets another one.
    void change(int signal, void (*handler)(int));
    /// Saves the limit of open files and raises it as far as it is allowed. An agent takes two descriptors (three until
    /// it has answered), a rank four, or five if its input comes through the launcher.
    void raise_files();
    /// Restores everything. Async-signal-safe.
    void restore() const;
};

/// The path of a program, as execvp would find it with the PATH of `environment`, or why it cannot be started.
struct Found {
    std::string path;
    int error = 0;  ///< ENOENT, EACCES, ...
};
Found find_program(const std::string& name, const std::vector<std::string>& environment);

/// What the child says when it cannot start the program of a rank.
struct SpawnFailure {
    enum class Step : int { descriptors, binding, program };
    int rank = 0;
    int error = 0;  ///< errno
    Step step = Step::program;
};

/// Everything that is needed to start the process of a rank. The caller keeps the descriptors.
struct Spawn {
    const char* path = nullptr;
    const std::vector<std::string>* argv = nullptr;
    const std::vector<std::string>* environment = nullptr;
    int input = -1;
    int output = -1;
    int error = -1;
    int bootstrap = -1;  ///< Passed on under its own number.
    int report = -1;     ///< Close-on-exec; gets a SpawnFailure when the program cannot be started.
    int rank = 0;
    std::vector<int> processors;  ///< Those that the rank may use; empty: as the launcher.
    const Inherited* inherited = nullptr;
};

/// Forks and executes. The process leads its own process group and is killed when the calling thread dies. Returns
/// its id, or -1 with errno.
pid_t spawn(const Spawn& what);

/// The arguments or the environment in the form that exec() takes. They point into `texts`, and are not changed there.
std::vector<char*> pointers(const std::vector<std::string>& texts);
/// Returns `base` with the K=V of `more` set. Later ones replace earlier ones.
std::vector<std::string> with_environment(std::vector<std::string> base, const std::vector<std::string>& more);
/// Quotes a word so that a shell reads it as one word.
std::string shell_word(const std::string& word);
/// Returns the environment of this process, without the variables that an outer `rollcall run` has set.
std::vector<std::string> own_environment();

}  // namespace rollcall::launcher
