/// \file
/// Scenarios of deliberate misuse of the interface: deadlines below 0, forked children, a second job, impossible sizes.
#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rollcall/rollcall.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;

// Runs `work` in a forked child of this rank. Reports an error that the child finds, or that it hangs. The child exits without running
// destructors.
void in_a_child(const std::function<void()>& work) {
    std::array<int, 2> pipe;
    check(::pipe(pipe.data()) == 0, "there is no pipe");
    const pid_t child = ::fork();
    check(child >= 0, "there is no child");
    if (child == 0) {
        ::alarm(20);
        std::string wrong;
        try {
            work();
        } catch (const std::exception& error) {
            wrong = error.what();
        }
        const bool said = ::write(pipe[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size());
        ::_exit(wrong.empty() && said ? 0 : 1);
    }
    ::close(pipe[1]);
    std::string wrong(2000, '\0');
    const ssize_t bytes = ::read(pipe[0], wrong.data(), wrong.size());
    ::close(pipe[0]);
    int status = 0;
    check(::waitpid(child, &status, 0) == child, "the child is not ours");
    wrong.resize(static_cast<std::size_t>(std::max<ssize_t>(0, bytes)));
    check(WIFEXITED(status), "the child ended by signal {}", WTERMSIG(status));
    check(WEXITSTATUS(status) == 0, "in the child: {}", wrong);
}

pid_t parent_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto end = text.rfind(") ");
    check(end != std::string::npos, "process {} is not to be seen", process);
    return std::stoi(text.substr(end + 4));  // After the state.
}

}  // namespace

ROLLCALL_SCENARIO(negative_timeouts) {
    const Communicator& world = scene.world;
    const auto refused = [](const char* what, const std::function<void()>& call) {
        const Error error = expect_error(ErrorCode::invalid_argument, what, call);
        check(says(error, "below 0"), "{} says '{}'", what, error.what());
    };
    const Timeout wrong(-1);
    int value = 0;
    std::vector<int> all(static_cast<std::size_t>(scene.size));
    CollectiveOptions options;
    options.timeout = wrong;
    PlanOptions plan_options;
    plan_options.timeout = wrong;
    std::thread sender;
    if (scene.rank == 0)
        sender = std::thread([&] {
            scene.await(0);
            world.send(5, scene.size - 1, 88);
        });
    // Only one rank makes the mistakes. If a sequence number were taken or a message sent, the others would notice.
    if (scene.rank == scene.size - 1) {
        refused("a barrier", [&] { world.barrier(wrong); });
        refused("a barrier of the least timeout", [&] { world.barrier(Timeout::min()); });
        refused("a send", [&] { world.send(value, 0, 0, wrong); });
        refused("a receive", [&] { world.receive(value, 0, 0, wrong); });
        refused("a broadcast", [&] { world.broadcast(value, 0, options); });
        refused("a started broadcast", [&] { world.start_broadcast(value, 0, options); });
        refused("a scatter", [&] { world.scatter(all, value, 0, options); });
        refused("a gather", [&] { world.gather(value, all, 0, options); });
        refused("a plan", [&] { world.plan_gather(value, all, 0, plan_options); });
        std::array<Request, 1> requests{world.start_receive(value, 0, 88)};
        refused("a wait", [&] { requests[0].wait(wrong); });
        refused("wait_any", [&] { Request::wait_any(requests, wrong); });
        refused("wait_all", [&] { Request::wait_all(requests, wrong); });
        check(static_cast<bool>(requests[0]), "a refused wait has taken the request");
        scene.raise(0);
        requests[0].wait();
        check(value == 5, "the request gave {}", value);
        expect_error(ErrorCode::timeout, "a deadline of nothing", [&] { world.receive(value, 0, 89, Timeout::zero()); });
    }
    Request none;
    expect_error(ErrorCode::invalid_argument, "a wait of an empty request", [&] { none.wait(wrong); });
    if (sender.joinable()) sender.join();
    world.barrier();
    value = scene.rank == 0 ? 42 : 0;
    world.broadcast(value, 0);
    check(value == 42, "a broadcast after wrong calls gave {}", value);
}

