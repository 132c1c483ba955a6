#include "transports/ofi/endpoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rollcall/error.hpp>

#include "transports/ofi/kept_signals.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::transport::ofi {
namespace {

// The number of packets that this process keeps posted for messages, and the largest number that it may have under way. Long packets are
// fewer: the numbers of bytes are limits, too. The completion queue has room for all of them (Completions::kPlaces).
constexpr std::size_t kIncoming = 64, kIncomingBytes = 4 << 20;
constexpr std::size_t kMostOutgoing = kSlots, kMostOutgoingBytes = 24 << 20;
constexpr std::size_t kBatch = 32;

void check(const fi_info& info, const char* what, ssize_t result) {
    if (result >= 0) return;
    throw Error(ErrorCode::transport,
                fmt::format("libfabric: {} failed with the provider {}: {}; `rollcall info` shows what libfabric offers here, "
                            "FI_LOG_LEVEL=warn says more",
                            what, info.fabric_attr->prov_name, library().strerror(static_cast<int>(-result))));
}

// What a call of libfabric says that starts something.
Endpoint::Sent sent_of(ssize_t result) {
    return result == 0 ? Endpoint::Sent::yes : result == -FI_EAGAIN ? Endpoint::Sent::no_room : Endpoint::Sent::failed;
}

// By default ofi_rxm asks the receiver before it sends more than 16 KiB. It reads this variable whenever an endpoint is made. The
// environment is changed only once, because connections to other jobs make endpoints while other threads of the program may read it.
void tell_to_send_at_once() {
    [[maybe_unused]] static const int result = ::setenv("FI_OFI_RXM_EAGER_LIMIT", std::to_string(kPacketBytesOverTcp).c_str(), 0);
}

}  // namespace

Endpoint::Endpoint(Info info, std::span<Slot> slots) : info_(std::move(info)), slots_(slots) {
    try {
        // The provider shm installs handlers when the first endpoint is made.
        const KeptSignals signals(KeptSignals::Which::set);
        open();
    } catch (...) {
        close();
        throw;
    }
}

Endpoint::~Endpoint() { close(); }

void Endpoint::open() {
    // From libfabric 1.18 on, ofi_rxm cannot be told to send more than its own buffers hold at once: it needs buffers that tcp has no more.
    // It would send longer packets in other ways, and shorter ones would overtake them.
    const bool can_be_told = provider() == "tcp;ofi_rxm" && library().version() < FI_VERSION(1, 18);
    const bool over_tcp = provider() == "tcp" || can_be_told;
    packet_bytes_ = incoming_bytes_ = over_tcp ? kPacketBytesOverTcp : kPacketBytes;
    if (!slots_.empty()) {
        packet_bytes_ = sizeof slots_.front().bytes;
        incoming_bytes_ = kLongestInjected;
    }
    check(*info_, "opening the fabric", library().fabric(info_->fabric_attr, &fabric_, nullptr));
    check(*info_, "opening the domain", fi_domain(fabric_, info_.get(), &domain_, nullptr));

    fi_av_attr vector{};
    vector.type = info_->domain_attr->av_type;
    check(*info_, "making the table of addresses", fi_av_open(domain_, &vector, &addresses_, nullptr));

    fi_cq_attr queue{};
    queue.size = Completions::kPlaces;
    queue.format = FI_CQ_FORMAT_MSG;
    const bool sleeps = has_descriptor(*info_);
    queue.wait_obj = sleeps ? FI_WAIT_FD : FI_WAIT_NONE;
    if (!sleeps || fi_cq_open(domain_, &queue, &queue_, nullptr) != 0) {
        queue.wait_obj = FI_WAIT_NONE;
        check(*info_, "making the completion queue", fi_cq_open(domain_, &queue, &queue_, nullptr));
    } else if (fi_control(&queue_->fid, FI_GETWAIT, &descriptor_) != 0) {
        descriptor_ = -1;
    }
    fi_eq_attr events{};
    events.wait_obj = FI_WAIT_NONE;
    if (needs_event_queue(*info_)) check(*info_, "making the event queue", fi_eq_open(fabric_, &events, &events_, nullptr));
    completions_.open(queue_, provider(), events_);

    if (can_be_told) tell_to_send_at_once();
    check(*info_, "making an endpoint", fi_endpoint(domain_, info_.get(), &endpoint_, nullptr));
    check(*info_, "giving the endpoint its table of addresses", fi_ep_bind(endpoint_, &addresses_->fid, 0));
    check(*info_, "giving the endpoint its completion queue", fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV));
    if (events_) check(*info_, "giving the endpoint its event queue", fi_ep_bind(endpoint_, &events_->fid, 0));
    check(*info_, "enabling the endpoint", fi_enable(endpoint_));
    longest_injected_ = std::min(info_->tx_attr->inject_size, kLongestInjected);
    const char* const registering = "registering memory for messages";
    check(*info_, registering, add_packets(true, std::min(kIncoming, kIncomingBytes / incoming_bytes_)));
    // Where packets must be registered, some are there from the beginning. So this process can always send.
    if (wants(FI_MR_LOCAL)) check(*info_, registering, add_packets(false, kBatch));
}

