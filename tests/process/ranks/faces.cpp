/// \file
/// Scenarios of the functions for collective operations: each in all its forms, and impossible sizes.
#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/collective.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

using collectives::OperationRow;

// Every function that a program can call, in each of its forms.
ROLLCALL_SCENARIO(faces) {
    const Communicator& world = scene.world;
    const auto ranks = static_cast<std::size_t>(scene.size);
    const int root = scene.size - 1;
    const bool is_root = scene.rank == root;
    int round = 0;
    const auto broadcast = [&](const std::function<void(std::span<int>)>& call) {
        std::vector<int> data(3, is_root ? ++round : (++round, -1));
        call(data);
        for (const int value : data) check(value == round, "broadcast {} gave {}", round, value);
    };
    broadcast([&](std::span<int> data) { world.broadcast(static_cast<void*>(data.data()), data.size_bytes(), root); });
    broadcast([&](std::span<int> data) { world.broadcast(data, root); });
    broadcast([&](std::span<int> data) {
        for (int& value : data) world.broadcast(value, root);
    });
    broadcast([&](std::span<int> data) { world.start_broadcast(static_cast<void*>(data.data()), data.size_bytes(), root).wait(); });
    broadcast([&](std::span<int> data) { world.start_broadcast(data, root).wait(); });
    broadcast([&](std::span<int> data) {
        world.start_broadcast(data[2], root).wait();
        world.start_broadcast(data.first<2>(), root).wait();
    });
    broadcast([&](std::span<int> data) { world.plan_broadcast(static_cast<void*>(data.data()), data.size_bytes(), root).run(); });
    broadcast([&](std::span<int> data) { world.plan_broadcast(data, root).run(); });
    broadcast([&](std::span<int> data) {
        for (int& value : data) world.plan_broadcast(value, root).run();
    });

    const auto scatter = [&](const std::function<void(std::span<const int>, std::span<int>)>& call) {
        std::vector<int> all(is_root ? 2 * ranks : 0), block(2, -1);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i) + round;
        call(all, block);
        for (int i = 0; i < 2; ++i)
            check(block[static_cast<std::size_t>(i)] == 2 * scene.rank + i + round, "a scatter gave {}",
                  block[static_cast<std::size_t>(i)]);
        ++round;
    };
    const auto bytes = [](auto span) {
        return static_cast<std::conditional_t<std::is_const_v<typename decltype(span)::element_type>, const void*, void*>>(span.data());
    };
    scatter([&](auto all, auto block) { world.scatter(bytes(all), bytes(block), block.size_bytes(), root); });
    scatter([&](auto all, auto block) { world.scatter(all, block, root); });
    scatter([&](auto all, auto block) { world.start_scatter(bytes(all), bytes(block), block.size_bytes(), root).wait(); });
    scatter([&](auto all, auto block) { world.start_scatter(all, block, root).wait(); });
    scatter([&](auto all, auto block) { world.plan_scatter(bytes(all), bytes(block), block.size_bytes(), root).run(); });
    scatter([&](auto all, auto block) { world.plan_scatter(all, block, root).run(); });
    // One element each, by the call, a request and a plan. An argument that only the root needs may be {} elsewhere.
    for (int form = 0; form < 3; ++form) {
        std::vector<int> all(ranks);
        for (std::size_t i = 0; i < ranks; ++i) all[i] = static_cast<int>(i) + ++round;
        int own = -1;
        switch (form) {
            case 0: is_root ? world.scatter(all, own, root) : world.scatter({}, own, root); break;
            case 1: (is_root ? world.start_scatter(all, own, root) : world.start_scatter({}, own, root)).wait(); break;
            case 2: (is_root ? world.plan_scatter(all, own, root) : world.plan_scatter({}, own, root)).run(); break;
        }
        check(own == all[static_cast<std::size_t>(scene.rank)], "a scatter of single elements gave {}", own);
        int expected = own * 10, back = expected;
        std::vector<int> collected(ranks, -1);
        switch (form) {
            case 0: is_root ? world.gather(back, collected, root) : world.gather(back, {}, root); break;
            case 1: (is_root ? world.start_gather(back, collected, root) : world.start_gather(back, {}, root)).wait(); break;
            case 2: (is_root ? world.plan_gather(back, collected, root) : world.plan_gather(back, {}, root)).run(); break;
        }
        for (std::size_t i = 0; is_root && i < ranks; ++i)
            check(collected[i] == 10 * all[i], "a gather of single elements gave {}", collected[i]);
    }

    const auto gather = [&](const std::function<void(std::span<const int>, std::span<int>)>& call) {
        std::vector<int> all(is_root ? ranks : 0, -1);
        const int mine[] = {scene.rank + ++round};
        call(mine, all);
        for (std::size_t i = 0; i < all.size(); ++i) check(all[i] == static_cast<int>(i) + round, "a gather gave {}", all[i]);
    };
    gather([&](auto block, auto all) { world.gather(bytes(block), bytes(all), block.size_bytes(), root); });
    gather([&](auto block, auto all) { world.gather(block, all, root); });
    gather([&](auto block, auto all) { world.start_gather(bytes(block), bytes(all), block.size_bytes(), root).wait(); });
    gather([&](auto block, auto all) { world.start_gather(block, all, root).wait(); });
    gather([&](auto block, auto all) { world.plan_gather(bytes(block), bytes(all), block.size_bytes(), root).run(); });
    gather([&](auto block, auto all) { world.plan_gather(block, all, root).run(); });

    world.barrier(std::chrono::seconds(60));
    world.barrier({.algorithm = "linear", .segment_bytes = {}, .timeout = std::chrono::seconds(60)});
    world.start_barrier({.algorithm = "dissemination", .segment_bytes = {}, .timeout = std::chrono::seconds(60)}).wait();
    Plan plan = world.plan_barrier();
    for (std::uint64_t i = 1; i <= 20; ++i) {
        plan.begin();
        if (i % 3 == 0) plan.edge(0.5);
        scene.at(0).fetch_add(1);
        plan.run();
        check(scene.at(0).load() >= i * ranks, "planned barrier {} was left when {} had entered", i, scene.at(0).load());
    }
    check(plan.explanation().starts_with("barrier of "), "it says '{}'", plan.explanation());
    for (const OperationRow& row : collectives::operations()) {
        const std::string name(runtime::name(row.kind));
        const std::string why = world.explain(name, row.moves_data ? 8 : 0);
        check(why.starts_with(name + (row.moves_data ? " of 8 bytes " : " of ")), "it says '{}'", why);
    }
    // Sizes that the calls would refuse. A broadcast has no blocks of different sizes.
    for (const auto& [operation, too_many] :
         {std::pair("broadcast", kOwnSizes), {"scatter", std::uint64_t{1} << 63}, {"reduce", kOwnSizes - 1}}) {
        const Error refused = expect_error(ErrorCode::invalid_argument, operation, [&] { world.explain(operation, too_many); });
        check(says(refused, "more than a buffer can have"), "it says '{}'", refused.what());
    }
    const Error unknown = expect_error(ErrorCode::invalid_argument, "an unknown operation", [&] { world.explain("reduce everything", 8); });
    check(
        std::string(unknown.what())
                .find(
                    "broadcast, scatter, gather, allgather, alltoall, reduce, allreduce, reduce_scatter, scan, exclusive_scan, barrier") !=
            std::string::npos,
        "it says '{}'", unknown.what());
}

