#include "transports/ofi/stream.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "foundation/copy.hpp"

namespace rollcall::transport::ofi {
namespace {

// Limits of the packets under way to one peer, so that a peer that does not receive leaves packets for other peers. The limit for data is
// smaller, so that messages find room.
constexpr std::size_t kMessagesUnderWay = 48;
constexpr std::size_t kDataUnderWay = 32, kDataBytesUnderWay = 2 << 20;
// A long fetch reads in pieces. Several are under way, so that the network does not wait for this process.
constexpr std::uint64_t kReadBytes = 1 << 20;
constexpr unsigned kReadsUnderWay = 4;

bool has_header(Kind kind) { return kind == Kind::message || kind == Kind::first || kind == Kind::offer; }

}  // namespace

void Stream::open(Endpoint& endpoint, fi_addr_t to, Neighbour* neighbour, int rank, int peer) {
    endpoint_ = &endpoint;
    to_ = to;
    neighbour_ = neighbour;
    rank_ = rank;
    peer_ = peer;
}

std::size_t Stream::begin(std::byte* packet, Kind kind, const Numbers* numbers, std::span<const std::byte> header) const {
    const Prefix prefix{kind, static_cast<std::uint8_t>(header.size()), next_number_, rank_};
    std::memcpy(packet, &prefix, sizeof prefix);
    std::size_t size = sizeof prefix;
    if (numbers) {
        std::memcpy(packet + size, numbers, sizeof *numbers);
        size += sizeof *numbers;
    }
    if (!header.empty()) std::memcpy(packet + size, header.data(), header.size());
    return size + header.size();
}

Endpoint::Sent Stream::lend(Packet* packet, std::size_t size) {
    last_loan_ += last_loan_ + 1 == 0 ? 2 : 1;  // never 0
    packet->slot->loan.store(last_loan_, std::memory_order_release);
    const std::size_t number = static_cast<std::size_t>(packet->slot - endpoint_->slots().data());
    const Numbers numbers{number | std::uint64_t{last_loan_} << 32, size};
    std::byte words[sizeof(Prefix) + sizeof numbers];
    const Endpoint::Sent result = endpoint_->inject(words, begin(words, Kind::lent, &numbers, {}), to_);
    if (result == Endpoint::Sent::yes) {
        packet->next = nullptr;
        (lent_ ? last_lent_->next : lent_) = packet;
        last_lent_ = packet;
    }
    return result;
}

unsigned Stream::take_back() {
    unsigned taken = 0;
    for (; lent_ && lent_->slot->loan.load(std::memory_order_acquire) == 0; ++taken) {
        endpoint_->give_back(std::exchange(lent_, lent_->next));
        arrived();
    }
    return taken;
}

bool Stream::post(Packet* packet, std::size_t size) {
    switch (packet->slot ? lend(packet, size) : endpoint_->send(packet, size, peer_, to_)) {
        case Endpoint::Sent::yes:
            ++under_way_;
            ++next_number_;
            if (neighbour_) neighbour_->ring();
            return true;
        case Endpoint::Sent::no_room:
            stuck_ = packet;
            stuck_size_ = size;
            if (neighbour_) neighbour_->ring();  // the first packet waits until the peer has noticed this process
            return false;
        case Endpoint::Sent::failed: break;
    }
    endpoint_->give_back(packet);
    failure_ = "libfabric refuses to send to it";
    return true;
}

bool Stream::send_now(Kind kind, const Numbers* numbers, std::span<const std::byte> header, ConstBytes payload) {
    const std::size_t size = sizeof(Prefix) + (numbers ? sizeof *numbers : 0) + header.size() + payload.size;
    if (!is_free() || size > endpoint_->packet_bytes()) return false;
    const auto fill = [&](std::byte* packet) {
        const std::size_t begun = begin(packet, kind, numbers, header);
        copy_bytes(packet + begun, payload.data, payload.size);
    };
    if (size <= endpoint_->longest_injected()) {
        std::byte packet[kLongestInjected];
        fill(packet);
        switch (endpoint_->inject(packet, size, to_)) {
            case Endpoint::Sent::yes:
                ++next_number_;
                if (neighbour_) neighbour_->ring();
                return true;
            case Endpoint::Sent::no_room:
                if (neighbour_) neighbour_->ring();
                return false;
            case Endpoint::Sent::failed: failure_ = "libfabric refuses to send to it"; return true;
        }
    }
    if (under_way_ >= kMessagesUnderWay) return false;
    Packet* const packet = endpoint_->take();
    if (!packet) return false;
    fill(packet->bytes);
    if (post(packet, size)) return true;
    // Takes the packet back, so that the sender waits until the message has left. Perhaps nobody drives this process after a call that has
    // returned.
    endpoint_->give_back(std::exchange(stuck_, nullptr));
    return false;
}

bool Stream::send_part(Request& request, bool& whole) {
    Packet* const packet = endpoint_->take();
    if (!packet) return false;
    Kind kind = request.kind;
    if (kind == Kind::data && request.withdrawn) kind = Kind::withdrawn;
    const std::span<const std::byte> header(request.header, has_header(kind) ? request.header_size : std::size_t{0});
    if (kind == Kind::message && sizeof(Prefix) + header.size() + request.size > endpoint_->packet_bytes()) {
        kind = Kind::first;
        request.numbers = {request.size, 0};
    }
    const bool carries = kind != Kind::offer && kind != Kind::grant && kind != Kind::decline && kind != Kind::withdrawn;
    std::size_t size = begin(packet->bytes, kind, has_numbers(kind) ? &request.numbers : nullptr, header);
    if (carries) {
        const std::size_t part = std::min<std::uint64_t>(endpoint_->packet_bytes() - size, request.size - request.moved);
        copy_bytes(packet->bytes + size, request.bytes + request.moved, part);
        request.moved += part;
        size += part;
    }
    if (kind == Kind::first) request.kind = Kind::more;
    whole = !carries || request.moved == request.size;
    post(packet, size);
    return true;
}

bool Stream::begin_reads(Request& request) {
    while (request.begun < request.size && request.reads < kReadsUnderWay && !request.has_failed && failure_.empty()) {
        Packet* const packet = endpoint_->take();
        if (!packet) return false;
        const Bytes part{request.bytes + request.begun, std::min(kReadBytes, request.size - request.begun)};
        const Exposed where{request.source.address + request.begun, request.source.key};
        const Endpoint::Sent result = endpoint_->read(packet, part, request.registration, peer_, to_, where);
        if (result != Endpoint::Sent::yes) endpoint_->give_back(packet);
        if (result == Endpoint::Sent::no_room) return false;
        if (result == Endpoint::Sent::failed) {
            request.has_failed = true;
            failure_ = "libfabric refuses to read its memory";
            return true;
        }
        packet->reader = &request;
        ++under_way_;
        ++request.reads;
        request.begun += part.size;
    }
    return true;
}

void Stream::read(Request* request) {
    if (std::ranges::find(reads_, request) != reads_.end()) return;
    if (!reads_.empty() || !begin_reads(*request)) reads_.push_back(request);
}

unsigned Stream::pump(Requests& requests) {
    unsigned happened = take_back();
    if (stuck_) {
        if (!post(std::exchange(stuck_, nullptr), stuck_size_)) return happened;
        ++happened;
        if (Request* const last = std::exchange(stuck_end_of_, nullptr)) requests.end(last, Outcome::ok);
    }
    for (std::list<Request*>* queue : {&messages_, &data_}) {
        const std::size_t most =
            queue == &messages_ ? kMessagesUnderWay : std::min(kDataUnderWay, kDataBytesUnderWay / endpoint_->packet_bytes());
        while (!queue->empty() && !stuck_ && under_way_ < most && failure_.empty()) {
            Request* const request = queue->front();
            bool whole = false;
            if (!send_part(*request, whole)) return happened;
            ++happened;
            if (!whole) continue;
            queue->pop_front();
            // An offer stays and waits for its answer.
            if (request->kind == Kind::offer) continue;
            if (stuck_)
                stuck_end_of_ = request;
            else
                requests.end(request, Outcome::ok);
        }
        if (!queue->empty()) break;
    }
    for (; !reads_.empty() && begin_reads(*reads_.front()); ++happened) reads_.pop_front();
    return happened;
}

void Stream::shut(Requests& requests) {
    if (stuck_) endpoint_->give_back(std::exchange(stuck_, nullptr));
    if (stuck_end_of_) requests.drop(std::exchange(stuck_end_of_, nullptr));
    while (lent_) {
        lent_->slot->loan.store(0, std::memory_order_relaxed);
        endpoint_->give_back(std::exchange(lent_, lent_->next));
        arrived();
    }
    endpoint_->write_off(peer_);
    under_way_ = 0;
    reads_.clear();
    for (std::list<Request*>* queue : {&messages_, &data_})
        for (Request* request : std::exchange(*queue, {}))
            if (request->kind != Kind::offer) requests.drop(request);
}

}  // namespace rollcall::transport::ofi
