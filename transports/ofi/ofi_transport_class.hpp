/// \file
/// The transport over libfabric. ofi_transport.cpp has what is called from outside and the way of messages, transfers.cpp large payloads
/// and the end of connections.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transports/memory.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/peer.hpp"
#include "transports/ofi/providers.hpp"
#include "transports/ofi/requests.hpp"
#include "transports/ofi/round.hpp"
#include "transports/ofi/sleep.hpp"
#include "transports/ofi/wire.hpp"
#include "transports/options.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport::ofi {

class OfiTransport final : public Transport {
  public:
    /// Throws Error{transport}.
    explicit OfiTransport(const TransportOptions& options);
    ~OfiTransport() override;
    std::string_view name() const override { return "ofi"; }
    std::uint32_t version() const override { return kVersion; }
    std::string description() const override { return describe(shared_memory_.get(), network_.get()); }
    std::vector<std::byte> address() const override;
    void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) override;
    void attach(Sink& sink) override { sink_ = &sink; }
    unsigned progress() override;
    Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) override;
    Started fetch(const Offer& offer, Bytes into, Completion& completion) override;
    void decline(const Offer& offer) override;
    bool release(int peer, Completion& completion) override { return requests_.release(peer, completion); }
    bool move_payload(int peer, Completion& completion, Bytes copy, Completion& heir) override;
    void add_pending(std::vector<int>& peers) const override { requests_.add_pending(peers); }
    void disconnect(int peer) override;
    Memory& memory() override { return memory_; }
    std::span<std::byte> board() override { return home_.board(); }
    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override;
    PutWake put_wake(int peer) override { return peer_board(peer) ? PutWake::silent : PutWake::wakes; }
    std::byte* peer_board(int peer) override;
    bool shares_memory() const override { return shared_memory_ != nullptr; }
    bool shares_memory_with(int peer) const override { return shared_memory_ && peers_[index(peer)].shares_memory(home_.node_handle()); }
    bool uses_tcp() const override { return network_ && network_->provider().find("tcp") != std::string::npos; }
    bool tells_of_puts() const override { return false; }
    int descriptor() const override { return sleep_.descriptor(); }
    bool arm() override;
    unsigned pieces_under_way() const override { return 4; }
    bool settled() const override;
    /// An endpoint of libfabric has no connections that must be ended.
    bool close() override { return settled(); }

  private:
    struct Failure {
        int peer;
        std::string why;
    };

    /// Each error of a provider wants all peers to be asked, and when a peer dies there may be an error for each message to it.
    static constexpr std::chrono::milliseconds kBetweenQuestions{500};
    struct Questions {
        std::chrono::steady_clock::time_point next;  ///< Not before.
        bool wanted = false;                         ///< Of those that this process has to do with.
        Round strangers;                             ///< All others.
        bool are_due() const noexcept { return wanted || !strangers.is_over(); }
    };

    static std::size_t index(int peer) { return static_cast<std::size_t>(peer); }
    /// Finds the way to a peer at its first use. Returns null if there is none.
    Peer* open(int rank);
    /// Tells the sink, at the end of progress(), that a peer is unreachable. The first reason is told.
    void lose(int peer, std::string why) {
        if (std::ranges::find(failures_, peer, &Failure::peer) == failures_.end()) failures_.push_back({peer, std::move(why)});
    }
    /// Sends a request, or lets it wait. If std::bad_alloc is thrown, it was not added.
    void add(int peer, Request* request);
    /// Remembers that something could not leave at once, or that the peer cannot be reached. progress() sees to it.
    void note_work(int peer) noexcept;
    /// Sends a short packet of this transport's own.
    void say(int peer, Kind kind, const Numbers& numbers, ConstBytes payload = {});
    unsigned pump();
    unsigned pump(Peer& peer) noexcept;  ///< As Stream::pump().
    unsigned take_events(Endpoint& endpoint);
    /// Handles a packet that came in through the endpoint. A malformed packet is ignored.
    void take(std::span<const std::byte> packet, const Endpoint& endpoint);
    /// Keeps a packet that came before its turn, or finds that packets are lost.
    void take_early(std::span<const std::byte> packet, const Parsed& parsed, const Endpoint& endpoint);
    /// Handles the packets that came early and are next now.
    void take_those_that_follow(Peer& sender);
    /// Handles the next packet of its sender.
    void deliver(const Parsed& parsed);
    void handle(const Parsed& parsed);
    /// Finds out whether packets that have not come although later ones have are lost.
    void see_to_gaps();
    void lose_packets_of(int peer);
    /// The receiver has granted a buffer for a large message. Exposed data stays in `offered_` until the receiver has read it.
    void push(int peer, const Numbers& grant, bool may_read);
    /// The sender has exposed the data of a fetch.
    void read(int peer, std::uint64_t number, std::span<const std::byte> exposed);
    void end_read(Request& request, bool ok);
    /// Ends a fetch by RMA. The sender gets its buffer back.
    void end_fetch(std::uint64_t number, Request& request, Outcome outcome);
    void land(int peer, std::uint64_t number, std::span<const std::byte> bytes);
    /// Ends what is pending with a peer that is gone. The end of the last read calls this again for what must wait for it.
    void give_up(int peer);
    unsigned tell_failures();
    /// An endpoint has found an error that concerns no packet of this process. If it still works, asks its peers whether messages were
    /// lost. Otherwise all of them are unreachable.
    void see_to(Endpoint& endpoint);
    /// Asks for an answer where that is wanted and the last questions were long enough ago.
    void ask_peers();
    void ask_peers(Endpoint& endpoint, Questions& questions);
    bool is_reached_by(const Peer& peer, const Endpoint& endpoint) const;
    /// Whether this process reads data of a peer through the endpoint.
    bool reads_through(const Endpoint& endpoint) const;
    /// Gives up the peers of an endpoint that does not work any more, and closes it: at once, or after the reads that are under way, if
    /// libfabric does not survive it before.
    void end(Endpoint& endpoint, const std::string& why);
    /// Closes the network, which nobody has used: all ranks share memory.
    void leave_network();
    /// Closes an endpoint. Returns false if its provider refuses.
    bool stop(Endpoint& endpoint);
    /// Closes the network if its last reads have ended, or gives them up if their time is over.
    void end_last_reads();
    /// Ends all requests with the peers of an endpoint that was stopped. If it is still open, abandons it.
    void put_away(Endpoint& endpoint, bool is_open);
    /// How long reads may go on over a network that has lost events.
    static constexpr std::chrono::milliseconds kLastReads{500};

    TransportOptions options_;
    PlainMemory memory_;
    Home home_;
    Sleep sleep_;
    std::vector<Peer> peers_;
    std::unique_ptr<Endpoint> shared_memory_, network_;
    std::vector<std::unique_ptr<Endpoint>> stopped_;  ///< Those that were in use until they failed.
    Requests requests_;                               ///< Destroyed before the endpoints, with which their buffers are registered.
    bool board_is_open_ = false;                      ///< Peers on other hosts can write on the board by themselves.
    Exposed board_;
    Sink* sink_ = nullptr;
    std::shared_ptr<const void> addresses_;
    std::uint64_t last_number_ = 0;
    Numbered offered_;  ///< Large sends that have been neither fetched nor declined.
    Numbered fetches_;
    std::vector<int> opened_;  ///< The peers to which there is a way.
    std::vector<int> busy_;    ///< The peers for which something waits.
    std::vector<int> pumped_;
    Questions memory_questions_, network_questions_;
    std::vector<int> gaps_;  ///< The peers of which packets have come early.
    std::vector<Failure> failures_;
    bool asleep_ = false;
    /// The network does not work any more, and its last reads may go on until then.
    std::optional<std::chrono::steady_clock::time_point> last_reads_;
};

}  // namespace rollcall::transport::ofi
