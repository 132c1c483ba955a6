#include "bench/ranks/emulated_cluster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <rollcall/error.hpp>
#include <thread>
#include <utility>

#include "bench/ranks/companion.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "launcher/processes/spawn.hpp"

extern char** environ;

namespace rollcall::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Even a thousand hosts on a busy machine are made in less time.
constexpr auto kUpLimit = std::chrono::minutes(2);
/// cluster.sh itself kills processes that have not ended after some seconds.
constexpr auto kDownLimit = std::chrono::seconds(30);
constexpr int kExitUsage = 2;

[[noreturn]] void fail(const char* what, int error) {
    throw Error(ErrorCode::state, fmt::format("the cluster cannot be made: {}: {}", what, error_text(error)));
}

std::filesystem::path find_program(const char* name) { return find_companion("cluster", name, "build again, or install all of Rollcall"); }

/// Reads until the end of the first line, or the end of the stream.
std::string read_line(int descriptor, Clock::time_point until) {
    std::string text;
    for (char letter = 0; text.empty() || text.back() != '\n';) {
        pollfd entry{descriptor, POLLIN, 0};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        const int ready = left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || ::read(descriptor, &letter, 1) <= 0) break;
        text += letter;
    }
    return text;
}

/// Waits for a process to end, and kills it after the limit. Returns its status.
int reap(pid_t process, Clock::duration limit) {
    int status = 0;
    for (const auto until = Clock::now() + limit; ::waitpid(process, &status, WNOHANG) == 0;) {
        if (Clock::now() > until) {
            ::kill(process, SIGKILL);
            ::waitpid(process, &status, 0);
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Ends open_pipe() {
    Ends ends = make_pipe();
    if (!ends) fail("no pipe", errno);
    return ends;
}

}  // namespace

std::vector<launcher::Host> cluster_hosts(int size, int ranks) {
    std::vector<launcher::Host> hosts;
    for (int host = 0; host < size; ++host) {
        const int slots = ranks / size + (host < ranks % size ? 1 : 0);
        if (slots > 0) hosts.push_back({.name = fmt::format("node{}", host), .slots = slots, .slots_given = true});
    }
    return hosts;
}

EmulatedCluster::EmulatedCluster(int size, std::string rate)
    : size_(size), rate_(std::move(rate)), name_(fmt::format("bench-{}", ::getpid())), script_(find_program("cluster.sh")) {}

EmulatedCluster::~EmulatedCluster() {
    if (holder_ < 0) return;
    input_.reset();
    reap(holder_, kDownLimit);
}

void EmulatedCluster::up() {
    if (holder_ >= 0) return;
    Ends input = open_pipe(), output = open_pipe(), errors = open_pipe();
    const std::vector<std::string> words = {script_.string(), "--name", name_, "up", std::to_string(size_), "--rate", rate_, "--until-eof"};
    const std::vector<char*> argv = launcher::pointers(words);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.first.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output.second.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors.second.get(), STDERR_FILENO);
    // The process gets a session of its own. Otherwise a signal from the keyboard, which ends a job, would also remove its hosts.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t process = -1;
    const int refused = ::posix_spawn(&process, argv[0], &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (refused != 0) fail(argv[0], refused);
    output.second.reset();
    errors.second.reset();
    if (!read_line(output.first.get(), Clock::now() + kUpLimit).empty()) {
        holder_ = process;
        input_ = std::move(input.second);
        return;
    }
    input.second.reset();
    const int code = reap(process, kDownLimit);
    std::string why;
    const auto until = Clock::now() + std::chrono::seconds(1);
    for (std::string line; !(line = read_line(errors.first.get(), until)).empty();) why += line;
    while (!why.empty() && why.back() == '\n') why.pop_back();
    if (why.empty()) why = fmt::format("{} did not make the cluster (exit code {})", script_.string(), code);
    throw Error(code == kExitUsage ? ErrorCode::invalid_argument : ErrorCode::state, why);
}

std::string EmulatedCluster::agent() const {
    return fmt::format("{} --name {} exec {{host}}", launcher::shell_word(script_.string()), name_);
}

std::filesystem::path EmulatedCluster::remote_shell() const { return find_program("cluster-shell.sh"); }

std::vector<std::string> EmulatedCluster::at_head(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {script_.string(), "--name", name_, "exec", "head"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

std::filesystem::path EmulatedCluster::directory() const { return "/run/rollcall-cluster-" + name_; }

const char* EmulatedCluster::network() { return "10.77.0.0/16"; }

}  // namespace rollcall::bench
