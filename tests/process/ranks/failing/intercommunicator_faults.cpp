/// \file
/// Scenarios of two groups whose calls are wrong or do not match, or one of whose ranks dies.
#include <functional>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {

// A wrong argument is reported where it is wrong. Calls that do not match are reported to all.
ROLLCALL_SCENARIO(wrong_intercommunicators) {
    const Communicator& world = scene.world;
    const std::vector<int> first{0}, others{1, 2}, twice{0, 1}, none, outside{7};
    const auto refused = [&](const std::vector<int>& one, const std::vector<int>& other) {
        expect_error(ErrorCode::invalid_argument, "groups that are none", [&] { world.create_intercommunicator(one, other); });
    };
    refused(none, others);
    refused(first, none);
    refused(twice, others);
    refused(first, outside);
    expect_error(ErrorCode::state, "a null one", [] { Intercommunicator().size(); });

    const auto fresh = [&] { return world.create_intercommunicator(first, others); };
    const Intercommunicator between = fresh();
    const bool is_first = scene.rank == 0;
    std::vector<int> block(10, scene.rank), all(is_first ? 20 : 10);
    expect_error(ErrorCode::invalid_argument, "a rank of nobody", [&] { between.send(block, 2); });
    expect_error(ErrorCode::invalid_argument, "a root of nobody", [&] { between.broadcast(block, Mine{5}); });
    expect_error(ErrorCode::invalid_argument, "an algorithm where there is none",
                 [&] { between.broadcast(block, Mine{0}, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}}); });
    if (is_first) {
        std::vector<int> uneven(3);
        expect_error(ErrorCode::invalid_argument, "blocks that are none", [&] { between.allgather(block, uneven); });
        const std::vector<int> constant(20);
        expect_error(ErrorCode::invalid_argument, "a place that is const", [&] { between.gather(constant, Mine{0}); });
    }
    const std::vector<int> short_list(is_first ? 1 : 0, 1);
    expect_error(ErrorCode::invalid_argument, "a list that is too short",
                 [&] { between.alltoall(block, Blocks(short_list), all, Blocks(short_list)); });
    const auto overwrites = [&](const char* what, const std::function<void()>& call) {
        const Error error = expect_error(ErrorCode::invalid_argument, what, call);
        check(std::string(error.what()).find("would overwrite") != std::string::npos, "it says '{}'", error.what());
    };
    void* const same = all.data();
    const std::uint64_t bytes_of_block = block.size() * sizeof(int), bytes_of_all = all.size() * sizeof(int);
    const std::vector<int> own_counts(is_first ? 2 : 1, 10);
    overwrites("an alltoall in place", [&] { between.alltoall(all, all); });
    overwrites("a started alltoall in place", [&] { between.start_alltoall(all, all); });
    overwrites("an alltoall of own sizes in place", [&] { between.alltoall(all, Blocks(own_counts), all, Blocks(own_counts)); });
    overwrites("an allgather in place", [&] { between.allgather(same, bytes_of_block, same, bytes_of_all); });
    between.alltoall(same, 0, same, 0);
    between.allgather(block, all);  // Nothing of the wrong calls reached any rank.

    // An allreduce may be in place.
    for (const std::size_t count : {1, 1000, 300'000}) {
        std::vector<int> elements(count, scene.rank);
        between.allreduce(elements, elements, sum);
        check(elements == std::vector<int>(count, is_first ? 3 : 0), "an allreduce of {} elements in place", count);
    }

    // Groups that count different sizes, and ranks that call different operations.
    const auto differs = [&](const std::string& what, const std::function<void(const Intercommunicator&)>& call) {
        const Intercommunicator one = fresh();
        const Error error = expect_error(ErrorCode::mismatch, what, [&] {
            call(one);
            for (;;) one.barrier();  // A rank that was done is told at one of its next calls.
        });
        check(std::string(error.what()).find("intergroup_") != std::string::npos, "it says '{}'", error.what());
        return std::string(error.what());
    };
    differs("blocks of another size", [&](const Intercommunicator& one) {
        std::vector<int> room(is_first ? 20 : 9);
        one.allgather(block, room);
    });
    const std::vector<int> counted = is_first ? std::vector<int>{10, 9} : std::vector<int>{10};
    differs("own sizes that are not these", [&](const Intercommunicator& one) { one.allgather(block, all, Blocks(counted)); });
    const IntergroupRoot root = is_first ? IntergroupRoot(Mine{0}) : IntergroupRoot(Theirs{0});
    const auto at_root = [&] { return is_first ? Blocks(counted) : Blocks(); };
    const auto says = [&](const std::string& words, const std::string& what) {
        check(what.find(words) != std::string::npos, "'{}' does not say '{}'", what, words);
    };
    const std::string root_counts = "the root counts 9 bytes for rank 1 of the second group, but its block has 10";
    std::vector<char> bytes(10), all_bytes(20), room(20);
    says(root_counts, differs("a gather of other sizes",
                              [&](const Intercommunicator& one) { one.gather(is_first ? all_bytes : bytes, at_root(), root); }));
    says(root_counts, differs("a scatter of other sizes",
                              [&](const Intercommunicator& one) { one.scatter(is_first ? all_bytes : bytes, at_root(), root); }));
    says("rank 1 of the second group sends 10 bytes to rank 0 of the first group, which counts 9 from it",
         differs("an alltoall of other sizes", [&](const Intercommunicator& one) {
             const std::vector<int> sent(is_first ? 2 : 1, 10);
             one.alltoall(is_first ? all_bytes : bytes, Blocks(sent), room, Blocks(counted));
         }));
    differs("blocks of one size and of own sizes", [&](const Intercommunicator& one) {
        if (scene.rank == 2)
            one.gather(block, root);
        else
            one.gather(is_first ? all : block, at_root(), root);
    });
    differs("another operation", [&](const Intercommunicator& one) {
        if (scene.rank == 2)
            one.gather(block, Theirs{0});
        else
            one.broadcast(block, is_first ? IntergroupRoot(Mine{0}) : IntergroupRoot(Theirs{0}));
    });
    differs("another root", [&](const Intercommunicator& one) {
        if (scene.rank == 0)
            one.broadcast(block, Mine{0});
        else
            one.broadcast(block, Mine{scene.rank - 1});
    });
    world.barrier();
}

