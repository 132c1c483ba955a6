/// \file
/// How bytes move: the interface that every transport implements.
///
/// A transport sends *active messages*: a small opaque header and a payload. On the eager path the payload travels with
/// the header; on the large path the receiver is offered the payload and fetches it when it wants to, into the buffer it
/// wants. Matching, credits and landing are not the transport's business. A transport also gives *board* memory, which
/// peers write with one-sided puts. The clock and copies inside a rank are the machine's (machine.hpp): nothing here is virtual but
/// phantoms.
///
/// Threads: whoever owns the lane calls a transport, one thread at a time (see runtime/lane/lane.hpp). Only
/// descriptor() may be read by others. Callbacks (Sink, Completion) are made from progress() and disconnect(), and from
/// send()/fetch()/put() never: those return what is known at once. Callbacks must not throw; they may call send(),
/// fetch(), decline() and put(), but not progress().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

#include "transports/memory.hpp"

namespace rollcall::transport {

/// Bytes to be read. A null `data` with a size is a phantom: it is counted and timed but not moved. Only simulations have them.
struct ConstBytes {
    const void* data = nullptr;
    std::uint64_t size = 0;
};

/// Bytes to be written. A null `data` with a size is a phantom, as above.
struct Bytes {
    void* data = nullptr;
    std::uint64_t size = 0;
    operator ConstBytes() const { return {data, size}; }
};

/// How a transfer ended.
enum class Outcome : std::uint8_t {
    ok,
    failed,    ///< The transport could not do it.
    withdrawn  ///< A fetch: the sender gave the message up while it was on its way. What came is of no use.
};

/// Told once when a transfer ends whose end was not known at once.
class Completion {
  public:
    virtual void complete(Outcome outcome) noexcept = 0;

  protected:
    ~Completion() = default;
};

/// What a call that starts a transfer knows at once. `pending` means: the Completion will be told.
enum class Started : std::uint8_t { done, pending, failed };

/// A payload that waits at its sender. Each must be fetched or declined exactly once.
struct Offer {
    void* handle = nullptr;  ///< The transport's own.
    std::uint64_t size = 0;
    bool phantom = false;   ///< No data will be moved; see ConstBytes.
    std::uint8_t form = 0;  ///< The transport's own.
    int peer = -1;          ///< Its sender. Set by the Sink, who reads the header, so that disconnect() ends what is fetched, too.
};

/// Longest header of a message, in bytes.
inline constexpr std::size_t kMaximumHeader = 96;

/// The two ways of a payload.
enum class Path : std::uint8_t { eager, large };

/// Receives what arrives. Implemented by the engine (runtime/lane/engine.hpp).
class Sink {
  public:
    /// An eager message. Header and payload are valid only during the call.
    virtual void on_message(std::span<const std::byte> header, ConstBytes payload) noexcept = 0;
    /// A large message is offered. The header is valid only during the call; the offer until fetched or declined.
    virtual void on_offer(std::span<const std::byte> header, const Offer& offer) noexcept = 0;
    /// A peer became unreachable. Its pending transfers are completed as failed, before or after this call.
    virtual void on_peer_unreachable(int peer, std::string_view why) noexcept = 0;
    /// A put has changed these bytes of this process's board. Only transports that can tell call it; see
    /// Transport::tells_of_puts().
    virtual void on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept = 0;

  protected:
    ~Sink() = default;
};

/// What a put does to a target that sleeps on its event descriptor.
enum class PutWake : std::uint8_t {
    wakes,   ///< The put makes the target's descriptor readable.
    silent,  ///< It does not, and the target's memory can be read directly (peer_board()): look whether it sleeps.
    unknown  ///< It does not, and the target cannot be looked at: a message must follow.
};

class Transport {
  public:
    virtual ~Transport() = default;

    /// As in ROLLCALL_TRANSPORT.
    virtual std::string_view name() const = 0;
    /// Of its addresses and of what it sends: transports of one name with different versions cannot talk to each other.
    virtual std::uint32_t version() const = 0;
    /// What it runs over, for people: "posix (shared memory), tcp over lo".
    virtual std::string description() const = 0;

    /// This process's address for connect(). Opaque; a few hundred bytes.
    virtual std::vector<std::byte> address() const = 0;
    /// Gives the addresses of all processes by rank; `storage` keeps them. Connections are made at the first use of each.
    virtual void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) = 0;
    /// Who is told of arriving messages. Set once, before the first progress().
    virtual void attach(Sink& sink) = 0;

    /// Does what can be done without waiting. Returns the number of things that happened (0: nothing).
    virtual unsigned progress() = 0;

    /// Sends. The header (at most kMaximumHeader bytes) is copied. The payload must stay until the transfer has ended:
    /// eager, when it has left this process; large, when the receiver has fetched or declined it. `completion` must
    /// live until told when `pending` is returned.
    virtual Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) = 0;
    /// Fetches an offered payload into `into` (offer.size bytes), from an offer or later.
    virtual Started fetch(const Offer& offer, Bytes into, Completion& completion) = 0;
    /// Lets an offered payload go; the sender's transfer ends as done.
    virtual void decline(const Offer& offer) = 0;
    /// Gives the buffer of a pending send, fetch or copy (of the machine) back, with nobody's consent: its completion will not be told.
    /// `peer` is its other end (of a copy, this rank). An eager message still arrives. A large one arrives if it has left; else a fetch of
    /// it ends as withdrawn. What still comes for a fetch is thrown away. False: the network itself reads or writes the buffer (RDMA),
    /// which is free when the completion is told, as usual. Takes time with the number of what is pending with the peer.
    virtual bool release(int peer, Completion& completion) = 0;
    /// Adds the peers with which sends or fetches are under way.
    virtual void add_pending(std::vector<int>& peers) const = 0;
    /// The peer is gone: ends the connection to it, and everything pending with it as failed, at once (what a network itself reads or
    /// writes, soon). Later sends to it fail. Completions are told from inside.
    virtual void disconnect(int peer) = 0;

    /// Where landing buffers come from. It outlives them.
    virtual Memory& memory() = 0;

    /// This process's board: zeroed memory of the transport's own, of the size given at construction, which peers can
    /// write one-sidedly. Read it with std::atomic_ref.
    virtual std::span<std::byte> board() = 0;
    /// Writes at most 64 bytes, in whole words, copied at the call, into a peer's board: without its help where the transport is truly
    /// one-sided, else when it next progresses. Not ordered against messages nor against other puts.
    virtual void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    virtual PutWake put_wake(int peer) = 0;
    /// A direct pointer to the board of a peer that shares memory with this process, or null.
    virtual std::byte* peer_board(int peer) = 0;
    /// Whether processes of the same host can be expected to write each other's boards directly.
    virtual bool shares_memory() const = 0;
    /// Whether Sink::on_board_changed() is called; otherwise the board must be looked at.
    virtual bool tells_of_puts() const = 0;

    /// Becomes readable when there may be something to progress, after arm() returned true. -1: it cannot be slept on.
    virtual int descriptor() const = 0;
    /// Prepares the descriptor. False: something is already there; progress and try again.
    virtual bool arm() = 0;

    /// How many pieces of a pipelined transfer should be under way between two ranks so that neither waits for the other.
    virtual unsigned pieces_under_way() const = 0;

    /// Ends all connections in good order, once every process has ended its operations: begins at the first call, true
    /// when it is done. Call it and progress() in turn, and keep the worker progressing until every process is done
    /// (a barrier outside the transport), then destroy.
    virtual bool close() = 0;
};

}  // namespace rollcall::transport
