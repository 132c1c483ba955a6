#include "transports/ofi/ofi_transport.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "transports/address_parts.hpp"
#include "transports/board_words.hpp"
#include "transports/ofi/ofi_transport_class.hpp"

namespace rollcall::transport {
namespace ofi {

OfiTransport::OfiTransport(const TransportOptions& options)
    : options_(options), home_(options.board_bytes), peers_(static_cast<std::size_t>(options.size)), requests_(options.size) {
    Providers providers = choose(options);
    if (providers.shared_memory) shared_memory_ = std::make_unique<Endpoint>(std::move(providers.shared_memory), home_.slots());
    if (providers.network) network_ = std::make_unique<Endpoint>(std::move(providers.network));
    if (shared_memory_) sleep_.watch(home_.descriptor());
    busy_.reserve(peers_.size());  // so that note_work() needs no memory
    pumped_.reserve(peers_.size());
    gaps_.reserve(peers_.size());
    opened_.reserve(peers_.size());
    board_is_open_ = network_ && network_->open_board(home_.board(), board_);
}

OfiTransport::~OfiTransport() {
    // A job that has failed ends in the middle of its reads.
    if (network_ && network_->must_end_reads() && reads_through(*network_)) Endpoint::abandon(std::move(network_));
    // The network must not use buffers whose registrations end with their requests.
    for (std::unique_ptr<Endpoint>* endpoint : {&network_, &shared_memory_})
        if (*endpoint && !stop(**endpoint)) Endpoint::abandon(std::move(*endpoint));
}

std::vector<std::byte> OfiTransport::address() const {
    return address_of(home_.node_handle(), shared_memory_.get(), network_.get(), board_is_open_ ? &board_ : nullptr);
}

void OfiTransport::connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) {
    for (std::size_t peer = 0; peer < addresses.size() && peer < peers_.size(); ++peer) peers_[peer].address = addresses[peer];
    addresses_ = std::move(storage);
    const NodeHandle home = home_.node_handle();
    if (shared_memory_ && std::ranges::all_of(peers_, [&](const Peer& peer) { return peer.shares_memory(home); })) leave_network();
    if (network_ && network_->descriptor() >= 0) sleep_.watch(network_->descriptor());
    if (!shared_memory_) return;
    meet_neighbours(peers_, home_.node_handle(), *shared_memory_, options_.rank);
    for (std::size_t peer = 0; peer < peers_.size(); ++peer)
        if (peers_[peer].stream.is_open()) opened_.push_back(static_cast<int>(peer));
}

void OfiTransport::leave_network() {
    board_is_open_ = false;
    if (network_ && !stop(*network_)) Endpoint::abandon(std::move(network_));
    network_.reset();
}

unsigned OfiTransport::progress() {
    if (asleep_) [[unlikely]] {
        home_.wake_up();
        asleep_ = false;
    }
    unsigned happened = 0;
    for (Endpoint* endpoint : {shared_memory_.get(), network_.get()})
        if (endpoint) happened += take_events(*endpoint);
    if (last_reads_) [[unlikely]]
        end_last_reads();
    if (!gaps_.empty()) [[unlikely]]
        see_to_gaps();
    if (memory_questions_.are_due() || network_questions_.are_due()) [[unlikely]]
        ask_peers();
    if (!busy_.empty()) happened += pump();
    if (!failures_.empty()) happened += tell_failures();
    if (requests_.has_to_tell()) happened += requests_.tell();
    return happened;
}

Started OfiTransport::send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) {
    Peer* const to = open(peer);
    if (!to) return Started::failed;
    const bool is_eager = path == Path::eager;
    if (is_eager && to->stream.send_now(Kind::message, nullptr, header, payload)) {
        note_work(peer);
        return to->stream.failure().empty() ? Started::done : Started::failed;
    }
    Request* const request =
        requests_.make(peer, is_eager ? Kind::message : Kind::offer, &completion, {const_cast<void*>(payload.data), payload.size}, header);
    try {
        if (!is_eager) {
            request->numbers = {++last_number_, payload.size};
            offered_.emplace(request->numbers.which, request);
        }
        add(peer, request);
    } catch (...) {
        if (!is_eager) offered_.erase(request->numbers.which);
        requests_.drop(request);
        throw;
    }
    return Started::pending;
}

Started OfiTransport::fetch(const Offer& offer, Bytes into, Completion& completion) {
    auto* const incoming = static_cast<Request*>(offer.handle);
    const int peer = incoming->peer;
    const std::uint64_t which = incoming->numbers.which;
    Peer* const from = open(peer);
    if (!from) {
        requests_.drop(incoming);
        return Started::failed;
    }
    // A receiver that is left alone would end its reads late, and its sender would wait. Pushed data needs it less.
    bool reads = options_.driven_in_background && into.size >= Stream::kLeastRead && from->stream.reader();
    Request* const request = requests_.make(peer, Kind::grant, &completion, into);
    try {
        // Without a registration (`ulimit -l`) the data comes in packets.
        if (reads) request->registration = from->stream.reader()->prepare(into, reads);
        request->numbers = {which, ++last_number_};
        fetches_.emplace(last_number_, request);
        say(peer, reads ? Kind::expose : Kind::grant, request->numbers);
    } catch (...) {
        fetches_.erase(request->numbers.size);
        requests_.drop(request);
        throw;
    }
    requests_.drop(incoming);
    return Started::pending;
}

