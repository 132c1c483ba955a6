#include "tests/cluster/harness.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rollcall::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kMarkVariable = "ROLLCALL_CLUSTER_TEST";
constexpr const char* kNamespaces[] = {"net", "mnt", "uts", "ipc", "pid"};

std::string namespace_of(pid_t process, const char* kind) {
    char text[64];
    const ssize_t length = ::readlink(fmt::format("/proc/{}/ns/{}", process, kind).c_str(), text, sizeof text);
    return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

/// Returns what this process sees outside of the clusters: links, mounts, and file names in places where tools leave files.
std::set<std::string> surroundings() {
    std::set<std::string> found;
    struct if_nameindex* const links = ::if_nameindex();
    for (auto* link = links; link != nullptr && link->if_index != 0; ++link) found.insert(fmt::format("link {}", link->if_name));
    ::if_freenameindex(links);
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) found.insert("mount " + line);
    for (const char* directory : {"/run", "/run/netns", "/etc/netns", "/dev/shm"}) {
        std::error_code missing;
        for (const auto& entry : std::filesystem::directory_iterator(directory, missing))
            if (const auto path = entry.path().string(); path.find("rollcall") != std::string::npos) found.insert("file " + path);
    }
    return found;
}

std::string find_reason() {
    if (::geteuid() != 0) return "clusters of namespaces need root";
    for (const auto& [tool, package] : {std::pair("ip", "iproute2"), std::pair("tc", "iproute2"), std::pair("sshd", "openssh-server"),
                                        std::pair("ssh", "openssh-client"), std::pair("nsenter", "util-linux")})
        if (run({"sh", "-c", fmt::format("PATH=$PATH:/usr/sbin:/sbin command -v {}", tool)}).code != 0)
            return fmt::format("the program {} is missing (package {})", tool, package);
    // In namespaces of its own, this process sees exactly what a cluster leaves behind.
    if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return fmt::format("namespaces cannot be made here: {}", std::strerror(errno));
    for (const char* words : {"ip link add probe type veth peer name other", "ip link add switch type bridge",
                              "tc qdisc add dev probe root tbf rate 1mbit burst 128k limit 1m"})
        if (const Result result = run({"sh", "-c", fmt::format("PATH=$PATH:/usr/sbin:/sbin; {}", words)}); result.code != 0)
            return fmt::format("the kernel lacks what `{}` needs: {}", words, result.error);
    for (const char* link : {"probe", "switch"}) run({"sh", "-c", fmt::format("PATH=$PATH:/usr/sbin:/sbin; ip link delete {}", link)});
    return {};
}

void close(int& descriptor) {
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
}

void read_some(int& descriptor, std::string& into) {
    char chunk[65536];
    const ssize_t count = ::read(descriptor, chunk, sizeof chunk);
    if (count > 0) into.append(chunk, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) close(descriptor);
}

}  // namespace

Command::Command(const Words& words, const Words& environment) {
    std::signal(SIGPIPE, SIG_IGN);
    int in[2], out[2], error[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(error, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
        ::setsid();  // what ends a test by the keyboard lets the holder end the cluster
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::dup2(error[1], 2);
        std::signal(SIGPIPE, SIG_DFL);
        for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(error[1]);
    in_ = in[1];
    out_ = out[0];
    error_ = error[0];
    ::fcntl(in_, F_SETFL, O_NONBLOCK);
}

Command::~Command() {
    close(in_);
    close(out_);
    close(error_);
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

void Command::signal(int number) const {
    if (process_ > 0) ::kill(process_, number);
}

void Command::end_input() { close(in_); }

bool Command::turn(int milliseconds) {
    if (out_ < 0 && error_ < 0) return false;
    const bool writes = in_ >= 0 && !input_.empty();
    pollfd entries[] = {{writes ? in_ : -1, POLLOUT, 0}, {out_, POLLIN, 0}, {error_, POLLIN, 0}};
    ::poll(entries, 3, milliseconds);
    if (entries[0].revents != 0) {
        const ssize_t count = ::write(in_, input_.data(), input_.size());
        if (count > 0) input_.erase(0, static_cast<std::size_t>(count));
        if (count < 0 && errno != EAGAIN) close(in_);
    }
    if (entries[1].revents != 0) read_some(out_, result_.out);
    if (entries[2].revents != 0) read_some(error_, result_.error);
    if (last_input_ && input_.empty()) close(in_);
    return true;
}

bool Command::wait_for(const std::string& text, milliseconds limit, int times) {
    const auto is_there = [&] {
        int found = 0;
        for (auto at = result_.out.find(text); at != std::string::npos; at = result_.out.find(text, at + text.size())) ++found;
        return found >= times;
    };
    for (const auto deadline = Clock::now() + limit; Clock::now() < deadline;) {
        if (is_there()) return true;
        if (!turn(50)) break;
    }
    return is_there();
}

Result Command::finish(const std::string& input, milliseconds limit) {
    input_ = input;
    last_input_ = true;
    if (input_.empty()) close(in_);
    const auto deadline = Clock::now() + limit;
    while (Clock::now() < deadline && turn(50)) {
    }
    int status = 0;
    const auto ended = [&] { return ::waitpid(process_, &status, WNOHANG) == process_; };
    if (eventually(ended, std::max(milliseconds(100), std::chrono::duration_cast<milliseconds>(deadline - Clock::now())))) {
        result_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, &status, 0);
    }
    process_ = -1;
    return result_;
}

Result run(const Words& words, const std::string& input, const Words& environment) { return Command(words, environment).finish(input); }

const std::string& unavailable() {
    static const std::string reason = find_reason();
    return reason;
}

void expect_gone(const std::string& name, const std::string& mark, const std::set<std::string>& namespaces) {
    const auto remain = [&] {
        Words found;
        for (const pid_t process : processes()) {
            bool is_ours = has_entry(process, mark);
            for (const char* kind : kNamespaces) is_ours = is_ours || namespaces.contains(namespace_of(process, kind));
            if (is_ours) found.push_back(fmt::format("{} {}", process, contents(fmt::format("/proc/{}/comm", process))));
        }
        return found;
    };
    EXPECT_TRUE(eventually([&] { return remain().empty(); })) << testing::PrintToString(remain());
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists("/run/rollcall-cluster-" + name); }));
}