void Endpoint::close() noexcept {
    const auto end = [](auto*& object) {
        if (object) fi_close(&std::exchange(object, nullptr)->fid);
    };
    drop_registrations_of_endpoint();
    end(endpoint_);
    end(queue_);
    end(events_);
    end(addresses_);
    registrations_.clear();
    end(domain_);
    end(fabric_);
}

int Endpoint::add_packets(bool incoming, std::size_t count) {
    Slot* const slots = incoming || slots_.empty() ? nullptr : &slots_[outgoing_];
    const std::size_t size = incoming ? incoming_bytes_ : packet_bytes_;
    std::byte* contents = nullptr;
    void* descriptor = nullptr;
    if (!slots) {
        auto bytes = std::make_unique_for_overwrite<std::byte[]>(count * size);
        contents = bytes.get();
        if (wants(FI_MR_LOCAL)) {
            Registration registration;
            if (const int refused = register_memory(contents, count * size, FI_SEND | FI_RECV, registration)) return refused;
            descriptor = fi_mr_desc(registration.get());
            registrations_.push_back(std::move(registration));
        }
        contents_.push_back(std::move(bytes));
    }
    std::vector<Packet>& batch = packets_.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) {
        batch[i].descriptor = descriptor;
        batch[i].peer = Packet::kNobody;
        batch[i].incoming = incoming;
        batch[i].slot = slots ? slots + i : nullptr;
        batch[i].bytes = slots ? slots[i].bytes : contents + i * size;
        if (incoming)
            receive(&batch[i]);
        else
            give_back(&batch[i]);
    }
    if (!incoming) outgoing_ += count;
    return 0;
}

std::vector<std::byte> Endpoint::address() const {
    std::size_t length = 0;
    fi_getname(&endpoint_->fid, nullptr, &length);
    std::vector<std::byte> bytes(length);
    check(*info_, "getting the endpoint's address", fi_getname(&endpoint_->fid, bytes.data(), &length));
    bytes.resize(length);
    return bytes;
}

bool Endpoint::insert(std::span<const std::byte> address, fi_addr_t& peer) {
    return !address.empty() && fi_av_insert(addresses_, address.data(), 1, &peer, 0, nullptr) == 1;
}

Packet* Endpoint::take() {
    if (!free_) {
        if (outgoing_ >= std::min(kMostOutgoing, kMostOutgoingBytes / packet_bytes_)) return nullptr;
        if (const int refused = add_packets(false, kBatch)) {
            // Packets that are under way come back. Without them there would never be any.
            if (outgoing_ == 0) completions_.note_loss(refused, "registering memory for messages");
            return nullptr;
        }
    }
    return std::exchange(free_, free_->next);
}

void Endpoint::give_back(Packet* packet) {
    if (packet->incoming) return unposted_.push_back(packet);
    packet->peer = Packet::kNobody;
    if (std::exchange(packet->is_written_off, false)) ++outgoing_;
    packet->next = free_;
    free_ = packet;
}

void Endpoint::write_off(int peer) {
    for (std::vector<Packet>& batch : packets_) {
        for (Packet& packet : batch) {
            if (packet.incoming || packet.peer != peer || packet.is_written_off) continue;
            packet.is_written_off = true;
            --outgoing_;
        }
    }
}