// The first rank has no part in what is planned, because the root is another rank of its group.
ROLLCALL_SCENARIO(plans_without_a_part) {
    const std::vector<int> first{0, 1}, second{2, 3};
    const Intercommunicator between = scene.world.create_intercommunicator(first, second);
    const IntergroupRoot root = scene.rank < 2 ? IntergroupRoot(Mine{1}) : IntergroupRoot(Theirs{1});
    std::vector<int> data(8);
    const auto explains = [&](const char* what, const std::string& says) {
        const bool has_no_part = says.find("this rank has no part") != std::string::npos;
        check(has_no_part == (scene.rank == 0), "a plan of a {} explains itself by '{}'", what, says);
        check(has_no_part || says.find(" 3 ranks: ") != std::string::npos, "{}: '{}'", what, says);  // the root and the other group
        check(says.starts_with("intergroup_") && says.find("18446744073709551615") == std::string::npos, "{}: '{}'", what, says);
    };
    explains("broadcast", between.plan_broadcast(data, root).explanation());
    explains("reduce", between.plan_reduce(data, sum, root).explanation());
    const std::vector<int> counts(2, 4);
    const Blocks blocks = scene.rank == 1 ? Blocks(counts) : Blocks();
    std::vector<int> part(scene.rank == 1 ? 8 : 4);
    explains("scatter", between.plan_scatter(part, blocks, root).explanation());

    const auto differ = [&](const char* what, const std::function<void()>& plan) {
        const Error error = expect_error(ErrorCode::mismatch, what, plan);
        check(std::string(error.what()).find("rank 1 plans") != std::string::npos, "it says '{}'", error.what());
    };
    std::vector<int> other(scene.rank == 3 ? 16 : 8);
    differ("a plan of another size", [&] { between.plan_broadcast(other, root); });
    differ("a plan of another reduction", [&] {
        if (scene.rank == 3)
            between.plan_reduce(data, maximum, root);
        else
            between.plan_reduce(data, sum, root);
    });
    scene.world.barrier();
}