// The types that programs use: containers, arrays and structures.
ROLLCALL_SCENARIO(containers) {
    const Communicator& world = scene.world;
    const int root = scene.size / 2;
    const bool is_root = scene.rank == root;
    std::vector<double> vector(5, is_root ? 1.5 : 0);
    world.broadcast(vector, root);
    check(vector == std::vector<double>(5, 1.5), "a vector came differently");
    std::array<short, 3> array = is_root ? std::array<short, 3>{1, 2, 3} : std::array<short, 3>{};
    world.start_broadcast(array, root).wait();
    check(array == std::array<short, 3>{1, 2, 3}, "an array came differently");
    long plain[2] = {is_root ? 7 : 0, is_root ? 8 : 0};
    world.broadcast(plain, root);
    check(plain[0] == 7 && plain[1] == 8, "a plain array came differently");
    std::string text = is_root ? "what rank 0 says" : std::string(16, ' ');
    world.plan_broadcast(text, root).run();
    check(text == "what rank 0 says", "a string came as '{}'", text);
    std::pair<int, double> pair{is_root ? 3 : 0, is_root ? 0.25 : 0};
    world.broadcast(pair, root);
    check(pair == std::pair(3, 0.25), "a pair came differently");
    std::vector<std::pair<char, int>> pairs(3, {is_root ? 'x' : ' ', is_root ? 9 : 0});
    world.broadcast(pairs, root);
    check(pairs == std::vector<std::pair<char, int>>(3, {'x', 9}), "pairs came differently");

    // Messages. With a character array, a length in bytes counts, whatever the length of the array.
    const char letters[8] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    Request first = world.start_send(letters, 3, scene.next(), 1);
    char got[8] = {};
    check(world.receive(got, sizeof got, scene.previous(), 1).bytes == 3 && std::string(got) == "abc", "characters came as '{}'", got);
    first.wait();
    Request all = world.start_send(letters, scene.next());
    check(world.receive(got, scene.previous()).bytes == 8 && got[7] == 'h', "an array of characters came differently");
    all.wait();
    const std::string said = fmt::format("rank {} says so", scene.rank);
    Request string = world.start_send(std::string_view(said), scene.next(), 2);
    std::string heard;
    check(world.receive_resized(heard, scene.previous(), 2).bytes == heard.size(), "a string has another size than it says");
    check(heard == fmt::format("rank {} says so", scene.previous()), "a string came as '{}'", heard);
    string.wait();
    Request sent = world.start_send(pair, scene.next(), 3);
    check(world.receive<std::pair<int, double>>(scene.previous(), 3) == pair, "a pair came differently");
    sent.wait();
    std::tuple<int, float> tuple{scene.rank, 0.5F}, other;
    Request its = world.start_send(tuple, scene.next(), 4);
    world.receive(other, scene.previous(), 4);
    check(other == std::tuple(scene.previous(), 0.5F), "a tuple came differently");
    its.wait();
    // An object receives only a message of exactly its size. A range is filled as far as the message goes.
    Request few = world.start_send(array, scene.next(), 5);
    double value = 0;
    expect_error(ErrorCode::mismatch, "six bytes for a double", [&] { world.receive(value, scene.previous(), 5); });
    few.wait();
    few = world.start_send(array, scene.next(), 6);
    std::vector<short> room(10, -1);
    check(world.receive(room, scene.previous(), 6).count<short>() == 3 && room[2] == 3 && room[3] == -1, "a vector was filled differently");
    few.wait();
}

