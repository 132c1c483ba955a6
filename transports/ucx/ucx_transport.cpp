#include "transports/ucx/ucx_transport.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <ucp/api/ucp.h>

#include "foundation/copy.hpp"
#include "transports/address_parts.hpp"
#include "transports/memory.hpp"
#include "transports/ucx/address.hpp"
#include "transports/ucx/board.hpp"
#include "transports/ucx/closing.hpp"
#include "transports/ucx/configuration.hpp"
#include "transports/ucx/connecting.hpp"
#include "transports/ucx/hearing.hpp"
#include "transports/ucx/log.hpp"
#include "transports/ucx/networks.hpp"
#include "transports/ucx/peer.hpp"
#include "transports/ucx/receiver.hpp"
#include "transports/ucx/remains.hpp"
#include "transports/ucx/requests.hpp"
#include "transports/ucx/shared_memory.hpp"
#include "transports/ucx/status.hpp"

namespace rollcall::transport {
namespace ucx {
namespace {

constexpr std::size_t kLongestInline = 88;
constexpr std::size_t kLongestPut = 64;
constexpr std::size_t kLeastDirect = 8192;  // shorter data is copied sooner than registered

class UcxTransport final : public Transport {
  public:
    explicit UcxTransport(const TransportOptions& options)
        : options_(options), peers_(static_cast<std::size_t>(options.size)), requests_(options.size) {
        try {
            open();
        } catch (...) {
            release();
            throw;
        }
    }

    ~UcxTransport() override {
        dying_ = true;
        requests_.silence();
        hearing_.close();
        const bool connected = options_.size > 1 || peers_[0].endpoint || peers_[0].gone;
        if ((connected || requests_.pending() > 0) && !closed_) {
            // The job was not left in good order: peers died, or this process gives up. UCX 1.13 may then end the process with an assertion
            // if its objects are destroyed, and peers may still use memory of this process. UCX also makes connections of its own, to peers
            // that are connecting with this rank. The next transport destroys the objects if it can.
            std::vector<Remains::Peer> left;
            for (const Peer& peer : peers_) left.push_back({peer.place, peer.endpoint, peer.board, peer.was_connected});
            leave({here_, options_.rank, networks_.are_plain, std::move(requests_), std::move(left), board_, std::move(closing_),
                   std::move(self_), worker_, context_});
            return;
        }
        for (Peer& peer : peers_) peer.board.destroy();  // those of peers that are gone
        release();
    }

  private:
    void open() {
        take_over_log();
        clear_remains();
        check_shared_memory(options_);
        const KeptErrors errors(options_.interfaces_named);
        context_ = make_context(options_);
        requests_.set_context(context_);
        ucp_worker_params_t worker{};
        worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
        try {
            check("creating a worker", ucp_worker_create(context_, &worker, &worker_));
        } catch (const Error& failure) {
            add_shortage(options_, failure);
            throw;
        }
        check("getting its event descriptor", ucp_worker_get_efd(worker_, &descriptor_));
        receiver_.listen(worker_);
        board_.open(context_, options_.board_bytes);
        networks_ = networks_of(context_, options_.size);
        networks_.move_memory |= options_.ucx_direct;
    }

    void release() noexcept {
        board_.close();
        if (worker_) ucp_worker_destroy(worker_);
        if (context_) ucp_cleanup(context_);
    }

  public:
    std::string_view name() const override { return "ucx"; }
    std::uint32_t version() const override { return kVersion; }
    std::string description() const override { return describe(options_); }

    std::vector<std::byte> address() const override {
        std::vector<std::byte> parts;
        append_worker(parts, worker_);
        board_.append_to(parts);
        append(parts, &here_, sizeof here_);
        if (needs_network_address()) append_worker(parts, worker_, true);
        return parts;
    }

    void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) override {
        for (std::size_t peer = 0; peer < addresses.size() && peer < peers_.size(); ++peer) peers_[peer].set(addresses[peer]);
        addresses_ = std::move(storage);
        // Neighbours are connected now. UCX 1.16 and later end this process with an assertion if it is asked for a connection by one that
        // has died meanwhile, and has none to it. Over TCP they do not. And later the program may have all files open that it may open.
        if (!here_.shares_memory) return;
        for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
            if (!is_neighbour(here_, peers_[peer].place)) continue;
            if (!is_at_least(16) && !why_nothing_opens(board_.bytes().size()).empty()) return;  // tried again when they are used
            if (Peer* const to = endpoint(static_cast<int>(peer))) unpack_key(*to);
        }
    }

