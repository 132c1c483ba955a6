/// \file
/// A deputy: a rank's part in a collective operation that runs without the rank's caller. It begins before the caller has come, or goes on
/// after the caller has left.
///
/// The header of a collective message contains everything that determines a rank's part. When such a message reaches a rank whose caller
/// has not come to that operation, the engine begins the same coroutine, with landing memory in place of the caller's buffers. The
/// coroutine receives data and passes it on. When the caller comes, it gets what has been received. A caller that only contributes data
/// leaves as soon as its data has been copied into landing memory, unless waiting is expected to take less time
/// (deputies_handing_over.cpp); the coroutine goes on from there. Where blocks of other ranks only pass through, the coroutine has no
/// buffers before the caller comes, and sends them on from where they have landed. ("Solo" collectives, S. Di Girolamo, P. Jolivet, K. D.
/// Underwood, T. Hoefler, "Exploiting offload enabled network interfaces", IEEE Micro 2016, without the network card.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/engine/operation.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// What a rank's part in a call needs in order to run without its caller. Sizes are in bytes and describe the buffers that the rank has.
/// Where blocks have sizes of their own, those of the root do not count: its caller has them.
struct PartAlone {
    Algorithm algorithm = nullptr;  ///< Null: the part needs its caller.
    /// It may begin before the caller comes: it reads nothing from the caller's buffers, or `collected` is not 0.
    bool begins_before = false;
    /// If it is begun before the caller: how much memory it needs, in place of the caller's `data`, for what other ranks bring. The
    /// algorithm then waits for the caller before it reads the caller's contribution, and the caller leaves when that has been copied. 0:
    /// it reads nothing of its caller's.
    std::uint64_t collected = 0;
    /// If its caller hands its data over: how much memory it needs besides, in place of the caller's `data`, for what other ranks bring.
    std::uint64_t kept = 0;
    /// How much memory it needs besides, in place of a `data` that its caller does not have, for blocks of other ranks that it passes on.
    std::uint64_t passed_on = 0;
    /// If it is begun before the caller: it needs no memory of its own, because it passes messages on from where they have landed
    /// (Operation::take_landed). When the caller comes, it goes on with the caller's buffers, and the caller stays until the end.
    bool forwards = false;
    /// It writes nothing into its caller's buffers, except what `own_block` says, so that it may go on after the caller has left.
    bool ends_after = false;
    /// If it ends after the caller: it does no more than publish the contribution in node memory, and ends with that copy. So its caller
    /// hands over only if it would wait for readers of an earlier call.
    bool only_publishes = false;
    std::uint64_t contribution = 0, data = 0, result = 0;
    /// If it ends after the caller, and contribution and data have b bytes: a caller that stays is expected to wait for wait + b wait_byte,
    /// and copying them takes b copy_byte. In nanoseconds. wait and wait_byte are 0 where the part waits for other ranks, too.
    double wait = 0, wait_byte = 0, copy_byte = 0;
    /// Where in `data` the rank's own block stands, if the caller's result is only that block. It is copied before the caller leaves.
    std::optional<std::uint64_t> own_block = std::nullopt;
    Combiner combiner = {};
};
/// Returns what the part of `rank` in this call of the group needs. The component that knows the algorithms gives it to the runtime.
using FindPartAlone = PartAlone (*)(const Call& call, int rank, const Group& group) noexcept;

/// Owner-only. The engine owns it and frees it.
class Deputy final : private transport::Completion {
  public:
    /// `memory` counts in the landing budget, and is given back at the end. Its `blocks` are copied. `source`: the world rank whose message
    /// began it; -1: no message did, or the caller has handed its data over meanwhile.
    Deputy(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const PartAlone& part,
           const Arguments& memory, int source);
    ~Deputy();
    Deputy(const Deputy&) = delete;
    Deputy& operator=(const Deputy&) = delete;

    /// A caller waits for it.
    bool has_caller() const noexcept { return caller_ != nullptr; }

    /// For the engine's table of deputies whose caller has not come.
    struct ByCall {
        using Key = CallKey;
        static const CallKey& key(const Deputy& deputy) noexcept { return deputy.operation_.key_; }
        static Deputy*& next(Deputy& deputy) noexcept { return deputy.next_call_; }
    };

  private:
    friend class Deputies;
    friend class Engine;
    friend class Operation;

    /// The caller has come and has arrived. If the part reads the caller's data, copies it first.
    void meet_caller();
    bool awaits_data() const noexcept { return collects_ && !operation_.has_arrived(); }
    /// The caller has come: from now on the part that forwards uses its buffers.
    void take_callers_buffers();
    /// Operation::note_here().
    void note_here(std::uint64_t bytes);
    /// The caller lacks data that is here: it is copied when there is nothing else to do, so that no rank waits for the copy.
    void want_copy_ahead();
    /// Copies up to so many bytes of it. Returns whether there were any.
    bool copy_ahead(std::uint64_t most);
    /// Copies the next buffer between the caller and the memory. After the last one, goes on with what follows.
    void copy_next();
    void go_on_from_copy();
    void complete(transport::Outcome outcome) noexcept override;
    static void ended(Operation& operation, void* deputy);
    bool has_ended() const noexcept { return operation_.done(); }

    enum class Copying : std::uint8_t {
        nothing,
        in,     ///< What the part reads of its caller.
        ahead,  ///< What is here for the caller, while the rest still comes.
        out     ///< What the caller still lacks, at the end.
    };

    Engine& engine_;
    std::vector<Block> blocks_;
    Arguments memory_;
    Operation operation_;
    std::optional<std::uint64_t> own_block_;
    Operation* caller_ = nullptr;  ///< The caller that waits for it.
    int source_;
    Copying copying_ = Copying::nothing;
    int copied_ = 0;  ///< Number of buffers copied.
    /// How much of its data is here and stays as it is, and how much of that has been copied to its caller.
    std::uint64_t here_ = 0, taken_ = 0;
    bool expected_ = false;   ///< Its caller has come, or will come.
    bool collects_ = false;   ///< Its `data` is not its caller's, of which it reads the contribution (PartAlone::collected, kept).
    bool forwards_ = false;   ///< It has no memory of its own (PartAlone::forwards).
    bool passes_on_ = false;  ///< Its `data` is not its caller's (PartAlone::passed_on).
    Deputy* next_call_ = nullptr;
    Deputy* next_ = nullptr;  ///< Link in the list of all deputies (Deputies).
    Deputy* previous_ = nullptr;
};

}  // namespace rollcall::runtime