Cluster::Cluster(const std::string& hosts, const Words& options) {
    static int number = 0;
    name_ = fmt::format("test-{}-{}", ::getpid(), ++number);
    mark_ = fmt::format("{}={}", kMarkVariable, name_);
    before_ = surroundings();
    Words all = words({"up", hosts, "--until-eof"});
    all.insert(all.end(), options.begin(), options.end());
    holder_ = std::make_unique<Command>(all, Words{mark_});
    if (!holder_->wait_for("\n")) throw std::runtime_error("the cluster cannot be made: " + holder_->finish().error);
    std::ifstream names(state() + "/names");
    std::vector<pid_t> first = {holder_->process()};
    for (std::string host; std::getline(names, host);) first.push_back(process_of(host));
    for (const pid_t process : first)
        for (const char* kind : kNamespaces)
            if (const auto found = namespace_of(process, kind); found != namespace_of(::getpid(), kind)) namespaces_.insert(found);
    EXPECT_EQ(namespaces_.size(), first.size() * std::size(kNamespaces) - 1) << "each has its own, but for the holder's processes";
}

Cluster::~Cluster() {
    down();
    expect_gone(name_, mark_, namespaces_);
    // Other programs of this machine may write to /run meanwhile, but they do not use this name.
    for (const std::string& entry : surroundings()) {
        if (entry.starts_with("file ") && entry.find(name_) == std::string::npos) continue;
        EXPECT_TRUE(before_.contains(entry)) << entry << " is left";
    }
}

Words Cluster::words(const Words& command) const {
    Words all = {ROLLCALL_CLUSTER_SCRIPT, "--name", name_};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

Result Cluster::exec(const std::string& host, const Words& command, const std::string& input) const {
    Words all = {"exec", host};
    all.insert(all.end(), command.begin(), command.end());
    return call(all, input);
}

std::string Cluster::line_of(const Words& command) const {
    const Result result = call(command);
    EXPECT_EQ(result.code, 0) << result.error;
    return result.out.substr(0, result.out.find('\n'));
}

pid_t Cluster::process_of(const std::string& host) const {
    pid_t process = -1;
    std::ifstream(host == "head" ? state() + "/watch" : state() + "/hosts/" + host) >> process;
    return process;
}

void Cluster::down() {
    if (holder_ && holder_->process() > 0) {
        const int code = holder_->finish().code;
        EXPECT_TRUE(code == 0 || code > 128) << code << ": it had to be forced";
    }
    holder_.reset();
}

void Cluster::inside(const std::string& host, int namespaces, const std::function<void()>& function) const {
    const pid_t process = process_of(host);
    std::thread([&] {
        for (const auto& [flag, kind] : {std::pair(CLONE_NEWNET, "net"), std::pair(CLONE_NEWIPC, "ipc")}) {
            if ((namespaces & flag) == 0) continue;
            const int entered = ::open(fmt::format("/proc/{}/ns/{}", process, kind).c_str(), O_RDONLY | O_CLOEXEC);
            ASSERT_EQ(::setns(entered, flag), 0) << std::strerror(errno);
            ::close(entered);
        }
        function();
    }).join();
}

}  // namespace rollcall::test
