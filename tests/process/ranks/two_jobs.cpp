/// \file
/// Scenarios of two running jobs that become connected. The first word is the part of this job: `listens`, which is the job "server", or
/// `connects`, the job "client". The second word is the file by which the invitation is handed over.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tests/process/ranks/event_loop.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

bool listens(const Scene& scene) { return scene.word(0) == "listens"; }

void hand_over(const Listener& listener, const std::string& path) {
    const std::string part = path + ".part";
    std::ofstream(part) << listener.invitation();
    check(std::rename(part.c_str(), path.c_str()) == 0, "{} cannot be made", path);
}

std::string taken(const std::string& path) {
    std::string invitation;
    for (int i = 0; i < 30'000 && !(std::ifstream(path) >> invitation); ++i) sleep_us(2'000);
    check(!invitation.empty(), "there is no invitation");
    return invitation;
}

/// Connects these ranks of both jobs. `number` distinguishes the connections of a scenario.
Intercommunicator connected(const Scene& scene, const Communicator& ranks, int number = 0) {
    const std::string path = scene.word(1) + std::to_string(number);
    if (listens(scene)) {
        const Listener listener(ranks, {.job_name = "server", .port = 0});
        if (ranks.rank() == 0) hand_over(listener, path);
        return listener.accept(kPatience);
    }
    return Intercommunicator::connect(ranks, ranks.rank() == 0 ? taken(path) : "", {.job_name = "client", .timeout = kPatience});
}

/// Messages of unknown sizes, and of C arrays, between ranks that have the same number in their groups.
void exchange_in_further_forms(const Intercommunicator& between) {
    const int other = between.rank();
    if (other >= between.remote_size()) return;
    const int mine[2] = {other, 7};
    int theirs[2] = {-1, -1};
    Request send = between.start_send(mine, other);
    check(between.start_next_size(other).wait().bytes == sizeof mine, "the message that comes has another size");
    check(between.next_size(other) == sizeof mine, "the next message has {} bytes", between.next_size(other));
    std::vector<int> resized;
    check(between.receive_resized(resized, other).bytes == sizeof mine && resized == std::vector(mine, mine + 2), "it brought {} elements",
          resized.size());
    send.wait();
    for (const bool starts : {false, true}) {
        std::fill(theirs, theirs + 2, -1);
        Request receive = starts ? between.start_receive(theirs, other) : Request();
        between.send(mine, other);
        if (starts)
            receive.wait();
        else
            between.receive(theirs, other);
        check(theirs[0] == other && theirs[1] == 7, "an array brought {} and {}", theirs[0], theirs[1]);
    }
    expect_error(ErrorCode::invalid_argument, "a message from no rank", [&] { between.next_size(between.remote_size()); });
    expect_error(ErrorCode::invalid_argument, "a wait for no rank", [&] { between.start_next_size(between.remote_size()); });
}

void check_ended(const Intercommunicator& between) {
    const Error error = expect_error(ErrorCode::state, "a barrier after the end", [&] { between.barrier(); });
    check(says(error, "disconnect()"), "it says '{}'", error.what());
}

}  // namespace

// Third word: a seed. Fourth: "few", where only the connection matters.
ROLLCALL_SCENARIO(two_jobs_exchange) {
    ::setenv("ROLLCALL_HEARTBEET", "a misspelt setting", 1);  // A job reads its settings once, when it is made.
    const Intercommunicator between = connected(scene, scene.world);
    check(between.name() == "server+client", "it is called {}", between.name());
    check(between.remote_world_rank(0) == (listens(scene) ? scene.size : 0), "rank 0 there is {}", between.remote_world_rank(0));
    if (scene.word(3) != "few") exchange_between_groups(between, listens(scene), static_cast<std::uint64_t>(scene.number(2, 1)));
    exchange_in_further_forms(between);
    between.disconnect();
    between.disconnect();
    check_ended(between);
    still_works(between.local());
    still_works(scene.world);

    // Only some ranks of each job, while the others do something else.
    const Communicator part = scene.world.split(scene.rank < 1 + scene.size / 2 ? 0 : Communicator::kNoColor, -scene.rank);
    if (part) {
        const Intercommunicator smaller = connected(scene, part, 1);
        long mine = 100 + part.rank();
        std::vector<long> theirs(static_cast<std::size_t>(smaller.remote_size()));
        smaller.allgather(mine, theirs);
        for (std::size_t i = 0; i < theirs.size(); ++i) check(theirs[i] == 100 + static_cast<long>(i), "it brought {}", theirs[i]);
    }
    still_works(scene.world);  // The last handle is gone, and so is the connection.
}

