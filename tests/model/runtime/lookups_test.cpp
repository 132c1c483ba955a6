// The cost of finding a message, a receive or an operation does not depend on how many there are.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <numeric>
#include <span>

#include "collectives/allgather/dissemination.hpp"
#include "collectives/published/published.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;

// Starts so many broadcasts or gathers at once on each rank, on one rank later than on the others. Returns the cost of an operation, as the
// number of table entries that were looked at.
std::uint64_t steps_each(const char* what, int count, int late, std::uint64_t landing) {
    Simulation::Options options;
    options.landing_bytes = landing;
    options.node_memory = false;
    Simulation simulation(options);
    Step step;
    for (const auto* entry : algorithms(what == std::string("gather") ? runtime::OperationKind::gather : runtime::OperationKind::broadcast))
        if (entry->name == "linear") step.entry = entry;
    step.bytes = 100;
    step.delays = {0, 0};
    step.at_once = true;
    std::vector<Step> steps(static_cast<std::size_t>(count), step);
    steps.front().delays[static_cast<std::size_t>(late)] = kSecond;
    Job job(simulation, std::move(steps));
    job.run();
    job.expect_success();
    return (simulation.engine(0).steps() + simulation.engine(1).steps()) / static_cast<std::uint64_t>(count);
}

TEST(Lookups, CostTheSameWhateverIsOutstanding) {
    for (const char* what : {"broadcast", "gather"})
        for (const int late : {0, 1})
            for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
                const std::uint64_t few = steps_each(what, 100, late, landing), many = steps_each(what, 3000, late, landing);
                EXPECT_LE(many, 2 * few + 10) << fmt::format("{}s, rank {} late, landing of {} bytes", what, late, landing);
            }
}

// Messages that no receive waits for, each with its own tag, and receives that wait for theirs.
TEST(Lookups, CostTheSameWhateverMessagesWait) {
    for (const bool early : {true, false}) {
        std::uint64_t each[2] = {};
        for (const int i : {0, 1}) {
            const int count = i ? 3000 : 100;
            Simulation simulation({});
            Messages messages(simulation);
            for (int tag = 0; tag < count; ++tag) {
                // The last message is received first. A list would find it last.
                messages.receive(1, 0, static_cast<std::uint64_t>(count - 1 - tag), 100, early ? 1'000'000 + tag : tag);
                messages.send(0, 1, static_cast<std::uint64_t>(tag), 100, 1, early ? tag : 1'000'000 + tag);
            }
            simulation.network().run();
            EXPECT_EQ(simulation.engine(1).early_messages(), 0u);
            each[i] = (simulation.engine(0).steps() + simulation.engine(1).steps()) / static_cast<std::uint64_t>(count);
        }
        EXPECT_LE(each[1], 2 * each[0] + 10) << (early ? "early messages" : "receives");
    }
}

// A server waits for the next message of each of many keys.
TEST(Lookups, CostTheSameHoweverManyPeeksWait) {
    std::uint64_t each[2] = {};
    for (const int i : {0, 1}) {
        const std::uint64_t count = i ? 3000 : 100;
        Simulation simulation({});
        Messages messages(simulation);
        runtime::Engine& engine = simulation.engine(1);
        std::deque<runtime::Peek> peeks;
        for (std::uint64_t tag = 0; tag < count; ++tag)
            engine.begin(peeks.emplace_back(runtime::MatchKey{simulation.world(1).group->id, 0, tag, 0}));
        for (std::uint64_t tag = 0; tag < count; ++tag) messages.send(0, 1, count - 1 - tag, 100, 1, tag);
        simulation.network().run();
        for (const runtime::Peek& peek : peeks) EXPECT_TRUE(peek.done() && peek.size == 100);
        each[i] = engine.steps() / count;
    }
    EXPECT_LE(each[1], 2 * each[0] + 10);
}

