/// \file
/// A `rollcall run` under test: its output, its exit code, and its leftovers.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/harness.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Words = std::vector<std::string>;

/// The command under test, and a program that uses only its bootstrap.
extern const std::string kCommand;
extern const std::string kProbe;
/// No test waits longer for anything. Only a failing test waits that long.
inline constexpr auto kLimit = seconds(20);

/// Returns the state and the parent of a process, or 0 when it is gone.
inline std::pair<char, pid_t> status_of(pid_t process) {
    const std::string text = contents(fmt::format("/proc/{}/stat", process));
    const auto end = text.rfind(')');
    if (end == std::string::npos) return {'\0', 0};
    char state = '\0';
    int parent = 0;
    std::istringstream(text.substr(end + 1)) >> state >> parent;
    return {state, parent};
}

inline std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> found;
    for (const pid_t process : processes()) {
        const auto [state, its] = status_of(process);
        if (its == parent && state != 'Z') found.push_back(process);
    }
    return found;
}

inline std::set<std::string> shared_memory() {
    std::set<std::string> names;
    if (DIR* const directory = ::opendir("/dev/shm")) {
        while (const dirent* entry = ::readdir(directory)) names.insert(entry->d_name);
        ::closedir(directory);
    }
    return names;
}

inline Words lines_of(const std::string& text) {
    Words lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

struct Result {
    int code = -1;   ///< As a shell gives it.
    int signal = 0;  ///< That ended the command itself.
    std::string out;
    std::string error;
};

/// One `rollcall run`. A mark in its environment is inherited by everything that it starts.
class Launched {
  public:
    struct Given {
        int input = -1;   ///< /dev/null unless given.
        int output = -1;  ///< Captured unless given.
        bool closed_output = false;
        int error = -1;  ///< Captured unless given.
        /// The command leads a process group, which a shell could stop and continue (`group`), or a session, whose terminal is its input
        /// if that is one (`session`).
        enum class Leads { nothing, group, session } leads = Leads::nothing;
        rlim_t soft_files = 0;  ///< Limits of open files, unless 0.
        rlim_t hard_files = 0;
    };

    explicit Launched(const Words& arguments) : Launched(arguments, Given()) {}
    Launched(const Words& arguments, Given given) {
        static int number = 0;
        mark_ = fmt::format("ROLLCALL_TEST_MARK={}-{}", ::getpid(), ++number);
        int out[2];
        int error[2];
        int started[2];
        if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(error, O_CLOEXEC) != 0 || ::pipe2(started, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipes");
        Words words{kCommand, "run"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        process_ = ::fork();
        if (process_ == 0) {
            ::putenv(mark_.data());
            ::signal(SIGHUP, SIG_DFL);  // Tests may run under nohup, and a job under nohup would keep ignoring it.
            const int input = given.input >= 0 ? given.input : ::open("/dev/null", O_RDONLY);
            ::dup2(input, 0);
            ::dup2(given.output >= 0 ? given.output : out[1], 1);
            ::dup2(given.error >= 0 ? given.error : error[1], 2);
            if (given.leads == Given::Leads::group) ::setpgid(0, 0);
            if (given.leads == Given::Leads::session) {
                ::setsid();
                if (::isatty(0) != 0) ::ioctl(0, TIOCSCTTY, 0);
            }
            if (given.closed_output) ::close(1);
            rlimit files{};
            ::getrlimit(RLIMIT_NOFILE, &files);
            if (given.hard_files > 0) files.rlim_max = files.rlim_cur = given.hard_files;
            if (given.soft_files > 0) files.rlim_cur = given.soft_files;
            ::setrlimit(RLIMIT_NOFILE, &files);
            ::execv(argv[0], argv.data());
            ::_exit(99);
        }
        ::close(out[1]);
        ::close(error[1]);
        out_ = out[0];
        error_ = error[0];
        // Until the child is the command, it does not have the mark, and left() would miss it.
        ::close(started[1]);
        char nothing = 0;
        while (::read(started[0], &nothing, 1) < 0 && errno == EINTR) {
        }
        ::close(started[0]);
    }
    ~Launched() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
        ::close(out_);
        ::close(error_);
        EXPECT_TRUE(eventually([this] { return left().empty(); })) << "left: " << fmt::format("{}", left().size());
    }
    Launched(const Launched&) = delete;
    Launched& operator=(const Launched&) = delete;

    pid_t process() const { return process_; }
    void signal(int number) const { ::kill(process_, number); }

    /// Returns the guard: the only child of the command. -1: it was not found.
    pid_t guard() const {
        pid_t found = -1;
        eventually([&] {
            const auto all = children_of(process_);
            if (all.size() == 1) found = all[0];
            return found > 0;
        });
        return found;
    }
    /// kill() would take -1 for all processes of the machine.
    void signal_guard(int number) const {
        const pid_t found = guard();
        ASSERT_GT(found, 0) << "the guard was not found";
        ::kill(found, number);
    }

    /// Reads until `text` has come `times` times on standard output.
    bool saw(const std::string& text, int times = 1) { return saw(result_.out, text, times); }
    /// Does the same on standard error.
    bool was_told(const std::string& text, int times = 1) { return saw(result_.error, text, times); }

    const Result& so_far() const { return result_; }
    Result finish() {
        const auto deadline = Clock::now() + kLimit;
        while (Clock::now() < deadline && read(milliseconds(100))) {
        }
        int status = 0;
        const bool ended = eventually([&] { return ::waitpid(process_, &status, WNOHANG) == process_; });
        EXPECT_TRUE(ended) << "the launcher did not end; so far: " << result_.out << result_.error;
        if (ended) {
            process_ = -1;
            result_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            result_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        return result_;
    }

    /// Returns the processes that carry the mark.
    std::vector<pid_t> left() const {
        std::vector<pid_t> found;
        for (const pid_t process : processes()) {
            const char state = status_of(process).first;
            if (state == 'Z' || state == '\0') continue;
            if (has_entry(process, mark_)) found.push_back(process);
        }
        return found;
    }

  private:
    bool saw(const std::string& where, const std::string& text, int times) {
        const auto deadline = Clock::now() + kLimit;
        while (count(where, text) < times) {
            if (Clock::now() > deadline || !read(milliseconds(100))) return count(where, text) >= times;
        }
        return true;
    }

    /// Returns false when both streams have ended.
    bool read(milliseconds limit) {
        pollfd entries[2] = {{out_open_ ? out_ : -1, POLLIN, 0}, {error_open_ ? error_ : -1, POLLIN, 0}};
        if (!out_open_ && !error_open_) return false;
        ::poll(entries, 2, static_cast<int>(limit.count()));
        char chunk[65536];
        if (entries[0].revents != 0) {
            const ssize_t bytes = ::read(out_, chunk, sizeof chunk);
            if (bytes > 0) result_.out.append(chunk, static_cast<std::size_t>(bytes));
            out_open_ = bytes > 0;
        }
        if (entries[1].revents != 0) {
            const ssize_t bytes = ::read(error_, chunk, sizeof chunk);
            if (bytes > 0) result_.error.append(chunk, static_cast<std::size_t>(bytes));
            error_open_ = bytes > 0;
        }
        return out_open_ || error_open_;
    }

    std::string mark_;
    pid_t process_ = -1;
    int out_ = -1;
    int error_ = -1;
    bool out_open_ = true;
    bool error_open_ = true;
    Result result_;
};

inline Result run(const Words& arguments) { return Launched(arguments).finish(); }

/// A shell script that stands first in PATH under a name while this object lives.
class FirstInPath {
  public:
    FirstInPath(const std::string& name, const std::string& script)
        : directory_(fmt::format("{}/rollcall-path-{}-{}", testing::TempDir(), name, ::getpid())), path_(std::getenv("PATH")) {
        std::filesystem::create_directory(directory_);
        const std::string file = directory_ + "/" + name;
        std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
        ::chmod(file.c_str(), 0755);
        ::setenv("PATH", (directory_ + ":" + path_).c_str(), 1);
    }
    ~FirstInPath() {
        ::setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(directory_);
    }
    FirstInPath(const FirstInPath&) = delete;
    FirstInPath& operator=(const FirstInPath&) = delete;

  private:
    std::string directory_;
    std::string path_;
};

/// Returns the arguments for `rollcall run -n ranks probe steps...`.
inline Words probe(int ranks, const Words& steps, const Words& options = {}) {
    Words words{"-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(kProbe);
    words.insert(words.end(), steps.begin(), steps.end());
    return words;
}

/// A remote shell that stays between the launcher and its agent, as ssh does, and that knows the host's name.
inline const std::string kShell = "sh -c 'ROLLCALL_TEST_HOST=$0 \"$@\"; exit $?' {host}";

/// The words that start a program on these hosts, which are all this one.
inline Words on(const std::string& hosts, const Words& options, const Words& program) {
    Words words{"--hosts", hosts, "--agent", kShell};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), program.begin(), program.end());
    return words;
}
inline Words shell(const std::string& script) { return {"sh", "-c", script}; }

/// The launcher notes a file in /dev/shm soon after it has appeared. On a busy machine this takes longer, and nothing tells when it is
/// done. `run_job` runs a job that makes this file and is ended after a time. It is called with longer and longer times until the file has
/// been removed. Returns whether it ever was.
inline bool is_removed(const std::string& name, const std::function<void(milliseconds)>& run_job) {
    for (milliseconds time{50}; time < std::chrono::seconds(20) && !testing::Test::HasFailure(); time *= 2) {
        run_job(time);
        if (!shared_memory().contains(name.substr(1))) return true;
        ::unlink(("/dev/shm" + name).c_str());
    }
    return false;
}

}  // namespace rollcall::test
