/// \file
/// A program for the launcher's tests: joins its job through the bootstrap and does what its arguments say, step by
/// step.
///
///     exchange:BYTES[:TIMES]  all-gather of BYTES bytes, checked        barrier            abort:CODE:WHY
///     notice                  waits for a notice and prints it          leave              exit:CODE
///     print:TEXT  part:TEXT   a line; a part of one, flushed            spam:BYTES         kill:SIGNAL (itself)
///     orphan                  a grandchild in a session of its own      shm:NAME           wait (forever)
///     again                   prints what a second find_bootstrap says  ready              close (the bootstrap)
///     await:PATH              until that file exists                    garbage            time:TIMES:BYTES
///     kill_parent:SIGNAL      the guard that has started it
///     kill_at_term            from now on SIGTERM makes it kill itself  farewell:TEXT (why it goes)
///
///     hold:PID:PATH           (alone) as a debugger that hangs: stops a process, makes that file, and waits, whatever it is told
///
/// "@R" at the end of a step: only rank R does it; "@!R": all but R. An error is printed as "rank R error CODE FAILED:
/// TEXT" and ends the program with code 5.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <rollcall/error.hpp>

#include "bootstrap/bootstrap.hpp"

namespace {

using rollcall::Error;
using rollcall::bootstrap::Blob;
using rollcall::bootstrap::Bootstrap;

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (;;) {
        const auto end = text.find(':', begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) return parts;
        begin = end + 1;
    }
}

/// One write, so that the test sees whole lines in the order in which this process wrote them.
void out(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t count = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
        if (count <= 0) ::_exit(9);
        done += static_cast<std::size_t>(count);
    }
}

std::byte byte_of(int rank, std::size_t index, int round) {
    return static_cast<std::byte>(static_cast<std::size_t>(rank) * 31 + index * 7 + static_cast<std::size_t>(round));
}

void exchange(Bootstrap& job, std::size_t bytes, int round) {
    const int rank = job.place().rank;
    Blob mine(bytes + static_cast<std::size_t>(rank));  // Each rank's length differs.
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = byte_of(rank, i, round);
    int turns = 0;
    const auto all =
        job.exchange(mine, round % 2 == 0 ? [&turns] { ++turns; } : rollcall::bootstrap::Meanwhile(), std::chrono::seconds(60));
    bool right = all.size() == static_cast<std::size_t>(job.place().size);
    for (int peer = 0; right && peer < job.place().size; ++peer) {
        const auto blob = all[static_cast<std::size_t>(peer)];
        right = blob.size() == bytes + static_cast<std::size_t>(peer);
        for (std::size_t i = 0; right && i < blob.size(); ++i) right = blob[i] == byte_of(peer, i, round);
    }
    if (!right) {
        out(fmt::format("rank {} got wrong blobs\n", rank));
        ::_exit(8);
    }
}

void wait_for_notice(Bootstrap& job) {
    // Another thread, as in a lane.
    std::thread watcher([&job] {
        pollfd entry{job.notice_descriptor(), POLLIN, 0};
        for (;;) {
            if (::poll(&entry, 1, 20000) <= 0) {
                out("no notice\n");
                return;
            }
            if (const auto notice = job.take_notice()) {
                out(fmt::format("rank {} notice {}: {}\n", job.place().rank, notice->rank, notice->how));
                return;
            }
        }
    });
    watcher.join();
}