    void attach(Sink& sink) override {
        sink_ = &sink;
        receiver_.attach(sink);
    }

    unsigned progress() override {
        unsigned happened = ucp_worker_progress(worker_);
        if (receiver_.has_greeters()) [[unlikely]]
            greet_back();
        if (hearing_.in_doubt()) [[unlikely]]
            happened += listen();
        if (deferred_) happened += do_deferred();
        return happened;
    }

    Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) override {
        Peer* to = endpoint(peer);
        if (!to) return Started::failed;
        ucp_request_param_t parameters;
        parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        parameters.cb.send = &Requests::on_sent;
        if (path == Path::eager && header.size() + payload.size < kLongestInline) {
            Requests::Request* request = requests_.take(completion, peer, {});
            request->revocable = true;  // The bytes are in the request.
            request->header[0] = static_cast<std::byte>(header.size());
            std::memcpy(request->header + 1, header.data(), header.size());
            copy_bytes(request->header + 1 + header.size(), payload.data, payload.size);
            parameters.user_data = request;
            return requests_.result_of(
                ucp_am_send_nbx(to->endpoint, kInlineId, nullptr, 0, request->header, 1 + header.size() + payload.size, &parameters),
                request);
        }
        Requests::Request* request = requests_.take(completion, peer, {const_cast<void*>(payload.data), payload.size});
        request->is_eager = path == Path::eager;
        const bool direct =
            !request->is_eager && payload.size >= kLeastDirect && moves_memory_of(*to) && requests_.register_buffer(*request, parameters);
        request->payload = request->is_eager || direct ? Payload::plain : Payload::verdict;
        std::memcpy(request->header, header.data(), header.size());
        request->header[header.size()] = static_cast<std::byte>(request->payload);
        parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        parameters.flags = request->is_eager ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
        parameters.user_data = request;
        const void* buffer = payload.data;
        if (!direct && payload.size) {
            requests_.move_by_pieces(*request, parameters);
            buffer = request;
        }
        return requests_.result_of(
            ucp_am_send_nbx(to->endpoint, kMessageId, request->header, header.size() + 1, buffer, payload.size, &parameters), request);
    }

    Started fetch(const Offer& offer, Bytes into, Completion& completion) override {
        if (offer.peer >= 0 && peers_[static_cast<std::size_t>(offer.peer)].gone) {
            decline(offer);
            return Started::failed;
        }
        Requests::Request* request = requests_.take(completion, offer.peer, into);
        request->payload = static_cast<Payload>(offer.form);
        ucp_request_param_t parameters{};
        parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        parameters.cb.recv_am = &Requests::on_fetched;
        parameters.user_data = request;
        void* const buffer = requests_.buffer_of_fetch(*request, parameters);
        return requests_.result_of(ucp_am_recv_data_nbx(worker_, offer.handle, buffer, into.size, &parameters), request);
    }

    void decline(const Offer& offer) override {
        // It is released later: this may be the callback that brought the offer, and until that returns UCX does not know that it was kept.
        declined_.push_back(offer.handle);
        deferred_ = true;
    }
    bool release(int peer, Completion& completion) override { return requests_.release(peer, completion); }
    bool move_payload(int peer, Completion& completion, Bytes copy, Completion& heir) override {
        return requests_.move_payload(peer, completion, copy, heir);
    }
    Started flush(int peer, Completion& end) override {
        return requests_.flush(peers_[static_cast<std::size_t>(peer)].endpoint, peer, end);
    }
    void add_pending(std::vector<int>& peers) const override { requests_.add_pending(peers); }

