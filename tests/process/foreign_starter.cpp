/// \file
/// A launcher that is not Rollcall's: starts the processes of a job in one of the ways that programs are started elsewhere.
///
///     foreign_starter torchrun|agent_store|port_taken|directory|unique_id|allgather RANKS PROGRAM ARGUMENTS...
///
/// Its exit code is that of the first process that ends badly. Its processes die with it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rollcall/rollcall.hpp>

namespace {

void set(const char* variable, const std::string& value) { ::setenv(variable, value.c_str(), 1); }

/// Returns a socket that listens at this port of loopback, or -1 if the port is taken.
int listen_at(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(socket, 1) == 0) return socket;
    ::close(socket);
    return -1;
}

/// Returns a socket that listens at a port of loopback. The next port is free, too. Both ports are below the kernel's range of automatic
/// ports, so that other tests do not take them meanwhile.
int listen_somewhere(int& port) {
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
        port = 28'200 + static_cast<int>(random() % 4'000);
        const int next = listen_at(port + 1);
        if (next < 0) continue;
        ::close(next);
        if (const int socket = listen_at(port); socket >= 0) return socket;
    }
    throw std::runtime_error("no port");
}

/// A directory of this process. The destructor removes it.
struct Directory {
    Directory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "rollcall-starter-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory");
        path = pattern;
    }
    ~Directory() { std::filesystem::remove_all(path); }
    std::string path;
};

class Starter {
  public:
    Starter(std::string kind, int ranks, char** program) : kind_(std::move(kind)), ranks_(ranks), program_(program) {}

    int run() {
        if (by_torchrun()) {
            int port = 0;
            const int agent = listen_somewhere(port);
            // The framework's own store listens at that port: in the agent or, in other modes, in rank 0.
            if (kind_ == "torchrun") ::close(agent);
            set("MASTER_ADDR", "127.0.0.1");
            set("MASTER_PORT", std::to_string(port));
            set("WORLD_SIZE", std::to_string(ranks_));
            if (kind_ == "port_taken") set("ROLLCALL_PORT", std::to_string(port));
            set("TORCHELASTIC_RUN_ID", "a run");
            if (std::getenv("ROLLCALL_KEY_FILE") == nullptr) set("ROLLCALL_KEY_FILE", directory_.path + "/key");
        } else if (kind_ == "directory") {
            set("ROLLCALL_RENDEZVOUS", directory_.path);
            set("ROLLCALL_SIZE", std::to_string(ranks_));
            set("ROLLCALL_JOB_ID", "a-job");
        } else if (kind_ != "unique_id" && kind_ != "allgather") {
            throw std::runtime_error("no such kind: " + kind_);
        }
        for (int rank = 0; rank < ranks_; ++rank) start(rank);
        if (kind_ == "unique_id") hand_out_id();
        if (kind_ == "allgather") gather();
        const int code = wait();
        if (kind_ == "directory" && !std::filesystem::is_empty(directory_.path)) {
            fmt::print(stderr, "the invitation is still in the directory\n");
            return 98;
        }
        return code;
    }

  private:
    bool by_torchrun() const { return kind_ == "torchrun" || kind_ == "agent_store" || kind_ == "port_taken"; }

    void start(int rank) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no sockets");
        const pid_t parent = ::getpid();
        const pid_t process = ::fork();
        if (process == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) ::_exit(97);
            if (by_torchrun()) set("RANK", std::to_string(rank));
            if (kind_ == "directory") set("ROLLCALL_RANK", std::to_string(rank));
            const int socket = ::dup(ends[1]);  // Without close-on-exec.
            if (kind_ == "unique_id" || kind_ == "allgather") {
                set("ROLLCALL_TEST_EMBEDDING", fmt::format("{}:{}:{}:{}", kind_, rank, ranks_, socket));
            }
            ::execvp(program_[0], program_);
            ::_exit(99);
        }
        ::close(ends[1]);
        processes_.push_back(process);
        sockets_.push_back(ends[0]);
    }

    void hand_out_id() {
        const rollcall::UniqueId id = rollcall::make_unique_id();
        for (const int socket : sockets_) {
            if (::write(socket, id.bytes.data(), id.bytes.size()) != static_cast<ssize_t>(id.bytes.size()))
                throw std::runtime_error("no id");
        }
    }

    void gather() {
        std::vector<char> all;
        std::size_t each = 0;
        for (const int socket : sockets_) {
            std::array<char, 4096> one{};
            const ssize_t bytes = ::recv(socket, one.data(), each == 0 ? one.size() : each, each == 0 ? 0 : MSG_WAITALL);
            if (bytes <= 0 || (each != 0 && static_cast<std::size_t>(bytes) != each)) throw std::runtime_error("a rank brought nothing");
            each = static_cast<std::size_t>(bytes);
            all.insert(all.end(), one.begin(), one.begin() + bytes);
        }
        for (const int socket : sockets_) {
            if (::write(socket, all.data(), all.size()) != static_cast<ssize_t>(all.size()))
                throw std::runtime_error("a rank took nothing");
        }
    }

    int wait() {
        int code = 0;
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            int status = 0;
            if (::wait(&status) < 0) throw std::runtime_error("no child");
            const int its = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            if (code == 0) code = its;
        }
        return code;
    }

    std::string kind_;
    int ranks_;
    char** program_;
    Directory directory_;
    std::vector<pid_t> processes_;
    std::vector<int> sockets_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    try {
        return Starter(argv[1], std::atoi(argv[2]), argv + 3).run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "foreign_starter: {}\n", error.what());
        return 96;
    }
}
