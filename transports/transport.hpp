/// \file
/// The interface that every transport implements. A transport moves bytes between ranks.
///
/// A transport sends *active messages*: a small opaque header and a payload. On the eager path the payload travels with the header. On the
/// large path the receiver is offered the payload. It fetches the payload when it wants to, into the buffer that it chooses. Matching,
/// credits and landing are not the transport's business. A transport also provides *board* memory, which peers write with one-sided puts.
/// The clock and copies within a rank belong to the machine (machine.hpp): except for phantoms, nothing here is virtual.
///
/// Threads: the owner of the lane calls a transport, one thread at a time (see runtime/lane/lane.hpp). Other threads may only call
/// descriptor(). Callbacks (Sink, Completion) are made from progress() and disconnect(), never from send(), fetch() or put(): these return
/// what is known at once. Callbacks must not throw. They may call send(), fetch(), decline() and put(), but not progress().
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

/// Bytes to be read. A null `data` with a size is a phantom: it is counted and timed but not moved. Only simulations use phantoms.
struct ConstBytes {
    const void* data = nullptr;
    std::uint64_t size = 0;
};

/// Bytes to be written. A null `data` with a size is a phantom, as in ConstBytes.
struct Bytes {
    void* data = nullptr;
    std::uint64_t size = 0;
    operator ConstBytes() const { return {data, size}; }
};

/// How a transfer ended.
enum class Outcome : std::uint8_t {
    ok,
    failed,     ///< The transport could not do it.
    withdrawn,  ///< Of a fetch: the sender gave the message up while it was on its way. What came is of no use.
    unreadable  ///< Of a fetch: the system does not let the receiver read the sender's buffer, or write its own. The peer is well.
};

/// Told once when a transfer ends, if its end was not known when it was started.
class Completion {
  public:
    virtual void complete(Outcome outcome) noexcept = 0;

  protected:
    ~Completion() = default;
};

/// For transfers that nobody waits for.
struct Ignored final : Completion {
    void complete(Outcome) noexcept override {}
};

/// What a call that starts a transfer knows at once. `pending` means that the Completion will be told.
enum class Started : std::uint8_t { done, pending, failed };

/// A payload that waits at its sender. Each offer must be fetched or declined exactly once.
struct Offer {
    void* handle = nullptr;  ///< For the transport's own use.
    std::uint64_t size = 0;
    bool phantom = false;   ///< No data will be moved; see ConstBytes.
    std::uint8_t form = 0;  ///< For the transport's own use.
    int peer = -1;  ///< Its sender. The Sink, which reads the header, sets it, so that disconnect() also ends fetches from this peer.
};

/// Longest header of a message, in bytes.
inline constexpr std::size_t kMaximumHeader = 96;

/// The two paths that a payload can take.
enum class Path : std::uint8_t { eager, large };

/// Receives what arrives. The engine implements it (runtime/engine/engine.hpp).
class Sink {
  public:
    /// An eager message. Header and payload are valid only during the call.
    virtual void on_message(std::span<const std::byte> header, ConstBytes payload) noexcept = 0;
    /// A large message is offered. The header is valid only during the call, the offer until it is fetched or declined.
    virtual void on_offer(std::span<const std::byte> header, const Offer& offer) noexcept = 0;
    /// A peer has become unreachable. Its pending transfers are completed as failed, before or after this call.
    virtual void on_peer_unreachable(int peer, std::string_view why) noexcept = 0;
    /// This process receives nothing any more through shared memory, because this peer, of which disconnect() was called, died while it
    /// wrote into this process's memory.
    virtual void on_deaf(int peer) noexcept = 0;
    /// A put has changed these bytes of this process's board. Only transports that notice puts call it; see Transport::tells_of_puts().
    virtual void on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept = 0;

  protected:
    ~Sink() = default;
};

/// What a put does to a target that sleeps on its event descriptor.
enum class PutWake : std::uint8_t {
    wakes,   ///< The put makes the target's descriptor readable.
    silent,  ///< It does not, but the target's memory can be read directly (peer_board()): check there whether it sleeps.
    unknown  ///< It does not, and the target's memory cannot be read: a message must follow.
};

class Transport {
  public:
    virtual ~Transport() = default;

    /// The name as in ROLLCALL_TRANSPORT.
    virtual std::string_view name() const = 0;
    /// The version of its addresses and of what it sends. Transports of one name but different versions cannot talk to each other.
    virtual std::uint32_t version() const = 0;
    /// What the transport runs over, for users: "posix (shared memory), tcp over lo".
    virtual std::string description() const = 0;

