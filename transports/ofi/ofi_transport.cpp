#include "transports/ofi/ofi_transport.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
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

constexpr std::size_t kLongestPut = 64;
// The limit of events in one progress(), so that it returns even while others keep sending.
constexpr int kEventsAtOnce = 64;

class OfiTransport final : public Transport {
  public:
    explicit OfiTransport(const TransportOptions& options)
        : options_(options), home_(options.board_bytes), peers_(static_cast<std::size_t>(options.size)), requests_(options.size) {
        Providers providers = choose(options);
        if (providers.shared_memory) shared_memory_ = std::make_unique<Endpoint>(std::move(providers.shared_memory));
        if (providers.network) network_ = std::make_unique<Endpoint>(std::move(providers.network));
        if (shared_memory_) sleep_.watch(home_.descriptor());
        if (network_ && network_->descriptor() >= 0) sleep_.watch(network_->descriptor());
    }

    std::string_view name() const override { return "ofi"; }
    std::uint32_t version() const override { return kVersion; }
    std::string description() const override { return describe(shared_memory_.get(), network_.get()); }

    std::vector<std::byte> address() const override {
        std::vector<std::byte> parts;
        append(parts, &home_.door(), sizeof(Door));
        const auto add = [&](const std::vector<std::byte>& bytes) { append(parts, bytes.data(), bytes.size()); };
        add(shared_memory_ ? shared_memory_->address() : std::vector<std::byte>());
        const std::string provider = network_ ? network_->provider() : "";
        append(parts, provider.data(), provider.size());
        add(network_ ? network_->address() : std::vector<std::byte>());
        return parts;
    }