void OfiTransport::decline(const Offer& offer) {
    auto* const incoming = static_cast<Request*>(offer.handle);
    if (!peers_[index(incoming->peer)].gone) say(incoming->peer, Kind::decline, {incoming->numbers.which, 0});
    requests_.drop(incoming);
}

bool OfiTransport::move_payload(int peer, Completion& completion, Bytes copy, Completion& heir) {
    return requests_.move_payload(peer, completion, copy, heir);
}

void OfiTransport::disconnect(int peer) {
    if (std::exchange(peers_[index(peer)].gone, true)) return;
    std::erase(busy_, peer);
    give_up(peer);
}

void OfiTransport::put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) {
    Peer* const to = open(peer);
    if (!to || bytes.size() > Endpoint::kLongestPut) return;
    // The ranks of two connected jobs may have boards of different sizes.
    const std::uint64_t board_bytes = to->node_handle().board_bytes;
    if (to->neighbour) return write_words({to->neighbour->board(), board_bytes}, offset, bytes);
    const bool fits = bytes.size() <= board_bytes && offset <= board_bytes - bytes.size();
    if (to->board && fits && to->stream.write(*to->board, offset, bytes)) return;
    say(peer, Kind::put, {offset, 0}, {bytes.data(), bytes.size()});
}

std::byte* OfiTransport::peer_board(int peer) {
    Peer* const to = open(peer);
    return to && to->neighbour ? to->neighbour->board() : nullptr;
}

bool OfiTransport::arm() {
    if (requests_.has_to_tell() || !failures_.empty()) return false;
    // No descriptor reports room for messages that could not leave, events of a network without a descriptor, that it is time to ask a
    // peer, and sometimes that a read can go on (tcp;ofi_rxm): the sleep must be short.
    const bool asks_later = !gaps_.empty() || memory_questions_.are_due() || network_questions_.are_due();
    sleep_.set_poll(!busy_.empty() || asks_later || requests_.network_uses_memory() || (network_ && network_->descriptor() < 0));
    if (network_ && (network_->look() || (network_->descriptor() >= 0 && !network_->may_wait()))) return false;
    if (!shared_memory_) return true;
    asleep_ = true;
    home_.fall_asleep();
    return !shared_memory_->look();
}

bool OfiTransport::settled() const {
    if (!offered_.empty() || !fetches_.empty() || !busy_.empty() || requests_.has_to_tell()) return false;
    return std::ranges::all_of(opened_, [&](int rank) {
        const Peer& peer = peers_[index(rank)];
        return peer.gone || peer.stream.is_quiet();
    });
}

Peer* OfiTransport::open(int rank) {
    Peer& peer = peers_[index(rank)];
    if (peer.gone) [[unlikely]]
        return nullptr;
    if (peer.stream.is_open()) [[likely]]
        return &peer;
    std::string why = peer.reach(home_.node_handle(), shared_memory_.get(), network_.get(), options_.rank, rank);
    if (why.empty()) {
        opened_.push_back(rank);
        return &peer;
    }
    lose(rank, std::move(why));
    peer.gone = true;
    return nullptr;
}

void OfiTransport::add(int peer, Request* request) {
    Peer& to = peers_[index(peer)];
    to.stream.add(request);
    pump(to);
    note_work(peer);
}

void OfiTransport::note_work(int peer) noexcept {
    Peer& to = peers_[index(peer)];
    if ((to.stream.has_work() || !to.stream.failure().empty()) && !to.is_busy) {
        to.is_busy = true;
        busy_.push_back(peer);
    }
}

void OfiTransport::say(int peer, Kind kind, const Numbers& numbers, ConstBytes payload) {
    Peer* const to = open(peer);
    if (!to) return;
    if (to->stream.send_now(kind, &numbers, {}, payload)) return note_work(peer);
    Request* const request = requests_.make(peer, kind, nullptr, {const_cast<void*>(payload.data), payload.size});
    try {
        request->keep();
        request->numbers = numbers;
        add(peer, request);
    } catch (...) {
        requests_.drop(request);
        throw;
    }
}

unsigned OfiTransport::pump(Peer& peer) noexcept {
    try {
        return peer.stream.pump(requests_);
    } catch (const std::bad_alloc&) {
        return 0;  // what has not left waits, and progress() tries again
    }
}

