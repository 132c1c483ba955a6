// Embedding: a small framework that starts its processes itself, without a launcher. It forks its workers and sends each of them a unique
// id over a pipe. The workers are the ranks of a Rollcall job. The process of the framework is not a rank.
//
//     build/release/examples/07_embed 4
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <rollcall/rollcall.hpp>

namespace {

// The code of a worker. It knows its number and the number of workers from the fork, and gets the id over the pipe.
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
    const int workers = argc > 1 ? std::atoi(argv[1]) : 4;
    std::vector<pid_t> processes;
    std::vector<int> pipes;
    // The workers are forked first. Making the unique id starts a thread, and a process with threads is hard to fork.
    for (int number = 0; number < workers; ++number) {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) return 1;
        const pid_t process = ::fork();
        if (process == 0) {
            ::close(ends[1]);
            const int code = work(number, workers, ends[0]);
            std::exit(code);
        }
        ::close(ends[0]);
        processes.push_back(process);
        pipes.push_back(ends[1]);
    }
    bool good = true;
    try {
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
