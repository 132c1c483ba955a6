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
Task barrier_two_level(Operation& op);

inline constexpr AlgorithmEntry kBarrierAlgorithms[] = {
    {.operation = OperationKind::barrier,
     .name = "linear",
     .aliases = {"central"},
     .algorithm = &barrier_linear,
     .summary = "each rank tells rank 0 that it is there, and then rank 0 tells all ranks",
     .cost = &cost::barrier_linear},
    {.operation = OperationKind::barrier,
     .name = "dissemination",
     .algorithm = &barrier_dissemination,
     .summary = "log2 n rounds; in each, a rank tells one other rank",
     .paper = "Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988",
     .cost = &cost::barrier_dissemination},
    {.operation = OperationKind::barrier,
     .name = "board_linear",
     .aliases = {"board_central"},
     .algorithm = &barrier_board_linear,
     .summary = "like linear, but by stores into the arrivals boards instead of messages",
     .limits = "made for ranks that share memory; if the board has no slots left, it is linear"},
    {.operation = OperationKind::barrier,
     .name = "board_all_to_all",
     .aliases = {"board"},
     .algorithm = &barrier_board_all_to_all,
     .summary = "each rank writes into the arrivals boards of all ranks, in one step",
     .paper = "Our own",
     .limits = "made for ranks that share memory; if the board has no slots left, it is dissemination"},
    {.operation = OperationKind::barrier,
     .name = "two_level",
     .aliases = {"2l"},
     .algorithm = &barrier_two_level,
     .summary = "the ranks of a node tell one of them through their memory; these ranks run dissemination, and tell the others",
     .paper = kCheetah,
     .needs = Condition::several_nodes,
     .cost = &cost::barrier_two_level},
};

inline constexpr Rule kBarrierRules[] = {
    {kAnyBytes, 16, named(kBarrierAlgorithms, "board_all_to_all"),
     "few ranks that share memory: a store into the arrivals board of each rank is one step, and no rank handles a message",
     Condition::shared_boards},
    {kAnyBytes, 64, named(kBarrierAlgorithms, "board_linear"),
     "many ranks that share memory: two steps of stores into arrivals boards, and no rank handles a message", Condition::shared_boards},
    {kAnyBytes,
     kAnyRanks,
     named(kBarrierAlgorithms, "two_level"),
     "several ranks a node: messages only between nodes, and all others through node memory, and the lowest estimate decides",
     Condition::several_nodes,
     nullptr,
     {named(kBarrierAlgorithms, "linear"), named(kBarrierAlgorithms, "dissemination")}},
    {kAnyBytes, 16, named(kBarrierAlgorithms, "linear"), "few ranks: two steps are enough"},
    {kAnyBytes, kAnyRanks, named(kBarrierAlgorithms, "dissemination"),
     "many ranks: log2 n steps, and each rank receives only log2 n messages"},
};

}  // namespace rollcall::collectives