// A timeout that is almost forever is treated as forever.
ROLLCALL_SCENARIO(nearly_for_ever) {
    const Timeout long_time(kForever.count() - 1);
    const Communicator& world = scene.world;
    std::vector<int> in(3, -1);
    std::vector<Request> requests;
    for (Tag tag = 0; tag < 3; ++tag) requests.push_back(world.start_receive(in[tag], scene.previous(), tag));
    std::thread sender([&] {
        for (Tag tag = 0; tag < 3; ++tag) {
            sleep_us(5000);  // Each of the waits has something to wait for.
            world.send(static_cast<int>(tag), scene.next(), tag);
        }
    });
    Request::wait_any(requests, long_time);
    Request::wait_all(requests, long_time);
    sender.join();
    check(in == std::vector<int>({0, 1, 2}), "the messages came differently");
    world.barrier(long_time);
    world.start_barrier().wait(long_time);
}

// wait_all has one deadline for all requests. No request prolongs that of another, and the error says how many are not done.
ROLLCALL_SCENARIO(one_deadline_for_all) {
    const Communicator& world = scene.world;
    constexpr int kRequests = 20, kSent = kRequests / 2;
    std::vector<int> in(kRequests, -1);
    std::vector<Request> requests;
    if (scene.rank == 0) {
        const auto receive = [&](int i) { return world.start_receive(in[i], scene.next(), static_cast<Tag>(i)); };
        for (int i = 0; i < kRequests; ++i) requests.push_back(i == kSent ? Request() : receive(i));
        scene.raise(0);
        world.next_size(scene.next(), kSent, kPatience);  // The message is there before the time runs.
        requests[kSent] = receive(kSent);
        const auto begun = std::chrono::steady_clock::now();
        const Error error =
            expect_error(ErrorCode::timeout, "wait_all with one message of many", [&] { Request::wait_all(requests, milliseconds(250)); });
        const auto took = std::chrono::steady_clock::now() - begun;
        // If each request had a deadline of its own: 19 x 250 ms.
        check(took < milliseconds(250) * (kRequests - 1), "it took {} ms", took / milliseconds(1));
        check(says(error, fmt::format("{} of the {} requests", kRequests - 1, kRequests)) && says(error, "250 ms"), "it says '{}'",
              error.what());
        for (const Request& request : requests) check(!request, "a request is left");
        check(in[kSent] == 7, "the message that came gave {}", in[kSent]);
        scene.raise(1);
    } else if (scene.rank == 1) {
        scene.await(0);
        world.send(7, 0, kSent);
        scene.await(1);
    }
    world.barrier();
}

