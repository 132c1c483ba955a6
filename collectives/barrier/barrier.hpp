/// \file
/// The barrier algorithms.
///
/// Notation of the files: n is the number of ranks. In the examples, a->b (or a -> b) means that rank a tells rank b.
#pragma once

#include "collectives/algorithm.hpp"

namespace rollcall::collectives {

Task barrier_linear(Operation& op);
Task barrier_dissemination(Operation& op);
Task barrier_board_linear(Operation& op);
Task barrier_board_all_to_all(Operation& op);

inline constexpr AlgorithmEntry kBarrierAlgorithms[] = {
    {.operation = OperationKind::barrier,
     .name = "linear",
     .aliases = {"central"},
     .algorithm = &barrier_linear,
     .summary = "everybody tells rank 0, which tells everybody"},
    {.operation = OperationKind::barrier,
     .name = "dissemination",
     .algorithm = &barrier_dissemination,
     .summary = "log2 n rounds, in each of which a rank tells one other",
     .paper = "Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988"},
    {.operation = OperationKind::barrier,
     .name = "board_linear",
     .aliases = {"board_central"},
     .algorithm = &barrier_board_linear,
     .summary = "like linear, but by stores into the arrivals boards instead of messages",
     .limits = "made for ranks that share memory; without slots on the board it is linear"},
    {.operation = OperationKind::barrier,
     .name = "board_all_to_all",
     .aliases = {"board"},
     .algorithm = &barrier_board_all_to_all,
     .summary = "everybody writes into everybody's arrivals board, in one step",
     .paper = "Our own",
     .limits = "made for ranks that share memory; without slots on the board it is dissemination"},
};

inline constexpr Rule kBarrierRules[] = {
    {kAnyBytes, 16, named(kBarrierAlgorithms, "board_all_to_all"),
     "ranks that share memory: a store into each one's arrivals board is one step, and no message has to be handled",
     Condition::shared_boards},
    {kAnyBytes, 64, named(kBarrierAlgorithms, "board_linear"),
     "many ranks that share memory: two steps of stores into arrivals boards, and no message has to be handled", Condition::shared_boards},
    {kAnyBytes, 16, named(kBarrierAlgorithms, "linear"), "few ranks: two steps, whatever their number"},
    {kAnyBytes, kAnyRanks, named(kBarrierAlgorithms, "dissemination"),
     "many ranks: log2 n steps, and no rank gets more than log2 n messages"},
};

}  // namespace rollcall::collectives
