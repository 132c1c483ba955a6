/// \file
/// A rank's part in a collective operation without its caller: begun before the caller came, or going on after it has left.
///
/// The header of a collective's message says all that a rank's part follows from. When it reaches a rank whose caller has not come to that
/// operation, the engine begins the same coroutine with landing memory in place of the caller's buffers: it receives, and passes on. The
/// caller gets what came when it comes. And a caller that only brings data leaves as soon as its data has been copied into landing memory:
/// the coroutine goes on from there. ("Solo" collectives, S. Di Girolamo, P. Jolivet, K. D. Underwood, T. Hoefler, "Exploiting offload
/// enabled network interfaces", IEEE Micro 2016, without the network card.)
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/lane/operation.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// What a rank's part in a call needs when it runs without its caller. Sizes in bytes, of the buffers that the rank has.
struct PartAlone {
    Algorithm algorithm = nullptr;  ///< Null: it needs its caller.
    /// It reads nothing of its caller's.
    bool begins_before = false;
    /// It writes nothing of its caller's, but what `own_block` says.
    bool ends_after = false;
    std::uint64_t contribution = 0, data = 0, result = 0;
    /// Where in `data` the block stands that the result is, if it is no more than that. It is copied before the caller leaves.
    std::optional<std::uint64_t> own_block = std::nullopt;
    Combiner combiner = {};
};
/// Says so of this rank (of so many). Given to the runtime by whoever knows the algorithms.
using FindPartAlone = PartAlone (*)(const Call& call, int rank, int ranks) noexcept;

/// Owner-only. Belongs to the engine, which lets it go.
class Deputy final : private transport::Completion {
  public:
    /// `memory` is of the landing budget, and given back at the end. `source`: of whose message (world rank) it began; -1: of none.
    Deputy(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const PartAlone& part,
           const Arguments& memory, int source);
    ~Deputy();
    Deputy(const Deputy&) = delete;
    Deputy& operator=(const Deputy&) = delete;

    /// For the engine's table of those whose caller has not come.
    struct ByCall {
        using Key = CallKey;
        static const CallKey& key(const Deputy& deputy) noexcept { return deputy.operation_.key_; }
        static Deputy*& next(Deputy& deputy) noexcept { return deputy.next_call_; }
    };

  private:
    friend class Engine;
    friend class Operation;

    /// Copies the next buffer between the caller and the memory; then goes on to what follows that.
    void copy_next();
    void complete(transport::Outcome outcome) noexcept override;
    static void ended(Operation& operation, void* deputy);
    bool has_ended() const noexcept { return operation_.done(); }

    enum class Copying : std::uint8_t { nothing, in, out };

    Engine& engine_;
    Operation operation_;
    Arguments memory_;
    std::optional<std::uint64_t> own_block_;
    Operation* caller_ = nullptr;  ///< Who waits for it.
    int source_;
    Copying copying_ = Copying::nothing;
    int copied_ = 0;         ///< Buffers.
    bool expected_ = false;  ///< A caller will come for it, or has come.
    Deputy* next_call_ = nullptr;
    Deputy* next_ = nullptr;  ///< Of all of the engine.
    Deputy* previous_ = nullptr;
};

}  // namespace rollcall::runtime
