#include <algorithm>
#include <cstring>
#include <utility>

#include "foundation/copy.hpp"
#include "foundation/log.hpp"
#include "transports/ofi/ofi_transport_class.hpp"

namespace rollcall::transport::ofi {

void OfiTransport::push(int peer, const Numbers& grant, bool may_read) {
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

void OfiTransport::read(int peer, std::uint64_t number, std::span<const std::byte> exposed) {
    Request* const request = find(fetches_, peer, number);
    if (!request || request->network_uses || exposed.size() != sizeof(Exposed)) return;
    if (!request->bytes) return end_fetch(number, *request, Outcome::ok);  // it was given up
    std::memcpy(&request->source, exposed.data(), sizeof(Exposed));
    Stream& stream = peers_[index(peer)].stream;
    if (!stream.reader()) return end_fetch(number, *request, Outcome::failed);
    requests_.leave_to_network(*request);
    stream.read(request);
    note_work(peer);
}

void OfiTransport::end_read(Request& request, bool ok) {
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

void OfiTransport::end_fetch(std::uint64_t number, Request& request, Outcome outcome) {
    fetches_.erase(number);
    say(request.peer, Kind::decline, {request.numbers.which, 0});
    requests_.end(&request, outcome);
}

void OfiTransport::land(int peer, std::uint64_t number, std::span<const std::byte> bytes) {
    Request* const request = find(fetches_, peer, number);
    if (!request || bytes.size() > request->size - request->moved) return;
    if (request->bytes) copy_bytes(request->bytes + request->moved, bytes.data(), bytes.size());
    request->moved += bytes.size();
    if (request->moved < request->size) return;
    fetches_.erase(number);
    requests_.end(request, Outcome::ok);
}

void OfiTransport::give_up(int peer) {
    Stream& stream = peers_[index(peer)].stream;
    if (requests_.hide_from(peer)) stream.part();
    requests_.fail(peer);
    if (stream.is_open()) stream.shut(requests_);
    for (Numbered* all : {&offered_, &fetches_}) requests_.forget(*all, peer);
}

unsigned OfiTransport::tell_failures() {
    const auto failures = std::exchange(failures_, {});
    for (const Failure& failure : failures) {
        disconnect(failure.peer);
        sink_->on_peer_unreachable(failure.peer, failure.why);
    }
    return static_cast<unsigned>(failures.size());
}

void OfiTransport::see_to(Endpoint& endpoint) {
    const std::string why = endpoint.completions().take_trouble();
    if (endpoint.completions().has_lost_events()) return end(endpoint, why);
    log_message(LogLevel::warn, "{}", why);
    Questions& questions = &endpoint == shared_memory_.get() ? memory_questions_ : network_questions_;
    questions.wanted = true;
    questions.strangers.begin(options_.size);
    ask_peers();
}

void OfiTransport::ask_peers() {
    const auto now = std::chrono::steady_clock::now();
    const auto ask_when_it_is_time = [&](Endpoint* endpoint, Questions& questions) {
        if (!endpoint) questions = {};  // it was closed meanwhile
        if (!questions.are_due() || now < questions.next) return;
        questions.next = now + kBetweenQuestions;
        ask_peers(*endpoint, questions);
    };
    ask_when_it_is_time(shared_memory_.get(), memory_questions_);
    ask_when_it_is_time(network_.get(), network_questions_);
}

void OfiTransport::ask_peers(Endpoint& endpoint, Questions& questions) {
    const auto ask = [&](int rank, bool strangers) {
        const Peer& peer = peers_[index(rank)];
        const bool is_stranger = !peer.stream.is_open() && !peer.order.has_begun();
        if (peer.gone || is_stranger != strangers || !is_reached_by(peer, endpoint) || (is_stranger && rank == options_.rank)) return false;
        say(rank, Kind::check, {1, 0});
        return true;
    };
    for (int rank = 0; questions.wanted && rank < options_.size; ++rank) ask(rank, false);
    questions.wanted = false;  // there was memory for all of them
    // Also those from which nothing has come: their first message may be lost.
    questions.strangers.go_on([&](int rank) { return ask(rank, true); });
}

bool OfiTransport::is_reached_by(const Peer& peer, const Endpoint& endpoint) const {
    return (shared_memory_ && peer.shares_memory(home_.node_handle())) == (&endpoint == shared_memory_.get());
}

bool OfiTransport::reads_through(const Endpoint& endpoint) const {
    for (int rank = 0; rank < options_.size; ++rank)
        if (requests_.has_reads(rank) && is_reached_by(peers_[index(rank)], endpoint)) return true;
    return false;
}

void OfiTransport::end(Endpoint& endpoint, const std::string& why) {
    if (last_reads_ && &endpoint == network_.get()) return;  // its peers are lost already
    std::vector<int> lost;
    const bool reads = reads_through(endpoint);
    for (int rank = 0; rank < options_.size; ++rank) {
        Peer& peer = peers_[index(rank)];
        if (!is_reached_by(peer, endpoint)) continue;
        if (!peer.gone && rank != options_.rank) lose(rank, why);
        peer.gone = true;
        std::erase(busy_, rank);
        lost.push_back(rank);
    }
    if (reads && endpoint.must_end_reads()) {
        last_reads_ = std::chrono::steady_clock::now() + kLastReads;
        // Completions are called here. They find that none of these peers can be reached.
        for (const int rank : lost) give_up(rank);
    } else {
        put_away(endpoint, !stop(endpoint));
    }
}

bool OfiTransport::stop(Endpoint& endpoint) {
    for (int rank = 0; rank < options_.size && endpoint.holds_registrations(); ++rank)
        if (is_reached_by(peers_[index(rank)], endpoint)) requests_.end_registrations(rank);
    return endpoint.stop();
}

void OfiTransport::end_last_reads() {
    const bool reads = reads_through(*network_);
    if (reads && std::chrono::steady_clock::now() < *last_reads_) return;
    last_reads_.reset();
    // The lost event may be the one of a read. Nobody knows then whether it has ended.
    put_away(*network_, reads || !stop(*network_));
}

void OfiTransport::put_away(Endpoint& endpoint, bool is_open) {
    std::vector<int> lost;
    for (int rank = 0; rank < options_.size; ++rank)
        if (is_reached_by(peers_[index(rank)], endpoint)) lost.push_back(rank);
    const bool by_memory = &endpoint == shared_memory_.get();
    // Nobody empties the bell any more, and a last ring may be in it.
    const int descriptor = by_memory ? home_.descriptor() : endpoint.descriptor();
    if (descriptor >= 0) sleep_.forget(descriptor);
    std::unique_ptr<Endpoint>& its = by_memory ? shared_memory_ : network_;
    if (is_open)
        Endpoint::abandon(std::move(its));
    else
        stopped_.push_back(std::move(its));
    // Completions are called here, too.
    for (const int rank : lost) {
        give_up(rank);
        requests_.drop_reads(rank);
        give_up(rank);  // what had to wait for the reads
    }
}

}  // namespace rollcall::transport::ofi
