#include "transports/ofi/ofi_transport.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "transports/address_parts.hpp"
#include "transports/memory.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/peer.hpp"
#include "transports/ofi/providers.hpp"
#include "transports/ofi/requests.hpp"
#include "transports/ofi/sleep.hpp"
#include "transports/ofi/stream.hpp"
#include "transports/ofi/wire.hpp"

namespace rollcall::transport {
namespace ofi {
namespace {

struct Failure {
    int peer;
    std::string why;
};

class OfiTransport final : public Transport {
  public:
    explicit OfiTransport(const TransportOptions& options)
        : options_(options), home_(options.board_bytes), peers_(static_cast<std::size_t>(options.size)), requests_(options.size) {
        Providers providers = choose(options);
        if (providers.shared_memory) shared_memory_ = std::make_unique<Endpoint>(std::move(providers.shared_memory), home_.slots());
        if (providers.network) network_ = std::make_unique<Endpoint>(std::move(providers.network));
        if (shared_memory_) sleep_.watch(home_.descriptor());
        if (network_ && network_->descriptor() >= 0) sleep_.watch(network_->descriptor());
        board_is_open_ = network_ && network_->open_board(home_.board(), board_);
    }

    std::string_view name() const override { return "ofi"; }
    std::uint32_t version() const override { return kVersion; }
    std::string description() const override { return describe(shared_memory_.get(), network_.get()); }

    std::vector<std::byte> address() const override {
        return address_of(home_.door(), shared_memory_.get(), network_.get(), board_is_open_ ? &board_ : nullptr);
    }

    void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) override {
        for (std::size_t peer = 0; peer < addresses.size() && peer < peers_.size(); ++peer) peers_[peer].address = addresses[peer];
        addresses_ = std::move(storage);
        if (shared_memory_) meet_neighbours(peers_, home_.door(), *shared_memory_, options_.rank);
    }

    void attach(Sink& sink) override { sink_ = &sink; }

    unsigned progress() override {
        if (asleep_) [[unlikely]] {
            home_.wake_up();
            asleep_ = false;
        }
        unsigned happened = 0;
        for (Endpoint* endpoint : {shared_memory_.get(), network_.get()})
            if (endpoint) happened += take_events(*endpoint);
        if (!busy_.empty()) happened += pump();
        if (!failures_.empty()) happened += tell_failures();
        if (requests_.has_to_tell()) happened += requests_.tell();
        return happened;
    }

    Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) override {
        Peer* const to = open(peer);
        if (!to) return Started::failed;
        Request* request = nullptr;
        if (path == Path::eager) {
            if (to->stream.send_now(Kind::message, nullptr, header, payload)) {
                note_work(peer);
                return to->stream.failure().empty() ? Started::done : Started::failed;
            }
            request = requests_.make(peer, Kind::message, &completion, {const_cast<void*>(payload.data), payload.size}, header);
        } else {
            request = requests_.make(peer, Kind::offer, &completion, {const_cast<void*>(payload.data), payload.size}, header);
            request->numbers = {++last_number_, payload.size};
            offered_.emplace(request->numbers.which, request);
        }
        add(peer, request);
        return Started::pending;
    }

    Started fetch(const Offer& offer, Bytes into, Completion& completion) override {
        auto* const incoming = static_cast<Request*>(offer.handle);
        const int peer = incoming->peer;
        const std::uint64_t which = incoming->numbers.which;
        requests_.drop(incoming);
        Peer* const from = open(peer);
        if (!from) return Started::failed;
        // A receiver that is left alone would end its reads late, and its sender would wait. Pushed data needs it less.
        const bool reads = options_.driven_in_background && into.size >= Stream::kLeastRead && from->stream.reader();
        Request* const request = requests_.make(peer, Kind::grant, &completion, into);
        request->numbers = {which, ++last_number_};
        fetches_.emplace(last_number_, request);
        say(peer, reads ? Kind::expose : Kind::grant, request->numbers);
        return Started::pending;
    }