// A child of the rank cannot make calls in its name. Objects that the child destroys still belong to the parent.
ROLLCALL_SCENARIO(forked_child) {
    const Communicator& world = scene.world;
    Communicator part = world.duplicate();
    int value = 0;
    std::vector<int> all(static_cast<std::size_t>(scene.size));
    Plan plan = part.plan_gather(scene.rank, all, 0);
    Request receive = world.start_receive(value, scene.previous(), 3);
    plan.begin();
    world.barrier();
    if (scene.rank == scene.size - 1) {
        in_a_child([&] {
            const auto refused = [](const char* what, const std::function<void()>& call) {
                const Error error = expect_error(ErrorCode::state, what, call);
                check(says(error, "forked"), "{} says '{}'", what, error.what());
            };
            refused("a barrier", [&] { world.barrier(); });
            refused("a started barrier", [&] { part.start_barrier(); });
            refused("a broadcast", [&] { world.broadcast(value, 0); });
            refused("a scatter", [&] { world.scatter(all, value, 0); });
            refused("a gather", [&] { world.gather(value, all, 0); });
            refused("a send", [&] { world.send(1, 0); });
            refused("a receive", [&] { world.receive<int>(0); });
            refused("a started send", [&] { world.start_send(value, 0); });
            refused("a started receive", [&] { world.start_receive(value, 0); });
            refused("a split", [&] { world.split(0, 0); });
            refused("a duplicate", [&] { world.duplicate(); });
            refused("a plan", [&] { world.plan_gather(value, all, 0); });
            refused("an edge", [&] { plan.edge(0.5); });
            refused("the run of a plan", [&] { plan.run(); });
            refused("wait", [&] { receive.wait(); });
            refused("test", [&] { receive.test(); });
            refused("wait_any", [&] { Request::wait_any(std::span(&receive, 1)); });
            refused("wait_all", [&] { Request::wait_all(std::span(&receive, 1)); });
            refused("progress", [&] { scene.job.progress(); });
            refused("prepare_to_sleep", [&] { scene.job.prepare_to_sleep(); });
            refused("the statistics", [&] { scene.job.progress_statistics(); });
            refused("the clocks", [&] { scene.job.synchronize_clocks(); });
            refused("finalize", [&] { scene.job.finalize(); });
            refused("abort", [&] { scene.job.abort(3, "by the child"); });
            check(world.rank() == scene.size - 1 && scene.job.size() == scene.size, "the child has forgotten whose it is");
            // Destructors do nothing, not even that of the job.
            receive = {};
            plan = {};
            part = {};
            scene.job.~Job();
        });
        in_a_child([&] { scene.job.~Job(); });  // With all objects still there.
        check(static_cast<bool>(receive) && static_cast<bool>(plan), "the parent has lost what its child destroyed");
    }
    world.barrier();
    world.send(scene.rank, scene.next(), 3);
    receive.wait();
    check(value == scene.previous(), "a receive gave {} after a fork", value);
    plan.run();
    if (scene.rank == 0)
        for (int rank = 0; rank < scene.size; ++rank) check(all[static_cast<std::size_t>(rank)] == rank, "a plan gave other blocks");
    part.barrier();
}

// A library and the program that uses it each have a Job. The messages of one do not reach the other. The last Job that is destroyed ends
// the job.
ROLLCALL_SCENARIO(second_job) {
    const int of_first = 1, of_second = 2;
    {
        Job second;
        const Communicator& other = second.world();
        check(other.size() == scene.size && other.rank() == scene.rank && second.started_by() == scene.job.started_by(), "another job");
        Request first_sent = scene.world.start_send(of_first, scene.next());
        Request second_sent = other.start_send(of_second, scene.next());
        check(other.receive<int>(scene.previous()) == 2, "the message of the first part came to the second");
        check(scene.world.receive<int>(scene.previous()) == 1, "the message of the second part came to the first");
        first_sent.wait();
        second_sent.wait();
        second.finalize();
        second.finalize();
        scene.world.barrier();
    }
    {
        // A part leaves a request behind, and the last part is told on which communicator.
        Job third;
        int value = 0;
        const Communicator its = third.world().duplicate();
        Request left = its.start_receive(value, scene.next(), 4);
        third.finalize();
        const Error error = expect_error(ErrorCode::state, "a request that another part left", [&] { scene.job.finalize(); });
        check(says(error, fmt::format("a receive of 4 bytes with tag 4 from rank {} of {}", scene.next(), its.name())), "it says '{}'",
              error.what());
        scene.world.barrier();
    }
    rollcall_job* job = nullptr;
    check(rollcall_init(&job) == ROLLCALL_OK && job, "a second job, in C: {}", rollcall_last_error());
    check(rollcall_size(rollcall_world(job)) == scene.size, "it has {} ranks", rollcall_size(rollcall_world(job)));
    check(rollcall_finalize(job) == ROLLCALL_OK, "its end: {}", rollcall_last_error());
    Job last;
    scene.job.finalize();
    last.world().barrier();
    last.finalize();
    if (last.started_by() == "alone") return;
    const Error error = expect_error(ErrorCode::state, "a job after the end", [] { Job another; });
    check(says(error, "already") && !says(error, "find_bootstrap"), "it says '{}'", error.what());
}