void Endpoint::receive(Packet* packet) {
    const ssize_t result = fi_recv(endpoint_, packet->bytes, incoming_bytes_, packet->descriptor, FI_ADDR_UNSPEC, &packet->context);
    if (result == -FI_EAGAIN)
        unposted_.push_back(packet);
    else if (result != 0)
        completions_.note_loss(result, "giving a buffer for messages to an endpoint");  // to try again would not help
}

Endpoint::Sent Endpoint::send(Packet* packet, std::size_t size, int peer, fi_addr_t to) {
    packet->peer = peer;
    return sent_of(fi_send(endpoint_, packet->bytes, size, packet->descriptor, to, &packet->context));
}

Endpoint::Sent Endpoint::inject(const void* bytes, std::size_t size, fi_addr_t to) {
    return sent_of(fi_inject(endpoint_, bytes, size, to));
}

int Endpoint::register_memory(const void* memory, std::size_t size, std::uint64_t access, Registration& registration) {
    fid_mr* raw = nullptr;
    const std::uint64_t key = ++last_key_;  // FI_MR_PROV_KEY: the provider chooses another one
    if (const int refused = fi_mr_reg(domain_, memory, size, access, 0, key, 0, &raw, nullptr)) return refused;
    Registration its(raw);
    if (wants(FI_MR_ENDPOINT)) {
        if (const int refused = fi_mr_bind(raw, &endpoint_->fid, 0)) return refused;
        if (const int refused = fi_mr_enable(raw)) return refused;
    }
    registration = std::move(its);
    return 0;
}

Exposed Endpoint::place_of(const void* memory, const Registration& registration) const {
    return {wants(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uint64_t>(memory) : 0, fi_mr_key(registration.get())};
}

Registration Endpoint::expose(ConstBytes memory, Exposed& where) {
    Registration registration;
    // Refused, for example, because no more memory may be locked.
    if (register_memory(memory.data, memory.size, FI_REMOTE_READ, registration) == 0) where = place_of(memory.data, registration);
    return registration;
}

Registration Endpoint::prepare(Bytes memory, bool& ok) {
    Registration registration;
    ok = !wants(FI_MR_LOCAL) || register_memory(memory.data, memory.size, FI_READ, registration) == 0;
    return registration;
}

Endpoint::Sent Endpoint::read(Packet* packet, Bytes into, const Registration& registration, int peer, fi_addr_t from,
                              const Exposed& where) {
    packet->peer = peer;
    void* const descriptor = registration ? fi_mr_desc(registration.get()) : nullptr;
    return sent_of(fi_read(endpoint_, into.data, into.size, descriptor, from, where.address, where.key, &packet->context));
}

bool Endpoint::can_write() const {
    return (info_->caps & kWrites) == kWrites && info_->domain_attr->cq_data_size > 0 && info_->tx_attr->inject_size >= kLongestPut;
}

bool Endpoint::open_board(std::span<std::byte> board, Exposed& where) {
    Registration registration;
    if (!can_write() || register_memory(board.data(), board.size(), FI_REMOTE_WRITE, registration) != 0) return false;
    where = place_of(board.data(), registration);
    registrations_.push_back(std::move(registration));
    return true;
}

Endpoint::Sent Endpoint::write(std::span<const std::byte> bytes, fi_addr_t to, const Exposed& where) {
    return sent_of(fi_inject_writedata(endpoint_, bytes.data(), bytes.size(), 0, to, where.address, where.key));
}

void Endpoint::post_again() {
    posted_.swap(unposted_);
    for (Packet* packet : posted_) receive(packet);
    posted_.clear();
}

void Endpoint::abandon(std::unique_ptr<Endpoint> endpoint) {
    static std::mutex mutex;
    static auto* const all = new std::vector<std::unique_ptr<Endpoint>>;  // never destroyed
    endpoint->unposted_.clear();
    endpoint->is_abandoned_ = true;
    const std::lock_guard lock(mutex);
    all->push_back(std::move(endpoint));
}

bool Endpoint::stop() {
    unposted_.clear();
    drop_registrations_of_endpoint();
    if (endpoint_ && fi_close(&endpoint_->fid) != 0) return false;
    endpoint_ = nullptr;
    return true;
}

bool Endpoint::may_wait() {
    fid* waited = &queue_->fid;
    return unposted_.empty() && fi_trywait(fabric_, &waited, 1) == FI_SUCCESS;
}

}  // namespace rollcall::transport::ofi
