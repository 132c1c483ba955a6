/// \file
/// Messages that came before their receives.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/group/call.hpp"
#include "runtime/messages/message.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

class Engine;
class Transfer;

/// A message for which no receive was posted when it came. The number of such messages is bounded: eager ones by credits, landed ones by
/// the landing budget, and offered ones, whose data stays at the sender, by the limit of offers (Backlog) where they are point to point.
/// The number of offered messages of collectives depends on the calls that other ranks have begun and this one has not.
struct EarlyMessage final : transport::Completion {
    enum class Stage : std::uint8_t { held, offered, landing, landed, unreadable };

    void complete(transport::Outcome outcome) noexcept override;
    /// Frees the message, which the tables of its engine no longer hold.
    void let_go() noexcept;
    /// Whether all of its data is in memory of this rank.
    bool has_landed() const noexcept { return stage == Stage::held || stage == Stage::landed; }

    MatchKey key;
    EarlyMessage* match_next = nullptr;
    EarlyMessage* call_next = nullptr;  ///< Links in the table by call, where the message belongs to a collective.
    EarlyMessage* call_previous = nullptr;
    Engine* engine = nullptr;
    EarlyMessage* next = nullptr;  ///< Link in the list of messages that wait for room to land, or for an earlier message.
    EarlyMessage* previous = nullptr;
    Transfer* claimed = nullptr;  ///< A receive that waits for the landing to end.
    transport::Offer offer;
    transport::Bytes buffer;
    Call call;
    std::uint64_t size = 0;
    std::uint32_t charge = 0;  ///< Eager allowance to give back.
    std::uint32_t ordinal = 0;
    Stage stage = Stage::held;
    bool dropped = false;       ///< No receive will want it. It is freed when the landing ends.
    bool from_landing = false;  ///< The buffer counts in the landing budget; otherwise it comes from the heap.
    bool waits_for_landing = false;
    bool awaited = false;  ///< It does not land (kAwaited).
    int caller = -1;       ///< World rank that made the call to which the message belongs.
};

/// An early message that an operation has taken out of the tables without a receive (Operation::take_landed). It holds the data, and what
/// that data takes of the landing budget or of its sender's allowance, until it is destroyed.
class Landed {
  public:
    Landed() = default;
    Landed(EarlyMessage& message, std::uint64_t step) : message_(&message), step_(step) {}
    Landed(Landed&& other) noexcept : message_(std::exchange(other.message_, nullptr)), step_(other.step_) {}
    Landed& operator=(Landed&& other) noexcept {
        std::swap(message_, other.message_);
        std::swap(step_, other.step_);
        return *this;
    }
    ~Landed() {
        if (message_) message_->let_go();
    }

    explicit operator bool() const noexcept { return message_ != nullptr; }
    std::uint64_t step() const noexcept { return step_; }
    transport::Bytes bytes() const noexcept { return {message_->buffer.data, message_->size}; }

  private:
    EarlyMessage* message_ = nullptr;
    std::uint64_t step_ = 0;
};

/// A call whose first message came before its caller.
struct EarlyCall {
    CallKey key;
    Call call;
    bool phantom;
    int caller;  ///< As in EarlyMessage.
};

/// Finds early messages of collectives by their call. Any number of them may have one call, and they leave in any order.
struct ByCall {
    using Key = CallKey;
    static CallKey key(const EarlyMessage& early) noexcept { return {early.key.communicator, early.key.sequence}; }
    static EarlyMessage*& next(EarlyMessage& early) noexcept { return early.call_next; }
    static EarlyMessage*& previous(EarlyMessage& early) noexcept { return early.call_previous; }
};

}  // namespace rollcall::runtime