    void decline(const Offer& offer) override {
        auto* const incoming = static_cast<Request*>(offer.handle);
        if (!peers_[index(incoming->peer)].gone) say(incoming->peer, Kind::decline, {incoming->numbers.which, 0});
        requests_.drop(incoming);
    }

    bool release(int peer, Completion& completion) override { return requests_.release(peer, completion); }

    bool move_payload(int peer, Completion& completion, Bytes copy, Completion& heir) override {
        return requests_.move_payload(peer, completion, copy, heir);
    }

    void add_pending(std::vector<int>& peers) const override { requests_.add_pending(peers); }

    void disconnect(int peer) override {
        if (std::exchange(peers_[index(peer)].gone, true)) return;
        std::erase(busy_, peer);
        give_up(peer);
    }

    Memory& memory() override { return memory_; }
    std::span<std::byte> board() override { return home_.board(); }

    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override {
        Peer* const to = open(peer);
        if (!to || bytes.size() > Endpoint::kLongestPut) return;
        if (to->neighbour) return write_words({to->neighbour->board(), options_.board_bytes}, offset, bytes);
        const bool fits = bytes.size() <= options_.board_bytes && offset <= options_.board_bytes - bytes.size();
        if (to->board && fits && to->stream.write(*to->board, offset, bytes)) return;
        say(peer, Kind::put, {offset, 0}, {bytes.data(), bytes.size()});
    }

    PutWake put_wake(int peer) override { return peer_board(peer) ? PutWake::silent : PutWake::wakes; }

    std::byte* peer_board(int peer) override {
        Peer* const to = open(peer);
        return to && to->neighbour ? to->neighbour->board() : nullptr;
    }

    bool shares_memory() const override { return shared_memory_ != nullptr; }
    bool uses_tcp() const override { return network_ && network_->provider().find("tcp") != std::string::npos; }
    bool tells_of_puts() const override { return false; }
    int descriptor() const override { return sleep_.descriptor(); }

    bool arm() override {
        if (requests_.has_to_tell() || !failures_.empty()) return false;
        // No descriptor reports room for messages that could not leave, events of a network without a descriptor, and sometimes that a read
        // can go on (tcp;ofi_rxm): the sleep must be short.
        sleep_.set_poll(!busy_.empty() || requests_.network_uses_memory() || (network_ && network_->descriptor() < 0));
        if (network_ && (network_->look() || (network_->descriptor() >= 0 && !network_->may_wait()))) return false;
        if (!shared_memory_) return true;
        asleep_ = true;
        home_.fall_asleep();
        return !shared_memory_->look();
    }

    unsigned pieces_under_way() const override { return 4; }