// The root of a gather comes after all other ranks, which have come in the order of ranks or against it. Returns the root's cost of a
// message.
std::uint64_t steps_of_late_root(int ranks, bool backwards, std::uint64_t landing) {
    Simulation::Options options;
    options.ranks = ranks;
    options.landing_bytes = landing;
    options.node_memory = false;
    Simulation simulation(options);
    Step step;
    for (const auto* entry : algorithms(runtime::OperationKind::gather))
        if (entry->name == "linear") step.entry = entry;
    step.bytes = 100;
    step.delays.push_back(kSecond);
    for (int rank = 1; rank < ranks; ++rank) step.delays.push_back((backwards ? ranks - rank : rank) * Nanoseconds{10'000});
    Job job(simulation, {step});
    job.run();
    job.expect_success();
    return simulation.engine(0).steps() / static_cast<std::uint64_t>(ranks);
}

TEST(Lookups, CostALateRootTheSameHoweverManyRanksWait) {
    for (const bool backwards : {false, true})
        for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
            const std::uint64_t few = steps_of_late_root(50, backwards, landing), many = steps_of_late_root(2000, backwards, landing);
            EXPECT_LE(many, 2 * few + 10) << fmt::format("{} the order of ranks, landing of {} bytes", backwards ? "against" : "in",
                                                         landing);
        }
}

// The first message comes last. The others wait for it, because messages of a peer are received in the order in which they were sent.
std::uint64_t steps_of_overtaken_message(int count) {
    Simulation simulation({});
    runtime::Engine& engine = simulation.engine(0);
    runtime::MessageHeader header;
    header.communicator = simulation.world(0).group->id;
    header.source = 1;
    const auto come = [&](int ordinal) {
        header.ordinal = static_cast<std::uint32_t>(ordinal);
        header.tag = header.ordinal;
        engine.on_message(std::as_bytes(std::span(&header, 1)), {});
    };
    for (int ordinal = 1; ordinal < count; ++ordinal) come(ordinal);
    EXPECT_EQ(engine.early_messages(), 0u);
    come(0);
    EXPECT_EQ(engine.early_messages(), static_cast<std::uint64_t>(count));
    return engine.steps() / static_cast<std::uint64_t>(count);
}

TEST(Lookups, CostAMessageTheSameHoweverManyHaveOvertakenIt) {
    const std::uint64_t few = steps_of_overtaken_message(50), many = steps_of_overtaken_message(3000);
    EXPECT_LE(many, 2 * few + 10);
}

// Whatever the order in which messages come, receives get them in the order in which they were sent.
TEST(Lookups, FindTheNextMessageInWhateverOrderMessagesCome) {
    Random random(1);
    for (int round = 0; round < 100; ++round) {
        Simulation simulation({});
        std::vector<std::uint32_t> order(1 + random.below(30));
        std::iota(order.begin(), order.end(), 0u);
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
        SCOPED_TRACE(fmt::format("round {}, messages come as {}", round, fmt::join(order, " ")));
        runtime::MessageHeader header;
        header.communicator = simulation.world(0).group->id;
        header.source = 1;
        header.tag = 7;
        for (const std::uint32_t ordinal : order) {
            header.ordinal = ordinal;
            simulation.engine(0).on_message(std::as_bytes(std::span(&header, 1)), {&ordinal, sizeof ordinal});
        }
        EXPECT_EQ(simulation.engine(0).early_messages(), order.size());
        Messages messages(simulation);
        for (std::uint32_t expected = 0; expected < order.size(); ++expected) {
            const runtime::Transfer& received = messages.receive(0, 1, header.tag, sizeof expected, 0);
            simulation.network().run();
            ASSERT_TRUE(received.done());
            std::uint32_t got = 0;
            std::memcpy(&got, received.buffer.data, sizeof got);
            ASSERT_EQ(got, expected);
        }
    }
}

// A ring of many places among two ranks: the first one has a place, and the second one all others.
struct Ring {
    int places;
    bool is_backwards;  // The block that is expected last comes first.
    std::array<std::byte, 8> memory = {};
    std::uint64_t looked_at = 0;
    transport::Bytes block() { return {memory.data(), memory.size()}; }
} ring_of_two;

runtime::Task pass_on_all(runtime::Operation& op) {
    collectives::Dissemination ring(op, 1, 1, 0, ring_of_two.places);
    co_await pass_on_until_buffers(op, ring);
    ring.receive([](int) { return ring_of_two.block(); });
    co_await go_on_until_arrival(op, ring);
    ring.send_own(ring_of_two.block());
    co_await go_on_until_complete(op, ring);
    co_await all_sent(op, ring);
    ring_of_two.looked_at = ring.looked_at();
}

runtime::Task be_the_others(runtime::Operation& op) {
    std::vector<runtime::Pending> receives;
    // Block 1 goes no further, because the next place is the one that it comes from.
    for (int number = 0; number < ring_of_two.places; ++number)
        if (number != 1) receives.push_back(op.receive(0, ring_of_two.block(), static_cast<std::uint64_t>(number)));
    for (int i = 1; i < ring_of_two.places; ++i) {
        const int number = ring_of_two.is_backwards ? i : ring_of_two.places - i;
        co_await op.send(0, ring_of_two.block(), static_cast<std::uint64_t>(number));
    }
    co_await op.all_of(receives);
}

// Returns how many blocks the first rank looks at for each block that comes.
std::uint64_t blocks_looked_at(int places, bool is_backwards) {
    ring_of_two = {places, is_backwards};
    Simulation::Options options;
    options.node_memory = false;
    Simulation simulation(options);
    const auto call_of = [](int rank) {
        Simulation::RankCall call;
        call.call.kind = runtime::OperationKind::allgather;
        call.algorithm = rank == 0 ? &pass_on_all : &be_the_others;
        return call;
    };
    const std::vector<Nanoseconds> arrivals(2);
    const auto outcome = simulation.run(call_of, arrivals);
    for (const auto& error : outcome.errors) EXPECT_FALSE(error) << error->what();
    return ring_of_two.looked_at / static_cast<std::uint64_t>(places);
}

TEST(Lookups, CostABlockOfARingTheSameHoweverManyAreAwaited) {
    for (const bool is_backwards : {false, true}) {
        const std::uint64_t few = blocks_looked_at(100, is_backwards), many = blocks_looked_at(3000, is_backwards);
        EXPECT_GT(ring_of_two.looked_at, 0u);
        EXPECT_LE(many, 2 * few + 10) << (is_backwards ? "the last first" : "in the expected order");
    }
}

// Long data is read in pieces. Returns how many parts are looked at for each piece, if a piece has two of them.
std::uint64_t parts_looked_at(std::uint64_t pieces) {
    std::vector<std::byte> memory(pieces * 64);
    std::vector<collectives::Wanted> wanted;
    for (std::uint64_t part = 0; part < 2 * pieces; ++part) wanted.push_back({32 * part, {memory.data() + 32 * part, 32}});
    std::uint64_t sum = 0;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) sum += wanted_in({64 * piece, 64 * (piece + 1)}, wanted).size();
    return sum / pieces;
}

