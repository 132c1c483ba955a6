#include "tests/process/harness.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <sstream>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rollcall::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A job that its launcher does not end is killed after this time.
constexpr auto kLimit = seconds(240);
// Words of shared memory between the ranks of a job; see ranks/scene.hpp.
constexpr off_t kSharedBytes = 64 * 1024;

// Returns the living processes with this entry in their environment.
std::vector<pid_t> marked(const std::string& mark) {
    std::vector<pid_t> found;
    for (const pid_t process : processes())
        if (has_entry(process, mark)) found.push_back(process);
    return found;
}

std::set<std::string> shared_memory() {
    std::set<std::string> names;
    if (DIR* const directory = ::opendir("/dev/shm")) {
        while (const dirent* entry = ::readdir(directory)) {
            struct stat status;
            if (::stat(fmt::format("/dev/shm/{}", entry->d_name).c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                status.st_uid == ::getuid())
                names.insert(entry->d_name);
        }
        ::closedir(directory);
    }
    return names;
}

// Returns whether a living process has this file in its memory.
bool is_mapped(const std::string& path) {
    for (const pid_t process : processes()) {
        std::ifstream maps(fmt::format("/proc/{}/maps", process));
        for (std::string line; std::getline(maps, line);)
            if (line.ends_with(path)) return true;
    }
    return false;
}

std::string read_all(int descriptor, bool& open) {
    char chunk[65536];
    const ssize_t bytes = ::read(descriptor, chunk, sizeof chunk);
    open = bytes > 0;
    return bytes > 0 ? std::string(chunk, static_cast<std::size_t>(bytes)) : std::string();
}

}  // namespace

Ended run_ranks(int ranks, const Words& scenarios, const JobOptions& options) {
    static std::atomic<int> numbers = 0;
    const int number = ++numbers;
    const std::string mark = fmt::format("ROLLCALL_TEST_MARK={}-{}", ::getpid(), number);
    std::string shared = fmt::format("{}/rollcall-test-{}-{}", testing::TempDir(), ::getpid(), number);
    const int file = ::open(shared.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, kSharedBytes) != 0) throw std::runtime_error(shared + " cannot be made");
    ::close(file);
    const auto before = shared_memory();

    Words words{ROLLCALL_TEST_COMMAND, "run",         "-n",    std::to_string(ranks),
                "--timeout",           options.limit, "--env", "ROLLCALL_TEST_SHARED=" + shared};
    for (const std::string& setting : options.environment) words.insert(words.end(), {"--env", setting});
    words.insert(words.end(), options.launcher.begin(), options.launcher.end());
    Words variables;  // For another starter.
    if (!options.starter.empty()) {
        words = options.starter;
        variables = options.environment;
        variables.push_back("ROLLCALL_TEST_SHARED=" + shared);
    }
    words.push_back(ROLLCALL_TEST_RANKS);
    words.insert(words.end(), scenarios.begin(), scenarios.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);

    int out[2];
    int error[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(error, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    const auto start = Clock::now();
    const pid_t process = ::fork();
    if (process == 0) {
        std::string kept = mark;
        ::putenv(kept.data());
        ::dup2(::open("/dev/null", O_RDONLY), 0);
        ::dup2(out[1], 1);
        ::dup2(error[1], 2);
        for (std::string& variable : variables) ::putenv(variable.data());
        ::execvp(argv[0], argv.data());
        ::_exit(99);
    }
    ::close(out[1]);
    ::close(error[1]);

    Ended ended;
    bool out_open = true;
    bool error_open = true;
    while ((out_open || error_open) && Clock::now() - start < kLimit) {
        pollfd entries[2] = {{out_open ? out[0] : -1, POLLIN, 0}, {error_open ? error[0] : -1, POLLIN, 0}};
        ::poll(entries, 2, 100);
        if (entries[0].revents) ended.out += read_all(out[0], out_open);
        if (entries[1].revents) ended.error += read_all(error[0], error_open);
    }
    int status = 0;
    const auto reaped = [&] { return ::waitpid(process, &status, WNOHANG) == process; };
    if (eventually(reaped, std::max<Clock::duration>(seconds(1), kLimit - (Clock::now() - start)))) {
        ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else {
        ADD_FAILURE() << "the launcher did not end";
        ::kill(process, SIGKILL);
        ::waitpid(process, &status, 0);
    }
    ended.took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    ::close(out[0]);
    ::close(error[0]);
    ::unlink(shared.c_str());

    // The code of a job is that of the process that failed first. So a leak of a process that outlives it does not show there.
    EXPECT_EQ(count(ended.error, "Sanitizer: "), 0) << ended.error;
    EXPECT_TRUE(eventually([&] { return marked(mark).empty(); }, seconds(10))) << marked(mark).size() << " processes are left";
    // The processes of this job are gone. So an entry that a process uses belongs to another job, which may run for long.
    for (const std::string& name : shared_memory()) {
        if (before.contains(name)) continue;
        const std::string path = "/dev/shm/" + name;
        EXPECT_TRUE(eventually([&] { return ::access(path.c_str(), F_OK) != 0 || is_mapped(path); }, seconds(20))) << path << " is left";
    }
    return ended;
}

void expect_success(int ranks, const Words& scenarios, const JobOptions& options) {
    const Ended ended = run_ranks(ranks, scenarios, options);
    std::string what;
    for (const std::string& scenario : scenarios) what += " " + scenario;
    for (const std::string& setting : options.environment) what += " " + setting;
    EXPECT_EQ(ended.code, 0) << ranks << " ranks:" << what << "\n" << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), ranks) << ended.out << ended.error;
}

Words lines_with(const std::string& text, const std::string& part) {
    Words lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        if (line.find(part) != std::string::npos) lines.push_back(line);
    return lines;
}

}  // namespace rollcall::test
