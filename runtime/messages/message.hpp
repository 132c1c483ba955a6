/// \file
/// The headers of messages, and the keys by which messages are matched with receives.
#pragma once

#include <cstdint>

#include "runtime/group/call.hpp"

namespace rollcall::runtime {

enum class MessageKind : std::uint8_t {
    point_to_point,
    point_to_point_compact,  ///< A point-to-point message with a CompactHeader.
    collective,
    credit,     ///< Only gives eager allowance back.
    nudge,      ///< Only wakes a sleeping owner, because its board was written.
    retract,    ///< The sender of an offered message gave up: drop the offer.
    probe,      ///< "I wait for you in this call". The receiver compares it with its own call.
    entered,    ///< The answer to a probe, where there is one. The flags say how far the source has come in that call.
    deferred,   ///< An early message stays at its sender, which asked to be told: there is no landing memory for it now.
    backlog,    ///< Point-to-point messages wait at the source, or, without the flag, no longer do.
    wanted,     ///< The source has posted a receive for a message of this communicator and tag, which may be in the backlog.
    unwanted,   ///< The source has given up such a receive.
    failed,     ///< An operation failed at the source. The payload is the error text; `call.root` is the rank that caused the failure.
    agreement,  ///< Of Agreements. `code` is what the source says, `sequence` the number of the agreement. A decision is in the payload.
};

/// Whether a point-to-point message that is sent after a control message of this kind must not be received before it. A rank that is told
/// of something in a message must already know, for instance, that a communicator has failed.
inline bool goes_first(MessageKind kind) { return kind != MessageKind::credit && kind != MessageKind::nudge; }

inline constexpr std::uint8_t kEmptyPayload = 1;  ///< Flag: the large path carries one byte that stands for an empty payload.
inline constexpr std::uint8_t kTellDeferred = 2;  ///< Flag: answer with `deferred` if this message is early and cannot land.
inline constexpr std::uint8_t kHasArrived = 4;    ///< Flag of `entered`: the source's caller has arrived.
inline constexpr std::uint8_t kHasSignalled = 8;  ///< Flag of `entered`: the source has sent its signals in this call.
inline constexpr std::uint8_t kTellsAll = 4;      ///< Flag of `failed`: the source tells all ranks of the communicator (Announcements).
inline constexpr std::uint8_t kHasLost = 4;       ///< Flag of `agreement`: the source has lost a member.
inline constexpr std::uint8_t kHasBacklog = 16;   ///< Flag of `backlog`.
inline constexpr std::uint8_t kUncalled = 32;     ///< Flag: the source's caller has not come. It passes on what rank `ordinal` called.
inline constexpr std::uint8_t kAwaited = 64;  ///< Flag: this message does not land. It stays at its sender until a receive waits for it.
inline constexpr std::uint8_t kInTurn = 128;  ///< A flag of sends only, never in a header: the next send waits for the end of this one.

/// What an eager message costs besides its payload: the book-keeping for an early message, in bytes.
inline constexpr std::uint32_t kEntryCharge = 256;

/// Every message begins with this header, or with a CompactHeader. `source` is a rank of the world communicator.
struct MessageHeader {
    MessageKind kind = MessageKind::point_to_point;
    std::uint8_t flags = 0;
    std::uint8_t code = 0;  ///< For `failed`: the ErrorCode. For `agreement`: what it says (Agreement::Says).
    std::uint8_t reserved = 0;
    std::int32_t source = -1;
    std::uint64_t communicator = 0;
    std::uint64_t tag = 0;      ///< The user's tag, or the step of a collective.
    std::uint32_t ordinal = 0;  ///< Point to point: position in the stream from the source to the target. With kUncalled: a world rank.
    std::uint32_t credit = 0;   ///< Bytes of eager allowance given back to the target.
};

/// The shorter header with which most point-to-point messages begin. With it, 12 bytes of payload and UCX's own data, a message fills one
/// cache line; a second line costs 0.1 us over shared memory. It is used only where every field fits.
struct CompactHeader {
    MessageKind kind = MessageKind::point_to_point_compact;
    std::uint8_t credit = 0;  ///< In units of kCreditUnit.
    std::uint16_t source = 0;
    std::uint32_t communicator = 0;
    std::uint32_t tag = 0;
    std::uint32_t ordinal = 0;
};
inline constexpr std::uint32_t kCreditUnit = 64;

/// All messages except point-to-point ones continue the base header with these members.
struct CollectiveHeader {
    MessageHeader base;
    std::uint64_t sequence = 0;
    Call call;
};
static_assert(sizeof(CompactHeader) == 16 && sizeof(MessageHeader) == 32 && sizeof(CollectiveHeader) == 64);

/// Names one call of a communicator.
struct CallKey {
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;

    bool operator==(const CallKey&) const = default;
    std::uint64_t hash() const noexcept {
        const std::uint64_t h = (communicator ^ (sequence * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
        return h ^ (h >> 32);
    }
};

/// A message matches exactly one receive: the one with the same key. Point-to-point messages have sequence 0.
struct MatchKey {
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;
    std::uint64_t tag = 0;
    std::int32_t source = -1;

    bool operator==(const MatchKey&) const = default;
    std::uint64_t hash() const noexcept {
        std::uint64_t h = communicator ^ (sequence * 0x9e3779b97f4a7c15ull) ^ (tag * 0xc2b2ae3d27d4eb4full) ^
                          (static_cast<std::uint64_t>(source) * 0x165667b19e3779f9ull);
        h ^= h >> 29;
        h *= 0xbf58476d1ce4e5b9ull;
        return h ^ (h >> 32);
    }
};

}  // namespace rollcall::runtime