// A plugin that brings its own copy of the library is refused, and is no job of one process. Word: the path of the library.
ROLLCALL_SCENARIO(second_copy) {
    void* const copy = ::dlopen(scene.word(0, "").c_str(), RTLD_NOW | RTLD_LOCAL);
    check(copy != nullptr, "the library cannot be loaded");
    const auto init = reinterpret_cast<decltype(&rollcall_init)>(::dlsym(copy, "rollcall_init"));
    const auto last_error = reinterpret_cast<decltype(&rollcall_last_error)>(::dlsym(copy, "rollcall_last_error"));
    check(init != nullptr && init != &rollcall_init && last_error != nullptr, "there is no second copy");
    rollcall_job* job = nullptr;
    const rollcall_status status = init(&job);
    const std::string why = last_error();
    check(status == ROLLCALL_STATE && why.find("another copy") != std::string::npos, "the second copy's job: {} '{}'",
          rollcall_status_name(status), why);
    scene.world.barrier();
}

// Each rank names itself as the root, so that no rank that sends finds one that receives. Words: algorithm, operation, and "end" if that
// was the last call.
ROLLCALL_SCENARIO(crossed_roots) {
    const Communicator part = scene.world.duplicate();
    const std::string algorithm = scene.word(0, "auto");
    CollectiveOptions options;
    options.algorithm = algorithm;  // Without a deadline.
    std::vector<std::uint64_t> all(static_cast<std::size_t>(scene.size), 1);
    const std::string what = scene.word(1, "broadcast");
    const auto call = [&] {
        std::uint64_t value = 7;
        if (what == "broadcast") part.broadcast(value, scene.rank % 2, options);
        if (what == "gather") part.gather(value, all, scene.rank % 2, options);
        if (what == "scatter") part.scatter(all, value, scene.rank % 2, options);
    };
    std::optional<Error> told;
    try {
        call();
    } catch (const Error& error) {
        told = error;
    }
    // A rank whose part was done before the mistake was seen is told by its next call. The wrongly sent data has come by then, because it
    // was sent before these messages.
    for (int peer = 0; peer < scene.size; ++peer) {
        Request send = scene.world.start_send(scene.rank, peer, 5);
        scene.world.receive<int>(peer, 5);
        send.wait();
    }
    const Error error = expect_error(ErrorCode::mismatch, "a call with crossed roots", [&] {
        if (told) throw Error(*told);
        if (scene.word(2) == "end") scene.job.finalize();
        part.barrier();
    });
    check(says(error, "root=0") && says(error, "root=1"), "the roots are not named: {}", error.what());
}

// Ends the job with the exit code in the second word.
ROLLCALL_SCENARIO(aborts_with) {
    scene.world.barrier();
    if (scene.rank == 0) {
        if (scene.word(1) == "c") rollcall_abort(nullptr, scene.number(0, 0), "enough");
        scene.job.abort(scene.number(0, 0), "enough");
    }
    scene.world.receive<int>(0);
}

volatile std::sig_atomic_t asked_to_end = 0;

// All ranks but the first go to a barrier. The first rank interrupts the launcher and comes when all others have been told. The error says
// what is being ended.
ROLLCALL_SCENARIO(interrupts_its_launcher) {
    constexpr std::size_t kWaiting = 0, kTold = 1;
    const auto others = static_cast<std::uint64_t>(scene.size - 1);
    ::signal(SIGTERM, SIG_IGN);  // The launcher's request to end, which comes with the news.
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGCONT, [](int) { asked_to_end = 1; });  // Follows that request.
    if (scene.rank == 0) {
        scene.await(kWaiting, others);
        ::kill(parent_of(::getppid()), SIGINT);  // The guard is between the two.
        scene.await(kTold, others);
    }
    scene.at(kWaiting).fetch_add(1);
    const Error error = expect_error(ErrorCode::peer_failed, "a receive", [&] { scene.world.receive<int>((scene.rank + 1) % scene.size); });
    fmt::print("rank {} told: {}\n", scene.rank, error.what());
    std::fflush(stdout);
    scene.at(kTold).fetch_add(1);
    scene.await(kTold, others + 1);  // A rank that has gone would be reported instead.
    // SIGCONT also takes back the SIGSTOP with which the leak check at the end of the process stops its threads. The check would never end.
    while (!asked_to_end) std::this_thread::sleep_for(milliseconds(1));
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