TEST(Lookups, CostAPieceTheSameHoweverManyPartsAreWanted) { EXPECT_EQ(parts_looked_at(2000), parts_looked_at(200)); }

// Parts of random sizes, of which some are empty, with or without gaps.
TEST(Lookups, FindAllPartsThatHaveBytesInAPiece) {
    Random random(2);
    for (int round = 0; round < 1000; ++round) {
        std::vector<collectives::Wanted> wanted;
        std::uint64_t end = 0;
        for (std::uint64_t count = random.below(10); wanted.size() < count;) {
            const std::uint64_t begin = end + random.below(3), size = random.below(4);
            wanted.push_back({begin, {nullptr, size}});
            end = begin + size;
        }
        const std::uint64_t from = random.below(end + 2), to = from + random.below(6);
        const auto found = wanted_in({from, to}, wanted);
        for (const collectives::Wanted& one : wanted) {
            const bool is_found = !found.empty() && &one >= &found.front() && &one <= &found.back();
            const bool has_bytes = one.into.size > 0 && one.begin < to && one.begin + one.into.size > from;
            EXPECT_TRUE(is_found || !has_bytes)
                << fmt::format("round {}: {} bytes at {} in {} to {}", round, one.into.size, one.begin, from, to);
        }
    }
}

}  // namespace
}  // namespace rollcall::model_test