void step(std::unique_ptr<Bootstrap>& job, const std::string& what) {
    const auto words = split(what);
    const std::string& verb = words[0];
    const auto number = [&](std::size_t index) { return std::stol(words.at(index)); };
    const int rank = job ? job->place().rank : -1;
    if (verb == "exchange") {
        const long times = words.size() > 2 ? number(2) : 1;
        for (int i = 0; i < times; ++i) exchange(*job, static_cast<std::size_t>(number(1)), i);
    } else if (verb == "time") {
        using Clock = std::chrono::steady_clock;
        const Blob mine(static_cast<std::size_t>(number(2)));
        job->barrier({}, rollcall::kForever);
        const auto start = Clock::now();
        for (long i = 0; i < number(1); ++i)
            job->exchange(
                mine, [] {}, rollcall::kForever);
        const std::chrono::duration<double, std::micro> spent = Clock::now() - start;
        if (rank == 0) out(fmt::format("{:.1f} us per exchange\n", spent.count() / static_cast<double>(number(1))));
    } else if (verb == "barrier") {
        job->barrier({}, std::chrono::seconds(60));
    } else if (verb == "leave") {
        job->leave();
    } else if (verb == "farewell") {
        job->farewell(words.at(1));
    } else if (verb == "close") {
        job.reset();
    } else if (verb == "notice") {
        wait_for_notice(*job);
    } else if (verb == "abort") {
        job->abort(static_cast<int>(number(1)), words.at(2));
    } else if (verb == "exit") {
        ::_exit(static_cast<int>(number(1)));
    } else if (verb == "kill") {
        ::kill(::getpid(), static_cast<int>(number(1)));
        for (;;) ::pause();
    } else if (verb == "kill_parent") {
        ::kill(::getppid(), static_cast<int>(number(1)));
    } else if (verb == "kill_at_term") {
        ::signal(SIGTERM, [](int) { ::kill(::getpid(), SIGKILL); });
    } else if (verb == "wait") {
        for (;;) ::pause();
    } else if (verb == "ready") {
        out(fmt::format("rank {} of {} pid {} ready\n", rank, job->place().size, ::getpid()));
    } else if (verb == "print") {
        out(fmt::format("{}\n", words.at(1)));
    } else if (verb == "part") {
        out(words.at(1));
    } else if (verb == "spam") {
        const auto total = static_cast<std::size_t>(number(1));
        const std::string line = fmt::format("rank {} {}\n", rank, std::string(90, 'x'));
        std::string block;
        while (block.size() < 60000) block += line;
        for (std::size_t done = 0; done < total; done += block.size()) out(block);
    } else if (verb == "orphan") {
        if (::fork() == 0) {
            ::setsid();
            if (::fork() != 0) ::_exit(0);
            ::signal(SIGTERM, SIG_IGN);
            ::signal(SIGINT, SIG_IGN);
            for (;;) ::pause();
        }
    } else if (verb == "shm") {
        const int file = ::shm_open(words.at(1).c_str(), O_CREAT | O_RDWR, 0600);
        if (file < 0 || ::ftruncate(file, 4096) != 0 || ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED) {
            ::_exit(7);
        }
        ::close(file);  // Mapped, as a transport would leave it.
    } else if (verb == "await") {
        while (::access(words.at(1).c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (verb == "again") {
        try {
            out(fmt::format("again: {}\n", rollcall::bootstrap::find_bootstrap()->name()));
        } catch (const Error& error) {
            out(fmt::format("again: {}\n", name(error.code())));
        }
        out(fmt::format("variable: {}\n", std::getenv("ROLLCALL_BOOTSTRAP_FD") == nullptr ? "gone" : "there"));
    } else if (verb == "garbage") {
        const int descriptor = std::atoi(std::getenv("LAUNCHER_PROBE_DESCRIPTOR"));
        const std::string noise(100, '#');
        if (::send(descriptor, noise.data(), noise.size(), 0) < 0) ::_exit(6);
    } else {
        out(fmt::format("what is {}?\n", what));
        ::_exit(2);
    }
}

[[noreturn]] void hold(pid_t process, const std::string& path) {
    ::signal(SIGTERM, SIG_IGN);
    const bool held = ::ptrace(PTRACE_ATTACH, process, nullptr, nullptr) == 0 && ::waitpid(process, nullptr, __WALL) == process;
    std::ofstream(path + ".new") << (held ? "held" : "refused");
    ::rename((path + ".new").c_str(), path.c_str());
    while (held) ::pause();
    ::_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]).starts_with("hold:")) {
        const auto words = split(argv[1]);
        hold(std::stoi(words.at(1)), words.at(2));
    }
    int rank = -1;
    try {
        if (const char* descriptor = std::getenv("ROLLCALL_BOOTSTRAP_FD")) {
            ::setenv("LAUNCHER_PROBE_DESCRIPTOR", descriptor, 1);
        }
        auto job = rollcall::bootstrap::find_bootstrap();
        rank = job->place().rank;
        for (int i = 1; i < argc; ++i) {
            std::string what = argv[i];
            if (const auto at = what.rfind('@'); at != std::string::npos) {
                const bool all_but = what[at + 1] == '!';
                const bool named = std::stoi(what.substr(at + (all_but ? 2 : 1))) == rank;
                if (named == all_but) continue;
                what.resize(at);
            }
            step(job, what);
        }
        return 0;
    } catch (const Error& error) {
        out(fmt::format("rank {} error {} {}: {}\n", rank, name(error.code()), error.failed_rank(), error.what()));
        return 5;
    }
}