    void disconnect(int peer) override {
        Peer& disconnected = peers_[static_cast<std::size_t>(peer)];
        disconnected.gone = true;
        const ucp_ep_h endpoint = std::exchange(disconnected.endpoint, nullptr);  // a completion cannot send over it any more
        requests_.disconnect(peer);
        if (peer != options_.rank && shares_memory_with(peer)) hearing_.doubt(peer);
        if (!endpoint) return;
        disconnected.was_connected = is_gone(here_, disconnected.place);  // if it lives, UCX may answer it over an endpoint of its own
        // The key of the peer's board stays: transfers that use it may not have ended.
        closing_.begin(endpoint, true);
        if (!closing_.empty()) deferred_ = true;
    }

    Memory& memory() override { return memory_; }
    std::span<std::byte> board() override { return board_.bytes(); }

    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override {
        Peer* to = endpoint(peer);
        if (!to || !unpack_key(*to) || bytes.size() > kLongestPut) return;
        ucp_request_param_t parameters;
        // Over other networks the target executes a put, too, and UCX makes it answer each one, which would wake the sender for nothing.
        if (networks_.move_memory || to->board.direct) {
            Requests::Request* const request = requests_.take_copy(peer, {bytes}, parameters);
            const std::uint64_t place = to->board.address + offset;
            requests_.result_of(ucp_put_nbx(to->endpoint, request->header, bytes.size(), place, to->board.key, &parameters), request);
        }
        if (to->board.direct) return;
        // RDMA wakes nobody, and a message that wakes the target may overtake the put. So the message brings the words, too.
        Requests::Request* const request = requests_.take_copy(peer, {std::as_bytes(std::span(&offset, 1)), bytes}, parameters);
        const std::size_t size = sizeof offset + bytes.size();
        requests_.result_of(ucp_am_send_nbx(to->endpoint, kPutId, nullptr, 0, request->header, size, &parameters), request);
    }

    PutWake put_wake(int peer) override {
        Peer* to = endpoint(peer);
        return !to || !unpack_key(*to) ? PutWake::unknown : to->board.direct ? PutWake::silent : PutWake::wakes;
    }

    std::byte* peer_board(int peer) override {
        Peer* to = endpoint(peer);
        return to && unpack_key(*to) ? to->board.direct : nullptr;
    }
    bool shares_memory() const override { return here_.shares_memory; }
    bool shares_memory_with(int peer) const override { return share_memory(here_, peers_[static_cast<std::size_t>(peer)].place); }
    bool uses_tcp() const override { return networks_.are_tcp; }
    bool tells_of_puts() const override { return false; }
    int descriptor() const override { return descriptor_; }
    bool arm() override {
        if (deferred_ || ucp_worker_arm(worker_) != UCS_OK) return false;
        if (hearing_.in_doubt() && any_neighbour(peers_, options_.rank, here_)) hearing_.trust();
        return true;
    }

    /// One piece moves, one is offered, and two more cover the time in which the other process is not scheduled.
    unsigned pieces_under_way() const override { return 4; }
    bool settled() const override { return requests_.pending() == 0 && declined_.empty(); }

    bool close() override {
        // The other side of a fetch waits for its bytes, and the sender of a declined offer for the answer.
        if (!dying_ && !settled()) return false;
        dying_ = true;
        requests_.silence();
        for (Peer& peer : peers_) {
            if (!peer.endpoint) continue;
            peer.board.destroy();
            closing_.begin(std::exchange(peer.endpoint, nullptr), false);
            peer.gone = true;
        }
        closing_.collect();
        closed_ = closing_.empty() && requests_.pending() == 0;
        return closed_;
    }

  private:
    Peer* endpoint(int rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (peer.endpoint) [[likely]]
            return &peer;
        if (peer.gone) return nullptr;
        const ucs_status_t status =
            make_endpoint(worker_, worker_address_in(peer.address, here_), &UcxTransport::on_error, self_.get(), peer.endpoint);
        if (status == UCS_OK) {
            peer.was_connected = true;
            say_hello(rank, peer);
            return &peer;
        }
        peer.gone = true;
        failures_.push_back(
            {rank, fmt::format("no connection could be made ({}){}", ucs_status_string(status), why_unreachable_now(peer))});
        deferred_ = true;
        return nullptr;
    }

