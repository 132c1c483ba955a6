// Embedding: a small framework that starts its processes itself, without a launcher. It starts its workers and sends each of them a unique
// id over a pipe. The workers are the ranks of a Rollcall job. The process of the framework is not a rank.
//
//     build/release/examples/07_embed 4
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rollcall/rollcall.hpp>

namespace {

// The code of a worker. It gets its number and the number of workers as arguments, and the id over the pipe.
int work(int number, int workers, int pipe) {
    try {
        rollcall::Embedding embedding;
        embedding.rank = number;
        embedding.size = workers;
        if (::read(pipe, embedding.unique_id.emplace().bytes.data(), rollcall::UniqueId::kBytes) != rollcall::UniqueId::kBytes) return 1;

        rollcall::Job job(embedding);
        double answer = job.rank() == 0 ? 42.0 : 0.0;
        job.world().broadcast(answer, 0);
        std::printf("worker %d of %d: rank 0 says %g\n", job.rank(), job.size(), answer);
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "worker %d: %s\n", number, error.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 5) return work(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));  // NAME worker NUMBER WORKERS PIPE
    const int workers = argc > 1 ? std::atoi(argv[1]) : 4;
    std::vector<pid_t> processes;
    std::vector<int> pipes;
    bool good = true;
    // A worker executes this program anew. A child that only forks would have a copy of the locks that threads of libraries hold at that
    // moment (UCX starts a thread when it is loaded), and nobody would release them.
    for (int number = 0; number < workers; ++number) {
        std::array<int, 2> ends{};
        const pid_t process = ::pipe2(ends.data(), O_CLOEXEC) == 0 ? ::fork() : -1;
        if (process < 0) {
            std::perror("a worker cannot be started");
            good = false;  // The workers that were started find no id in their pipes, and end.
            break;
        }
        if (process == 0) {
            ::fcntl(ends[0], F_SETFD, 0);  // Only this worker gets it.
            const std::string its_number = std::to_string(number), all = std::to_string(workers), pipe = std::to_string(ends[0]);
            ::execl("/proc/self/exe", argv[0], "worker", its_number.c_str(), all.c_str(), pipe.c_str(), static_cast<char*>(nullptr));
            ::_exit(127);
        }
        ::close(ends[0]);
        processes.push_back(process);
        pipes.push_back(ends[1]);
    }
    std::signal(SIGPIPE, SIG_IGN);  // If a worker has ended already, write() fails and this process goes on.
    if (good) try {
            const rollcall::UniqueId id = rollcall::make_unique_id();
            for (const int pipe : pipes) good = ::write(pipe, id.bytes.data(), id.bytes.size()) == rollcall::UniqueId::kBytes && good;
        } catch (const rollcall::Error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            good = false;
        }
    for (const int pipe : pipes) ::close(pipe);
    // This process made the id, so it must exist until the job has ended.
    for (const pid_t process : processes) {
        int status = 0;
        good = ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0 && good;
    }
    return good ? 0 : 1;
}