unsigned OfiTransport::pump() {
    unsigned happened = 0;
    pumped_.swap(busy_);
    for (const int peer : pumped_) {
        Peer& to = peers_[index(peer)];
        to.is_busy = false;
        if (to.gone) continue;
        happened += pump(to);
        if (to.stream.failure().empty())
            note_work(peer);
        else
            lose(peer, std::string(to.stream.failure()));
    }
    pumped_.clear();
    return happened;
}

unsigned OfiTransport::take_events(Endpoint& endpoint) {
    // One look is enough: the caller makes progress again, and over TCP a look is a system call, for which an answer would wait.
    if (!endpoint.look()) return 0;
    Completions& completions = endpoint.completions();
    unsigned happened = 0;
    for (Event event; completions.next(event); ++happened) {
        if (!event.packet) continue;  // a peer has written on the board
        if (event.packet->incoming) {
            if (!event.failed) take(std::span<const std::byte>(event.packet->bytes, event.size), endpoint);
        } else {
            Peer& peer = peers_[index(event.packet->peer)];
            peer.stream.arrived();
            if (Request* const reader = std::exchange(event.packet->reader, nullptr)) end_read(*reader, !event.failed);
            if (event.failed && !peer.gone) lose(event.packet->peer, completions.why());
        }
        endpoint.give_back(event.packet);
    }
    if (completions.is_troubled()) [[unlikely]] {
        see_to(endpoint);
        ++happened;
    }
    return happened;
}

void OfiTransport::take(std::span<const std::byte> packet, const Endpoint& endpoint) {
    Parsed parsed;
    if (!parsed.parse(packet)) return;
    const int source = parsed.prefix.source;
    if (source < 0 || source >= options_.size) return;
    Peer& sender = peers_[index(source)];
    if (sender.gone) return;
    if (!sender.order.take(parsed.prefix.number)) [[unlikely]]
        return take_early(packet, parsed, endpoint);
    deliver(parsed);
    if (sender.order.has_early()) [[unlikely]]
        take_those_that_follow(sender);
}

void OfiTransport::take_early(std::span<const std::byte> packet, const Parsed& parsed, const Endpoint& endpoint) {
    const int source = parsed.prefix.source;
    PacketOrder& order = peers_[index(source)].order;
    const bool had_early = order.has_early();
    if (completes_in_order(endpoint.info()) || !order.keep(parsed.prefix.number, packet)) return lose_packets_of(source);
    if (!had_early && std::ranges::find(gaps_, source) == gaps_.end()) gaps_.push_back(source);
    // Each of two ranks may miss a packet of the other one, and ask. What is asked twice is answered twice, which does not matter.
    if (parsed.prefix.kind == Kind::check) handle(parsed);
}

void OfiTransport::take_those_that_follow(Peer& sender) {
    while (!sender.gone) {
        const std::vector<std::byte> packet = sender.order.next_early();
        Parsed parsed;
        if (!parsed.parse(packet)) return;
        deliver(parsed);
    }
}

void OfiTransport::see_to_gaps() {
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < gaps_.size();) {
        const int rank = gaps_[i];
        Peer& peer = peers_[index(rank)];
        if (peer.gone) peer.order.forget();
        const bool is_open = peer.order.has_early();
        const PacketOrder::Doubt doubt = is_open ? peer.order.look(now) : PacketOrder::Doubt::wait;
        if (doubt == PacketOrder::Doubt::ask) {
            say(rank, Kind::check, {1, 0});
            peer.order.note_question(now);
        }
        if (doubt == PacketOrder::Doubt::lost) {
            peer.order.forget();
            lose_packets_of(rank);
        }
        if (is_open && doubt != PacketOrder::Doubt::lost) {
            ++i;
        } else {
            gaps_[i] = gaps_.back();
            gaps_.pop_back();
        }
    }
}

void OfiTransport::lose_packets_of(int peer) {
    // The next packets do not fit either.
    if (std::exchange(peers_[index(peer)].lacks_packets, true)) return;
    // The sender may wait for an answer. It is told, if there is room for the word.
    say(peer, Kind::check, {2, 0});
    lose(peer, "libfabric lost messages from it, as it does when a connection ends");
}

void OfiTransport::deliver(const Parsed& parsed) {
    if (parsed.prefix.kind != Kind::lent) return handle(parsed);
    const int source = parsed.prefix.source;
    if (Peer* const from = open(source)) from->read_lent(parsed.numbers, source, [&](const Parsed& lent) { handle(lent); });
}

void OfiTransport::handle(const Parsed& parsed) {
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
        case Kind::check:
            if (numbers.which == 0) peers_[index(prefix.source)].order.note_answer();
            if (numbers.which == 1) say(prefix.source, Kind::check, {});
            if (numbers.which == 2) lose(prefix.source, "it says that libfabric lost messages that this rank had sent to it");
            return;
        case Kind::put: return write_words(home_.board(), numbers.which, rest);
    }
}

}  // namespace ofi

std::unique_ptr<Transport> make_ofi_transport(const TransportOptions& options) { return std::make_unique<ofi::OfiTransport>(options); }

}  // namespace rollcall::transport