    // UCX makes the other end of the connection by itself, and tells nobody when it breaks. So a peer that only receives would wait for
    // ever. It is told who has made the connection, and makes an end of its own. Shared memory needs no such link: there the starter
    // notices deaths.
    void say_hello(int rank, Peer& peer) {
        if (rank == options_.rank || peer.is_known || shares_memory_with(rank)) return;
        ucp_request_param_t parameters;
        Requests::Request* const request = requests_.take_copy(rank, {std::as_bytes(std::span(&options_.rank, 1))}, parameters);
        requests_.result_of(ucp_am_send_nbx(peer.endpoint, kHelloId, nullptr, 0, request->header, sizeof options_.rank, &parameters),
                            request);
    }

    unsigned listen() {
        const Hearing::Look look = hearing_.look(context_, worker_, [this] { return any_neighbour(peers_, options_.rank, here_); });
        if (look.dead >= 0 && !dying_) sink_->on_deaf(look.dead);
        return look.refused;
    }

    void greet_back() {
        for (const int rank : receiver_.take_greeters()) {
            if (dying_ || rank < 0 || static_cast<std::size_t>(rank) >= peers_.size()) continue;
            peers_[static_cast<std::size_t>(rank)].is_known = true;
            endpoint(rank);
        }
    }

    std::string why_unreachable_now(const Peer& peer) const { return why_unreachable(here_, peer.place, board_.bytes().size()); }

    bool unpack_key(Peer& peer) {
        if (peer.board.key) [[likely]]
            return true;
        if (peer.board.unusable) return false;
        const auto unpacked = peer.board.unpack(peer.endpoint, peer.address, here_, board_.bytes().size());
        if (unpacked == PeerBoard::Unpacked::unusable) {
            // The puts to this peer are lost, and a rank waits for them. (If the process is gone, its parent reports that.)
            failures_.push_back(
                {static_cast<int>(&peer - peers_.data()), "its arrivals board cannot be written" + why_unreachable_now(peer)});
            deferred_ = true;
        }
        return unpacked == PeerBoard::Unpacked::usable;
    }

    // Whether the network between this rank and the peer reads and writes memory by itself.
    bool moves_memory_of(Peer& peer) { return networks_.move_memory && !(unpack_key(peer) && peer.board.direct); }

    static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status) {
        auto* const transport = static_cast<UcxTransport*>(*static_cast<void**>(self));
        if (!transport) return;
        // UCX looks through /proc whether a neighbour lives, so this rank may have no file left instead.
        const std::string why = bracketed(why_nothing_opens(transport->board_.bytes().size()));
        for (std::size_t rank = 0; rank < transport->peers_.size(); ++rank) {
            if (transport->peers_[rank].endpoint != endpoint) continue;
            transport->failures_.push_back({static_cast<int>(rank), ucs_status_string(status) + why});
            transport->deferred_ = true;
        }
    }

    // Executes what must not be done inside a callback of UCX.
    unsigned do_deferred() {
        unsigned done = 0;
        deferred_ = false;
        for (void* handle : std::exchange(declined_, {})) {
            ucp_am_data_release(worker_, handle);
            ++done;
        }
        for (const Failure& failure : std::exchange(failures_, {})) {
            disconnect(failure.rank);
            if (!dying_) sink_->on_peer_unreachable(failure.rank, failure.why);
            ++done;
        }
        if (!dying_) closing_.collect();
        if (!closing_.empty()) deferred_ = true;
        return done;
    }

    TransportOptions options_;
    PlainMemory memory_;  // Need not register memory: UCX registers it, and keeps the registrations.
    const Whereabouts here_ = whereabouts(uses_shared_memory());
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    Board board_;
    Receiver receiver_{board_};
    int descriptor_ = -1;
    Sink* sink_ = nullptr;
    std::shared_ptr<const void> addresses_;
    std::vector<Peer> peers_;  ///< Their addresses are in addresses_.
    std::unique_ptr<void*> self_ = std::make_unique<void*>(this);
    Requests requests_;
    std::vector<void*> declined_;
    Closing closing_;
    Hearing hearing_;
    std::vector<Failure> failures_;
    bool deferred_ = false;
    bool dying_ = false;
    bool closed_ = false;
    Networks networks_;
};

}  // namespace
}  // namespace ucx

std::unique_ptr<Transport> make_ucx_transport(const TransportOptions& options) { return std::make_unique<ucx::UcxTransport>(options); }

}  // namespace rollcall::transport