    void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) override {
        for (std::size_t peer = 0; peer < addresses.size() && peer < peers_.size(); ++peer) peers_[peer].address = addresses[peer];
        addresses_ = std::move(storage);
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
        if (peers_[index(peer)].gone) return Started::failed;
        Request* const request = requests_.make(peer, Kind::grant, &completion, into);
        request->numbers = {which, ++last_number_};
        fetches_.emplace(last_number_, request);
        say(peer, Kind::grant, request->numbers);
        return Started::pending;
    }

    void decline(const Offer& offer) override {
        auto* const incoming = static_cast<Request*>(offer.handle);
        if (!peers_[index(incoming->peer)].gone) say(incoming->peer, Kind::decline, {incoming->numbers.which, 0});
        requests_.drop(incoming);
    }

    bool release(int peer, Completion& completion) override {
        Request* const request = requests_.abandon(peer, completion);
        if (!request) return true;
        const Kind kind = request->kind;
        if (kind == Kind::offer || kind == Kind::data) request->withdrawn = true;
        if ((kind == Kind::message || kind == Kind::more) && request->size) {
            // The message must keep its place in the stream of messages.
            request->kept = std::make_unique_for_overwrite<std::byte[]>(request->size);
            std::memcpy(request->kept.get(), request->bytes, request->size);
        }
        request->bytes = request->kept.get();
        return true;
    }

    bool move_payload(int peer, Completion& completion, Bytes copy, Completion& heir) override {
        return requests_.move_payload(peer, completion, copy, heir);
    }

    void add_pending(std::vector<int>& peers) const override { requests_.add_pending(peers); }

    void disconnect(int peer) override {
        Peer& whom = peers_[index(peer)];
        if (std::exchange(whom.gone, true)) return;
        std::erase(busy_, peer);
        requests_.fail(peer);
        if (whom.stream.is_open()) whom.stream.shut(requests_);
        const Door door = whom.door();
        const auto address = whom.part_of_address(kSharedMemoryPart);
        if (shares_memory_with(door) && !address.empty())
            Neighbour::clear_away(door, {reinterpret_cast<const char*>(address.data()), address.size()});
        for (auto* all : {&offered_, &fetches_})
            std::erase_if(*all, [&](const auto& entry) {
                if (entry.second->peer != peer) return false;
                requests_.drop(entry.second);
                return true;
            });
    }

    Memory& memory() override { return memory_; }
    std::span<std::byte> board() override { return home_.board(); }

    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override {
        Peer* const to = open(peer);
        if (!to || bytes.size() > kLongestPut) return;
        if (to->neighbour) {
            write_words({to->neighbour->board(), options_.board_bytes}, offset, bytes);
            return;
        }
        const Numbers numbers{offset, 0};
        if (to->stream.send_now(Kind::put, &numbers, {}, {bytes.data(), bytes.size()})) return note_work(peer);
        Request* const request = requests_.make(peer, Kind::put, nullptr, {nullptr, bytes.size()});
        request->kept = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
        std::memcpy(request->kept.get(), bytes.data(), bytes.size());
        request->bytes = request->kept.get();
        request->numbers = numbers;
        add(peer, request);
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
        // Three things are not reported by any descriptor: room for messages that could not leave, packets that shared memory gives back
        // (some of which need this process), and events of a network without a descriptor. In these cases the sleep must end after a short
        // time.
        sleep_.set_poll(!busy_.empty() || (shared_memory_ && shared_memory_->under_way() > 0) || (network_ && network_->descriptor() < 0));
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
    struct Failure {
        int peer;
        std::string why;
    };

    static std::size_t index(int peer) { return static_cast<std::size_t>(peer); }

    bool shares_memory_with(const Door& door) const { return shared_memory_ && door.domain != 0 && door.domain == home_.door().domain; }

    // Finds the way to a peer at its first use. Returns null if there is none.
    Peer* open(int rank) {
        Peer& peer = peers_[index(rank)];
        if (peer.gone) [[unlikely]]
            return nullptr;
        if (peer.stream.is_open()) [[likely]]
            return &peer;
        const Door door = peer.door();
        const auto provider = peer.part_of_address(kProviderPart);
        fi_addr_t to = FI_ADDR_UNSPEC;
        const std::string_view its(reinterpret_cast<const char*>(provider.data()), provider.size());
        if (shares_memory_with(door) && !peer.part_of_address(kSharedMemoryPart).empty()) {
            peer.neighbour = std::make_unique<Neighbour>();
            if (peer.neighbour->open(door) && shared_memory_->insert(peer.part_of_address(kSharedMemoryPart), to)) {
                peer.stream.open(*shared_memory_, to, peer.neighbour.get(), options_.rank, rank);
                return &peer;
            }
            lose(rank, "its shared memory cannot be reached");
        } else if (!network_) {
            lose(rank, "it shares no memory with this rank: set ROLLCALL_OFI_PROVIDER=tcp");
        } else if (its != network_->provider()) {
            lose(rank,
                 fmt::format("it uses libfabric's provider {}, but this rank uses {}: set ROLLCALL_OFI_PROVIDER to the same for all ranks",
                             its.empty() ? "shm" : its, network_->provider()));
        } else if (network_->insert(peer.part_of_address(kNetworkPart), to)) {
            peer.stream.open(*network_, to, nullptr, options_.rank, rank);
            return &peer;
        } else {
            lose(rank, "libfabric does not accept its address");
        }
        peer.gone = true;
        return nullptr;
    }

    void lose(int peer, const std::string& why) {
        Failure& failure = failures_.emplace_back();
        failure.peer = peer;
        failure.why = why;
    }

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

    // Sends a word of this transport's own.
    void say(int peer, Kind kind, const Numbers& numbers) {
        Peer* const to = open(peer);
        if (!to) return;
        if (to->stream.send_now(kind, &numbers, {}, {})) return note_work(peer);
        Request* const request = requests_.make(peer, kind, nullptr, {});
        request->numbers = numbers;
        add(peer, request);
    }

    unsigned pump() {
        unsigned happened = 0;
        for (const int peer : std::exchange(busy_, {})) {
            Peer& to = peers_[index(peer)];
            to.is_busy = false;
            if (to.gone) continue;
            happened += to.stream.pump(requests_);
            note_work(peer);
        }
        return happened;
    }

    unsigned take_events(Endpoint& endpoint) {
        unsigned happened = 0;
        Endpoint::Event event;
        for (int i = 0; i < kEventsAtOnce && endpoint.next(event); ++i, ++happened) {
            if (event.packet->incoming) {
                if (event.error == 0) take(std::span<const std::byte>(event.packet->bytes, event.size));
            } else {
                Peer& peer = peers_[index(event.packet->peer)];
                peer.stream.arrived();
                if (event.error && !peer.gone) lose(event.packet->peer, std::move(event.why));
            }
            endpoint.give_back(event.packet);
        }
        return happened;
    }

    // Handles a packet that came in. A malformed packet is ignored.
    void take(std::span<const std::byte> packet) {
        Prefix prefix;
        Numbers numbers;
        if (packet.size() < sizeof prefix) return;
        std::memcpy(&prefix, packet.data(), sizeof prefix);
        packet = packet.subspan(sizeof prefix);
        if (prefix.source < 0 || prefix.source >= options_.size || peers_[index(prefix.source)].gone) return;
        if (prefix.kind != Kind::message && prefix.kind != Kind::more) {
            if (packet.size() < sizeof numbers) return;
            std::memcpy(&numbers, packet.data(), sizeof numbers);
            packet = packet.subspan(sizeof numbers);
        }
        if (packet.size() < prefix.header_size) return;
        const auto header = packet.first(prefix.header_size), rest = packet.subspan(prefix.header_size);
        switch (prefix.kind) {
            case Kind::message: return sink_->on_message(header, {rest.data(), rest.size()});
            case Kind::first: return peers_[index(prefix.source)].begin_message(header, rest, numbers.which);
            case Kind::more: return peers_[index(prefix.source)].continue_message(rest, *sink_);
            case Kind::offer: {
                Request* const incoming = requests_.make(prefix.source, Kind::offer, nullptr, {});
                incoming->numbers = numbers;
                return sink_->on_offer(header, Offer{.handle = incoming, .size = numbers.size, .peer = prefix.source});
            }
            case Kind::grant: return push(prefix.source, numbers);
            case Kind::decline:
                if (Request* const request = take_out(offered_, prefix.source, numbers.which)) requests_.end(request, Outcome::ok);
                return;
            case Kind::data: return land(prefix.source, numbers.which, rest);
            case Kind::withdrawn:
                if (Request* const request = take_out(fetches_, prefix.source, numbers.which)) requests_.end(request, Outcome::withdrawn);
                return;
            case Kind::put: return write_words(home_.board(), numbers.which, rest);
        }
    }

    // The receiver has granted a buffer for a large message.
    void push(int peer, const Numbers& grant) {
        Request* const request = take_out(offered_, peer, grant.which);
        if (!request) return;
        request->kind = Kind::data;
        request->numbers = {grant.size, 0};
        add(peer, request);
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

    unsigned tell_failures() {
        unsigned told = 0;
        for (const Failure& failure : std::exchange(failures_, {})) {
            disconnect(failure.peer);
            sink_->on_peer_unreachable(failure.peer, failure.why);
            ++told;
        }
        return told;
    }

    TransportOptions options_;
    PlainMemory memory_;
    Home home_;
    Sleep sleep_;
    std::vector<Peer> peers_;
    Requests requests_;
    std::unique_ptr<Endpoint> shared_memory_, network_;
    Sink* sink_ = nullptr;
    std::shared_ptr<const void> addresses_;
    std::uint64_t last_number_ = 0;
    Numbered offered_;  ///< Large sends that have been neither fetched nor declined.
    Numbered fetches_;
    std::vector<int> busy_;  ///< The peers for which something waits.
    std::vector<Failure> failures_;
    bool asleep_ = false;
};

}  // namespace
}  // namespace ofi

std::unique_ptr<Transport> make_ofi_transport(const TransportOptions& options) { return std::make_unique<ofi::OfiTransport>(options); }

}  // namespace rollcall::transport
