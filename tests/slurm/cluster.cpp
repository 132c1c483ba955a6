#include "tests/slurm/cluster.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common.hpp"

namespace rollcall::test {
namespace {

constexpr int kStartPatience = 90'000;  // ms

bool is_installed(const std::string& program) {
    std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
    for (std::string directory; std::getline(path, directory, ':');)
        if (std::filesystem::exists(directory + "/" + program)) return true;
    return std::filesystem::exists("/usr/sbin/" + program);
}

std::string link_of(const std::string& path) {
    std::error_code error;
    return std::filesystem::read_symlink(path, error).string();
}

}  // namespace

std::vector<pid_t> processes_of(const std::string& name_space) {
    std::vector<pid_t> found;
    for (const pid_t process : processes())
        if (!name_space.empty() && link_of(fmt::format("/proc/{}/ns/pid", process)) == name_space) found.push_back(process);
    return found;
}

SlurmCluster::SlurmCluster() {
    impossible_ = true;
    if (::geteuid() != 0) {
        failure_ = "this needs root: Slurm's daemons get name spaces of their own";
        return;
    }
    for (const char* program : {"slurmctld", "slurmd", "srun", "munged", "unshare", "nsenter", "ip"}) {
        if (is_installed(program)) continue;
        failure_ = fmt::format("{} is not installed (packages munge, slurm-wlm, util-linux, iproute2)", program);
        return;
    }
    int input[2];
    int output[2];
    if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends the test ends the cluster
        ::dup2(input[0], 0);
        ::dup2(output[1], 1);
        ::dup2(output[1], 2);
        ::execlp("unshare", "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
                 ROLLCALL_TEST_SLURM, nullptr);
        ::_exit(99);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    std::string said;
    for (int waited = 0; said.find("ready\n") == std::string::npos && waited < kStartPatience; waited += 100) {
        pollfd entry{output[0], POLLIN, 0};
        if (::poll(&entry, 1, 100) <= 0) continue;
        char chunk[4096];
        const ssize_t count = ::read(output[0], chunk, sizeof chunk);
        if (count <= 0) break;
        said.append(chunk, static_cast<std::size_t>(count));
    }
    ::close(output[0]);
    name_space_ = link_of(fmt::format("/proc/{}/ns/pid_for_children", process_));
    impossible_ = said.starts_with("unshare: ");  // a container that may not
    if (said.find("ready\n") == std::string::npos) failure_ = said.empty() ? "the cluster did not start in time" : said;
}

SlurmCluster::~SlurmCluster() {
    if (process_ < 0) return;
    ::close(input_);
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    for (int waited = 0; !processes().empty() && waited < 10'000; waited += 10) ::usleep(10'000);
}

std::vector<std::string> SlurmCluster::inside() const {
    const std::string name_spaces = fmt::format("/proc/{}/ns/", process_);
    return {"nsenter", "--net=" + name_spaces + "net",    "--mount=" + name_spaces + "mnt", "--pid=" + name_spaces + "pid_for_children",
            "env",     "SLURM_CONF=/run/slurm/slurm.conf"};
}

std::vector<pid_t> SlurmCluster::processes() const { return processes_of(name_space_); }

}  // namespace rollcall::test