// What is chosen between a root and another group does not depend on the nodes of the root's group. Eight ranks, two on each node. A rank
// of the other group prints what its job chooses.
ROLLCALL_SCENARIO(nodes_of_the_roots_group) {
    std::string said;
    for (const std::vector<int>& first : {std::vector<int>{0}, std::vector<int>{0, 2}}) {
        const Intercommunicator between = scene.world.create_intercommunicator(first, std::vector<int>{4, 5, 6, 7});
        if (!between) continue;
        std::vector<char> message(1 << 20);
        const IntergroupRoot root = scene.rank < 4 ? IntergroupRoot(Mine{0}) : IntergroupRoot(Theirs{0});
        const Plan plan = between.plan_broadcast(message, root, {.algorithm = "auto", .segment_bytes = {}, .timeout = {}});
        if (scene.rank != 4) continue;
        check(said.empty() || plan.explanation() == said, "with one node '{}', with two '{}'", said, plan.explanation());
        said = plan.explanation();
    }
    if (scene.rank == 4) fmt::print("{}\n", said);
    scene.world.barrier();
}

// The last rank of the second group dies. All others are told its name, whatever they do. Word: the operation that all call meanwhile. Its
// root is the first rank, so that most ranks of its group have no part.
ROLLCALL_SCENARIO(death_between_groups) {
    const std::string operation = scene.word(0, "allgather");
    std::vector<int> first, second;
    for (int rank = 0; rank < scene.size; ++rank) (rank < scene.size / 2 ? first : second).push_back(rank);
    const Intercommunicator between = scene.world.create_intercommunicator(first, second);
    std::vector<int> block(10'000, scene.rank), all(block.size() * static_cast<std::size_t>(between.remote_size()));
    // All ranks connect with each other first: UCX 1.13 aborts a process if another one dies while the two of them connect.
    const std::vector<int> from(static_cast<std::size_t>(scene.size));
    std::vector<int> into(from.size());
    scene.world.alltoall(from, into, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
    between.allgather(block, all);
    scene.at(0).fetch_add(1);
    if (scene.rank == scene.size - 1) {
        scene.await(0, static_cast<std::uint64_t>(scene.size));  // All ranks have ended that operation.
        ::kill(::getpid(), SIGKILL);
    }
    const bool is_first = scene.rank < scene.size / 2;
    const IntergroupRoot root = is_first ? IntergroupRoot(Mine{0}) : IntergroupRoot(Theirs{0});
    const CollectiveOptions in_time{.algorithm = {}, .segment_bytes = {}, .timeout = std::chrono::seconds(60)};
    std::vector<int> result(block.size()), exchanged(all.size());
    const Error error = expect_error(ErrorCode::peer_failed, "an operation with a dead rank", [&] {
        for (;;) {
            if (operation == "broadcast")
                between.broadcast(block, root, in_time);
            else if (operation == "scatter")
                between.scatter(is_first ? all : block, root, in_time);
            else if (operation == "gather")
                between.gather(is_first ? all : block, root, in_time);
            else if (operation == "reduce")
                between.reduce(block, sum, root, in_time);
            else if (operation == "allreduce")
                between.allreduce(block, result, sum, in_time);
            else if (operation == "alltoall")
                between.alltoall(all, exchanged, in_time);
            else
                between.allgather(block, all, in_time);
        }
    });
    check(error.failed_rank() == scene.size - 1, "it names rank {}", error.failed_rank());
    fmt::print("rank {} was told of the death\n", scene.rank);
    // All ranks are told before one leaves: a rank that has left is gone, too.
    scene.at(1).fetch_add(1);
    scene.await(1, static_cast<std::uint64_t>(scene.size - 1));
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