// Third word: the part of the job of which a rank dies; fourth: the rank, or `all`.
ROLLCALL_SCENARIO(two_jobs_death) {
    const Intercommunicator between = connected(scene, scene.world);
    const Communicator merged = between.merge();
    const bool mine = scene.word(0) == scene.word(2), all = scene.word(3) == "all";
    if (mine && (all || scene.rank == scene.number(3, 0))) {
        try {
            between.barrier();  // All ranks have merged.
        } catch (const Error& error) {
            check(all, "nobody was to die before rank {}: {}", scene.rank, error.what());
        }
        ::kill(::getpid(), SIGKILL);
    }
    const CollectiveOptions patient{.algorithm = {}, .segment_bytes = {}, .timeout = kPatience};
    std::vector<int> block(1000, scene.rank), others(block.size() * static_cast<std::size_t>(between.remote_size()));
    const Error error = expect_error(ErrorCode::peer_failed, "an allgather with a dead rank", [&] {
        between.barrier(patient);
        for (;;) between.allgather(block, others, patient);
    });
    const bool of_server = scene.word(2) == "listens";
    const std::string job = of_server ? "job server" : "job client";
    check(says(error, job), "it does not name the job: {}", error.what());
    if (!all) {
        check(says(error, "(rank " + scene.word(3) + " of " + job), "it does not name the rank: {}", error.what());
        const int of_both = scene.number(3, 0) + (of_server ? 0 : listens(scene) ? scene.size : between.remote_size());
        check(error.failed_rank() == of_both, "it names rank {} of both jobs", error.failed_rank());
    }
    expect_error(ErrorCode::peer_failed, "a call on what was merged", [&] { merged.barrier(patient); });
    fmt::print("rank {} was told of the death\n", scene.rank);
    expect_error(ErrorCode::peer_failed, "the end of the connection", [&] { between.disconnect(); });
    check_ended(between);
    if (mine) return end_without_the_dead(scene);
    still_works(between.local());
    still_works(scene.world);
}

// One job is at its end, or at the end of the connection (third word: "disconnects"), and the other one still calls, and is told so. The
// first job may be told, too, or may reach the end before that. Either call ends the connection, and errors have both names.
ROLLCALL_SCENARIO(two_jobs_end) {
    const Intercommunicator between = connected(scene, scene.world);
    const std::string both = "called disconnect() or finalize()";
    between.barrier();
    if (listens(scene)) {
        try {
            if (scene.word(2) == "disconnects")
                between.disconnect();
            else
                scene.job.finalize();
        } catch (const Error& error) {
            check(error.code() == ErrorCode::mismatch && says(error, both), "the end failed otherwise: {}", error.what());
        }
        return;
    }
    const Error error = expect_error(ErrorCode::mismatch, "a call without the other job", [&] {
        for (;;) between.barrier();
    });
    check(says(error, both), "it says '{}'", error.what());
    between.disconnect();
    still_works(scene.world);
}

// The job that connects leaves the connection because of an exception, and goes on. The other job is told.
ROLLCALL_SCENARIO(two_jobs_unwind) {
    if (!listens(scene)) {
        try {
            const Intercommunicator between = connected(scene, scene.world);
            between.barrier();
            throw std::runtime_error("not of Rollcall");
        } catch (const std::runtime_error&) {
        }
        return still_works(scene.world);
    }
    const Intercommunicator between = connected(scene, scene.world);
    between.barrier();
    const Error error = expect_error(ErrorCode::peer_failed, "a call without the other job", [&] { between.barrier(); });
    check(says(error, "left the connection because of an exception"), "it says '{}'", error.what());
    still_works(scene.world);
}

// A rank hands data over for the other job, which calls something else. It is told so by its job's end, and the job has ended well.
ROLLCALL_SCENARIO(two_jobs_lose_data) {
    const Intercommunicator between = connected(scene, scene.world);
    int value = 1;
    if (listens(scene)) {
        between.broadcast(value, Mine{0});
        scene.world.barrier();
        // The other job makes its call when this one has ended, and answers when it has seen that the calls differ.
        for (int rank = 0; scene.rank == 0 && rank < between.remote_size(); ++rank) between.send(value, rank);
        if (scene.rank == 0) between.receive(value, 0);
        const Error error = expect_error(ErrorCode::mismatch, "the end of a job that lost data", [&] { scene.job.finalize(); });
        check(says(error, "called intergroup_broadcast") && says(error, "called barrier"), "it says '{}'", error.what());
        scene.job.finalize();
        expect_error(ErrorCode::state, "a barrier after the end", [&] { scene.world.barrier(); });
    } else {
        between.receive(value, 0);
        expect_error(ErrorCode::mismatch, "another call than the other job's", [&] { between.barrier(); });
        if (scene.rank == 0) between.send(value, 0);
    }
}