// Sizes that no memory has are refused on every rank, in one sentence, and do no harm.
ROLLCALL_SCENARIO(impossible_sizes) {
    constexpr std::uint64_t kMost = collectives::kMostBytes;
    std::vector<std::byte> memory(64);
    const collectives::Buffers buffers = {.contribution = memory.data(), .data = memory.data(), .result = memory.data()};
    const auto refused = [&](const std::string& caller, std::uint64_t bytes, const std::function<void()>& call) {
        const Error error = expect_error(ErrorCode::invalid_argument, fmt::format("{} of {} bytes", caller, bytes), call);
        const std::string what = error.what();
        check(what.starts_with(caller) &&
                  what.find(fmt::format("{} bytes are more than a buffer can have: {} at most", bytes, kMost)) != std::string::npos,
              "it says '{}'", what);
    };
    for (const OperationRow& row : collectives::operations()) {
        if (!row.moves_data) continue;
        std::vector<std::uint64_t> sizes = {kMost + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 7};
        // The product with the number of ranks overflows to a small number, or is just too large.
        if (row.in_blocks && scene.size > 1)
            sizes.insert(sizes.end(), {~std::uint64_t{0} / static_cast<std::uint64_t>(scene.size) + 1,
                                       kMost / static_cast<std::uint64_t>(scene.size) + 1});
        for (const std::uint64_t bytes : sizes) {
            const Collective call(scene.world, row.kind, buffers, bytes, 0);
            const std::string operation(name(row.kind));
            refused(operation, bytes, [&] { call.call(); });
            refused("start_" + operation, bytes, [&] { call.start(); });
            refused("plan_" + operation, bytes, [&] { call.plan(); });
        }
    }
    for (const std::uint64_t bytes : {kMost + 1, ~std::uint64_t{0}}) {
        refused("send", bytes, [&] { scene.world.send(memory.data(), bytes, scene.next()); });
        refused("receive", bytes, [&] { scene.world.receive(memory.data(), bytes, scene.previous()); });
        refused("start_send", bytes, [&] { scene.world.start_send(memory.data(), bytes, scene.next()); });
        refused("start_receive", bytes, [&] { scene.world.start_receive(memory.data(), bytes, scene.previous()); });
    }
    int value = scene.rank;
    scene.world.broadcast(value, 0);
    check(value == 0, "a broadcast afterwards gave {}", value);
}

}  // namespace rollcall::test