    /// This process's address for connect(). Opaque; a few hundred bytes.
    virtual std::vector<std::byte> address() const = 0;
    /// Gives the addresses of all processes by rank; `storage` keeps them alive. A connection is made at the latest when it is first
    /// used.
    virtual void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) = 0;
    /// Sets the sink, which is told of arriving messages. Call it before the first progress(). Another sink can take its place later.
    virtual void attach(Sink& sink) = 0;

    /// Does everything that can be done without waiting. Returns the number of events handled (0: nothing).
    virtual unsigned progress() = 0;

    /// Sends a message. The header (at most kMaximumHeader bytes) is copied. The payload must stay in place until the transfer has ended:
    /// on the eager path when it has left this process, on the large path when the receiver has fetched or declined it. If `pending` is
    /// returned, `completion` must live until it is told. If std::bad_alloc is thrown, nothing was sent, and `completion` is not told.
    virtual Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) = 0;
    /// Fetches an offered payload into `into` (offer.size bytes). May be called from on_offer() or later. If std::bad_alloc is thrown,
    /// `completion` is not told, and the offer is still to be fetched or declined.
    virtual Started fetch(const Offer& offer, Bytes into, Completion& completion) = 0;
    /// Declines an offered payload. The sender's transfer ends as done.
    virtual void decline(const Offer& offer) = 0;
    /// Gives back the buffer of a pending send, fetch or copy (of the machine) without asking the other side. Its completion will not be
    /// told. `peer` is the other end of the transfer (of a copy, this rank). An eager message still arrives. A large one arrives if it has
    /// left; otherwise a fetch of it ends as withdrawn. Data that still comes for a fetch is thrown away. Returns false when the network
    /// itself reads or writes the buffer (RDMA): then the buffer is free when the completion is told, as usual. The cost grows with the
    /// number of transfers pending with the peer.
    virtual bool release(int peer, Completion& completion) = 0;
    /// Lets the caller of a pending large send have its buffer back, although the message is still to be delivered: copies the payload to
    /// `copy`, which has its size, and sends it from there. `heir` is told in place of `completion`. Returns false, and changes nothing,
    /// if the receiver has begun to fetch, or where the network itself reads the buffer.
    virtual bool move_payload(int /*peer*/, Completion& /*completion*/, Bytes /*copy*/, Completion& /*heir*/) { return false; }
    /// Ends when all that was sent to the peer before has left this process. A send may end earlier: over TCP, when the network library has
    /// the bytes. If the process ended then, they would be lost. It may wait until the peer makes progress. `completion` is as in send(),
    /// and can be released.
    virtual Started flush(int /*peer*/, Completion& /*completion*/) { return Started::done; }
    /// Adds to `peers` the peers with which sends or fetches are under way.
    virtual void add_pending(std::vector<int>& peers) const = 0;
    /// The peer is gone. Ends the connection to it, and ends everything pending with it as failed, at once (or soon, where a network itself
    /// reads or writes the buffer). Later sends to it fail. Completions are told from inside this call.
    virtual void disconnect(int peer) = 0;

    /// The source of landing buffers. It outlives them.
    virtual Memory& memory() = 0;

    /// This process's board: zeroed memory of the transport's own, of the size given at construction, which peers can write with one-sided
    /// puts. Read it with std::atomic_ref.
    virtual std::span<std::byte> board() = 0;
    /// Writes at most 64 bytes, in whole words, into a peer's board. The bytes are copied during the call. Where the transport is truly
    /// one-sided, this needs no help from the peer; otherwise it happens when the peer next makes progress. Each word (8 bytes) is written
    /// whole. There is no other order: not between the words of a put, not between puts (of two that are under way to the same place,
    /// either may be the last), and not between puts and messages. A put that is made after the peer has seen the earlier ones stays;
    /// over RDMA with UCX an earlier one may take its place for a moment.
    virtual void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    virtual PutWake put_wake(int peer) = 0;
    /// A pointer to the board of a peer that shares memory with this process, or null.
    virtual std::byte* peer_board(int peer) = 0;
    /// Whether processes of the same host can be expected to write each other's boards directly.
    virtual bool shares_memory() const = 0;
    /// Whether messages to the peer go through shared memory. Known after connect(). The peer says the same of this process, and of each
    /// other process with which this one shares memory. A process that shares memory with others says so of itself, too.
    virtual bool shares_memory_with(int peer) const = 0;
    /// Whether messages to other hosts go over TCP. The kernel copies them anyway, and a question whether there is room at the receiver
    /// costs as much as some tens of KiB. The answer can be given before connect().
    virtual bool uses_tcp() const = 0;
    /// Whether Sink::on_board_changed() is called. If not, the board must be polled.
    virtual bool tells_of_puts() const = 0;

    /// A descriptor that becomes readable when there may be work for progress(), once arm() has returned true. -1: no thread can sleep on
    /// this transport.
    virtual int descriptor() const = 0;
    /// Prepares the descriptor. Returns false when there is work already: call progress() and try again.
    virtual bool arm() = 0;

    /// How many pieces of a pipelined transfer should be under way between two ranks, so that neither waits for the other.
    virtual unsigned pieces_under_way() const = 0;

    /// \{
    /// The end in good order, once every process has ended its operations. Call settled() and progress() in turn until settled() returns
    /// true, then close() and progress() in turn until close() does. Before each of the two, and before the transport is destroyed, hold a
    /// barrier outside the transport, and make progress until it is over: other processes still need this one's answers.

    /// Whether all transfers have ended that were begun here, also those that were released. An offer ends only when its receiver has
    /// fetched or declined it. So no offer is under way to a process any more once all processes have settled.
    virtual bool settled() const = 0;
    /// Ends all connections. The first call begins this; a call returns true when it is done.
    virtual bool close() = 0;
    /// \}
};

}  // namespace rollcall::transport