// A program with one event loop for its job and for the connection. The jobs have the same size. Third word: rounds.
ROLLCALL_SCENARIO(two_jobs_event_loop) {
    const Intercommunicator between = connected(scene, scene.world);
    const int other = scene.rank;
    for (int round = 0; round < scene.number(2, 20); ++round) {
        const std::uint64_t bytes = round % 3 == 0 ? 200'000 : 8;
        const auto data_of = [&](bool listener, int rank) {
            std::vector<std::byte> data(bytes);
            for (std::size_t i = 0; i < bytes; ++i)
                data[i] = static_cast<std::byte>(7 * round + 31 * rank + (listener ? 101 : 0) + static_cast<int>(i % 251));
            return data;
        };
        const bool listener = listens(scene);
        std::vector<std::byte> out = data_of(listener, scene.rank), in(bytes), own(bytes);
        // Some rounds end on the connection, and the others in the job.
        sleep_us(listens(scene) == (round % 2 == 0) ? 2000 : 0);
        Request requests[] = {between.start_send(std::span(out), other),
                              between.start_receive(std::span(in), other),
                              between.start_barrier(),
                              scene.world.start_send(std::span(out), scene.next()),
                              scene.world.start_receive(std::span(own), scene.previous()),
                              scene.world.start_barrier()};
        wait_in_event_loop(scene.job, requests);
        check(in == data_of(!listener, other) && own == data_of(listener, scene.previous()), "round {} gave other data", round);
    }
    between.disconnect();
    // A connection that has ended wakes no thread.
    scene.world.barrier();
    int woken = 0;
    for (; woken < 1000; ++woken) {
        while (scene.job.progress()) {
        }
        pollfd entry{scene.job.progress_descriptor(), POLLIN, 0};
        if (scene.job.prepare_to_sleep() && ::poll(&entry, 1, 20) == 0) break;
    }
    check(woken < 1000, "the descriptor is readable though nothing happens");
}

// A rank that waits on the connection still moves the data of its job.
ROLLCALL_SCENARIO(two_jobs_wait) {
    const Intercommunicator between = connected(scene, scene.world);
    std::vector<std::byte> data(1 << 20, static_cast<std::byte>(scene.rank));
    if (scene.size > 1 && scene.rank == 1) {
        Request receive = scene.world.start_receive(std::span(data), 0);
        between.barrier();
        receive.wait();
        check(data.back() == std::byte{0}, "it got other data");
    } else {
        if (scene.size > 1 && scene.rank == 0) scene.world.send(std::span(data), 1);
        between.barrier();
    }
    between.disconnect();
}

// The two jobs have different settings. Third word: what both must be told.
ROLLCALL_SCENARIO(two_jobs_that_differ) {
    const Error error = expect_error(ErrorCode::invalid_setting, "jobs that differ", [&] { connected(scene, scene.world); });
    check(says(error, scene.word(2)), "it says '{}'", error.what());
    still_works(scene.world);
}

// The halves of one job.
ROLLCALL_SCENARIO(refused_connections) {
    const Communicator& world = scene.world;
    const auto soon = std::chrono::milliseconds(200);
    const auto refused = [&](ErrorCode code, const std::string& words, const Communicator& ranks, const std::string& invitation) {
        const Error error =
            expect_error(code, words, [&] { Intercommunicator::connect(ranks, invitation, {.job_name = {}, .timeout = soon}); });
        check(says(error, words), "it says '{}'", error.what());
    };
    refused(ErrorCode::invalid_argument, "not an invitation", world, "come in");
    expect_error(ErrorCode::state, "a null listener", [] { Listener().accept(); });
    expect_error(ErrorCode::invalid_argument, "a long name", [&] {
        Listener(world,
                 {.job_name = "a name that is much longer than any name of a job that a person would read in a sentence", .port = 0});
    });
    const auto handed = [&](std::string text) {
        text.resize(400);
        world.broadcast(std::span(text), 0);
        return std::string(text.c_str());
    };
    {
        const Listener listener(world);
        const std::string invitation = handed(listener.invitation());
        const Error error = expect_error(ErrorCode::timeout, "an accept that nobody hears", [&] { listener.accept(soon); });
        check(says(error, "no job has connected"), "it says '{}'", error.what());
        refused(ErrorCode::timeout, "did not accept in time", world, invitation);
    }
    // A stranger is refused at once, and the one that waits goes on waiting.
    const Communicator half = world.split(scene.rank == 0 ? 0 : 1, scene.rank);
    std::string text(400, ' ');
    Intercommunicator between;
    if (scene.rank == 0) {
        const Listener listener(half, {.job_name = "server", .port = 0});
        world.send(std::span<const char>(listener.invitation()), 1);
        between = listener.accept(kPatience);
    } else {
        if (scene.rank == 1) text.resize(world.receive(std::span(text), 0).bytes);
        std::string wrong = text;
        wrong.back() = wrong.back() == '0' ? '1' : '0';
        const Error stranger = expect_error(ErrorCode::bootstrap, "a wrong key",
                                            [&] { Intercommunicator::connect(half, wrong, {.job_name = {}, .timeout = kPatience}); });
        check(says(stranger, "does not fit"), "it says '{}'", stranger.what());
        between = Intercommunicator::connect(half, text, {.job_name = {}, .timeout = kPatience});
    }
    between.barrier();
    between.disconnect();
    std::string left;
    {
        const Listener listener(world);
        left = handed(listener.invitation());
    }
    refused(ErrorCode::bootstrap, "no job listens there", world, left);
    world.barrier();
}

}  // namespace rollcall::test
