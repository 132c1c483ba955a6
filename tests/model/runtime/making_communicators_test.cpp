// Calls on a communicator that some ranks have made already, and others are still making.
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/decoupled.hpp"
#include "tests/model/runtime/made.hpp"

namespace rollcall::model_test::decoupled {
namespace {

// The messages of a call come to a rank that is still making the communicator. Its part begins when it has made the communicator, before
// its caller comes.
TEST(Decoupled, BeginsWhenTheCommunicatorIsThere) {
    for (const char* const name : {"pipelined", "binomial"}) {
        const AlgorithmEntry& entry = broadcast(name);
        Simulation simulation(machine(4, 0));
        Made made(simulation);
        made.add(0);
        made.add(3);
        std::vector<std::vector<std::byte>> memory(4);
        std::vector<std::unique_ptr<Operation>> calls(4);
        const auto begin = [&](int rank) {
            const auto at = static_cast<std::size_t>(rank);
            memory[at].assign(1000, rank == 0 ? std::byte{7} : std::byte{0});
            const OperationRow& row = collectives::operation(OperationKind::broadcast);
            calls[at] = std::make_unique<Operation>(made.state(rank), 1, collectives::make_call(entry, 0, 1000, 0), entry.algorithm,
                                                    collectives::arguments_of(row, {.data = memory[at].data()}, 1000, 4, rank == 0));
            simulation.engine(rank).begin(*calls[at]);
            simulation.network().run();
        };
        begin(0);
        begin(3);
        EXPECT_FALSE(calls[3]->done()) << name;
        for (const int rank : {1, 2}) {
            made.add(rank);
            simulation.engine(rank).progress();
            simulation.network().run();
        }
        ASSERT_TRUE(calls[3]->done()) << name << ": ranks 1 and 2 have not called";
        EXPECT_EQ(memory[3], memory[0]);
        for (const int rank : {1, 2}) begin(rank);
        for (const int rank : {1, 2}) EXPECT_EQ(memory[static_cast<std::size_t>(rank)], memory[0]);
    }
}

}  // namespace
}  // namespace rollcall::model_test::decoupled
