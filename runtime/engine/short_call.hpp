/// \file
/// A call through node memory in which this rank publishes one thing for others, or reads one thing that another rank has published, or
/// does both with its only partner, and that is short (ShortExchange::suits). Where nothing else is under way, and what it reads is there
/// or comes within a microsecond, it ends at once, without an Operation, and with a third of the instructions. Other ranks notice no
/// difference.
#pragma once

#include <cstdint>

#include "foundation/combiner.hpp"
#include "runtime/engine/arguments.hpp"
#include "runtime/engine/communicator_state.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class Engine;

/// What a rank does. Ranks are those of the communicator.
struct ShortMove {
    enum class Does : std::uint8_t {
        more,  ///< It does more than that.
        publish,
        read,
        exchange  ///< It publishes, and reads what its partner publishes. There are two ranks.
    };
    Does does = Does::more;
    bool for_everybody = false;    ///< What is published is for all other ranks, and not for one.
    int partner = -1;              ///< The rank that has published it, or for which it is published, unless that is for all.
    transport::ConstBytes data{};  ///< What is published.
    transport::Bytes place{};      ///< Where what is read goes.
    transport::ConstBytes own{};   ///< What this rank copies from itself, if there is such data,
    transport::Bytes own_place{};  ///< and where it goes.
    /// Null, or what is read is combined with `own`, in the order of ranks, into `place`. Nothing else is copied.
    const Combiner* combiner = nullptr;
};

/// What this rank does in a call whose blocks have one size.
using ShortMoveOf = ShortMove (*)(const Arguments& arguments, const Call& call, int rank, int ranks);

/// Makes the call at this sequence number of the communicator, if it can end at once. What it reads may come while it looks for it `looks`
/// times more. Returns false if it cannot end: an Operation must make it, or the rest of it (CommunicatorState::shown_at_once). Owner-only.
bool end_at_once(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const ShortMove& move,
                 unsigned looks);

}  // namespace rollcall::runtime