    bool close() override {
        if (!offered_.empty() || !fetches_.empty() || !busy_.empty() || requests_.has_to_tell()) return false;
        return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.gone || peer.stream.is_quiet(); });
    }

  private:
    static std::size_t index(int peer) { return static_cast<std::size_t>(peer); }

    // Finds the way to a peer at its first use. Returns null if there is none.
    Peer* open(int rank) {
        Peer& peer = peers_[index(rank)];
        if (peer.gone) [[unlikely]]
            return nullptr;
        if (peer.stream.is_open()) [[likely]]
            return &peer;
        std::string why = peer.reach(home_.door(), shared_memory_.get(), network_.get(), options_.rank, rank);
        if (why.empty()) return &peer;
        lose(rank, std::move(why));
        peer.gone = true;
        return nullptr;
    }

    void lose(int peer, std::string why) { failures_.push_back({peer, std::move(why)}); }

    void add(int peer, Request* request) {
        Peer& to = peers_[index(peer)];
        to.stream.add(request);
        to.stream.pump(requests_);
        note_work(peer);
    }

    // Remembers that something could not leave at once. progress() tries again.
    void note_work(int peer) {
        Peer& to = peers_[index(peer)];
        if (!to.stream.failure().empty()) {
            lose(peer, to.stream.failure());
        } else if (to.stream.has_work() && !to.is_busy) {
            to.is_busy = true;
            busy_.push_back(peer);
        }
    }

    // Sends a short packet of this transport's own.
    void say(int peer, Kind kind, const Numbers& numbers, ConstBytes payload = {}) {
        Peer* const to = open(peer);
        if (!to) return;
        if (to->stream.send_now(kind, &numbers, {}, payload)) return note_work(peer);
        Request* const request = requests_.make(peer, kind, nullptr, {const_cast<void*>(payload.data), payload.size});
        request->keep();
        request->numbers = numbers;
        add(peer, request);
    }

    unsigned pump() {
        unsigned happened = 0;
        pumped_.swap(busy_);
        for (const int peer : pumped_) {
            Peer& to = peers_[index(peer)];
            to.is_busy = false;
            if (to.gone) continue;
            happened += to.stream.pump(requests_);
            note_work(peer);
        }
        pumped_.clear();
        return happened;
    }

    unsigned take_events(Endpoint& endpoint) {
        // One look is enough: the caller makes progress again, and over TCP a look is a system call, for which an answer would wait.
        if (!endpoint.look()) return 0;
        unsigned happened = 0;
        for (Endpoint::Event event; endpoint.next(event); ++happened) {
            if (!event.packet) continue;  // a peer has written on the board
            if (event.packet->incoming) {
                if (!event.failed) take(std::span<const std::byte>(event.packet->bytes, event.size));
            } else {
                Peer& peer = peers_[index(event.packet->peer)];
                peer.stream.arrived();
                if (Request* const reader = std::exchange(event.packet->reader, nullptr)) end_read(*reader, !event.failed);
                if (event.failed && !peer.gone) lose(event.packet->peer, endpoint.why());
            }
            endpoint.give_back(event.packet);
        }
        return happened;
    }

    // Handles a packet that came in. A malformed packet is ignored.
    void take(std::span<const std::byte> packet) {
        Parsed parsed;
        if (!parsed.parse(packet)) return;
        const int source = parsed.prefix.source;
        if (source < 0 || source >= options_.size || peers_[index(source)].gone) return;
        if (parsed.prefix.kind != Kind::lent) return handle(parsed);
        if (Peer* const from = open(source)) from->read_lent(parsed.numbers, source, [&](const Parsed& lent) { handle(lent); });
    }

    void handle(const Parsed& parsed) {
        const auto& [prefix, numbers, header, rest] = parsed;
        switch (prefix.kind) {
            case Kind::message: return sink_->on_message(header, {rest.data(), rest.size()});
            case Kind::first: return peers_[index(prefix.source)].begin_message(header, rest, numbers.which);
            case Kind::more: return peers_[index(prefix.source)].continue_message(rest, *sink_);
            case Kind::offer: {
                Request* const incoming = requests_.make(prefix.source, Kind::offer, nullptr, {});
                incoming->numbers = numbers;
                return sink_->on_offer(header, Offer{.handle = incoming, .size = numbers.size, .peer = prefix.source});
            }
            case Kind::grant: return push(prefix.source, numbers, false);
            case Kind::expose: return push(prefix.source, numbers, true);
            case Kind::decline:
                if (Request* const request = take_out(offered_, prefix.source, numbers.which)) requests_.end(request, Outcome::ok);
                return;
            case Kind::exposed: return read(prefix.source, numbers.which, rest);
            case Kind::data: return land(prefix.source, numbers.which, rest);
            case Kind::withdrawn:
                if (Request* const request = take_out(fetches_, prefix.source, numbers.which)) requests_.end(request, Outcome::withdrawn);
                return;
            case Kind::lent: return;
            case Kind::put: return write_words(home_.board(), numbers.which, rest);
        }
    }

    // The receiver has granted a buffer for a large message. Exposed data stays in `offered_` until the receiver has read it.
    void push(int peer, const Numbers& grant, bool may_read) {
        Request* const request = find(offered_, peer, grant.which);
        if (!request || request->network_uses) return;
        Endpoint* const reader = may_read ? peers_[index(peer)].stream.reader() : nullptr;
        if (reader && !request->withdrawn) {
            Exposed where;
            request->registration = reader->expose({request->bytes, request->size}, where);
            if (request->registration) {
                requests_.leave_to_network(*request);
                return say(peer, Kind::exposed, {grant.size, 0}, {&where, sizeof where});
            }
        }
        offered_.erase(grant.which);
        request->kind = Kind::data;
        request->numbers = {grant.size, 0};
        add(peer, request);
    }

    // The sender has exposed the data of a fetch.
    void read(int peer, std::uint64_t number, std::span<const std::byte> exposed) {
        Request* const request = find(fetches_, peer, number);
        if (!request || request->network_uses || exposed.size() != sizeof(Exposed)) return;
        if (!request->bytes) return end_fetch(number, *request, Outcome::ok);  // it was given up
        std::memcpy(&request->source, exposed.data(), sizeof(Exposed));
        Stream& stream = peers_[index(peer)].stream;
        bool ok = stream.reader() != nullptr;
        if (ok) request->registration = stream.reader()->prepare({request->bytes, request->size}, ok);
        if (!ok) return end_fetch(number, *request, Outcome::failed);
        requests_.leave_to_network(*request);
        stream.read(request);
        note_work(peer);
    }

    void end_read(Request& request, bool ok) {
        --request.reads;
        request.has_failed |= !ok;
        Peer& peer = peers_[index(request.peer)];
        if (request.begun < request.size && !request.has_failed && !peer.gone) {
            peer.stream.read(&request);
            return note_work(request.peer);
        }
        if (request.reads > 0) return;
        if (!peer.gone) return end_fetch(request.numbers.size, request, request.has_failed ? Outcome::failed : Outcome::ok);
        give_up(request.peer);
        requests_.drop(&request);
    }

    // Ends a fetch by RMA. The sender gets its buffer back.
    void end_fetch(std::uint64_t number, Request& request, Outcome outcome) {
        fetches_.erase(number);
        say(request.peer, Kind::decline, {request.numbers.which, 0});
        requests_.end(&request, outcome);
    }

    void land(int peer, std::uint64_t number, std::span<const std::byte> bytes) {
        Request* const request = find(fetches_, peer, number);
        if (!request || bytes.size() > request->size - request->moved) return;
        if (request->bytes && !bytes.empty()) std::memcpy(request->bytes + request->moved, bytes.data(), bytes.size());
        request->moved += bytes.size();
        if (request->moved < request->size) return;
        fetches_.erase(number);
        requests_.end(request, Outcome::ok);
    }

    // Ends what is pending with a peer that is gone. The end of the last read calls this again for what must wait for it.
    void give_up(int peer) {
        Stream& stream = peers_[index(peer)].stream;
        if (requests_.hide_from(peer)) stream.part();
        requests_.fail(peer);
        if (stream.is_open()) stream.shut(requests_);
        for (Numbered* all : {&offered_, &fetches_}) requests_.forget(*all, peer);
    }

    unsigned tell_failures() {
        const auto failures = std::exchange(failures_, {});
        for (const Failure& failure : failures) {
            disconnect(failure.peer);
            sink_->on_peer_unreachable(failure.peer, failure.why);
        }
        return static_cast<unsigned>(failures.size());
    }

    TransportOptions options_;
    PlainMemory memory_;
    Home home_;
    Sleep sleep_;
    std::vector<Peer> peers_;
    Requests requests_;
    std::unique_ptr<Endpoint> shared_memory_, network_;
    bool board_is_open_ = false;  ///< Peers on other hosts can write on the board by themselves.
    Exposed board_;
    Sink* sink_ = nullptr;
    std::shared_ptr<const void> addresses_;
    std::uint64_t last_number_ = 0;
    Numbered offered_;  ///< Large sends that have been neither fetched nor declined.
    Numbered fetches_;
    std::vector<int> busy_;  ///< The peers for which something waits.
    std::vector<int> pumped_;
    std::vector<Failure> failures_;
    bool asleep_ = false;
};

}  // namespace
}  // namespace ofi

std::unique_ptr<Transport> make_ofi_transport(const TransportOptions& options) { return std::make_unique<ofi::OfiTransport>(options); }

}  // namespace rollcall::transport
