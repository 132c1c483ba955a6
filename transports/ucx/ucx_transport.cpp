#include "transports/ucx/ucx_transport.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>
#include <ucp/api/ucp.h>
#include <rollcall/error.hpp>

#include "transports/ucx/requests.hpp"

namespace rollcall::transport {
namespace {

constexpr unsigned kMessageId = 0;
// Messages whose header and payload together are this short travel as one piece, without a header of UCX's own:
// the shortest way UCX has. The first byte is the length of the header.
constexpr unsigned kInlineId = 1;
constexpr std::size_t kLongestInline = 88;
// A put, as a message: where it lands on the board, then its bytes. See put().
constexpr unsigned kPutId = 2;
constexpr std::size_t kLongestPut = 64;

[[noreturn]] void fail(const char* what, ucs_status_t status) {
    throw Error(ErrorCode::transport,
                fmt::format("UCX: {} failed: {}; `rollcall info` shows what UCX offers here, UCX_LOG_LEVEL=info says more", what,
                            ucs_status_string(status)));
}

void check(const char* what, ucs_status_t status) {
    if (status != UCS_OK) fail(what, status);
}

struct ConfigRelease {
    void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};
using Config = std::unique_ptr<ucp_config_t, ConfigRelease>;

// What the user says in the environment stands; the rest is set here.
void set_unless_given(ucp_config_t* config, const char* name, const char* value) {
    if (std::getenv(fmt::format("UCX_{}", name).c_str())) return;
    check(fmt::format("setting {}={}", name, value).c_str(), ucp_config_modify(config, name, value));
}

// Whether UCX_TLS leaves shared memory in.
bool uses_shared_memory() {
    const char* tls = std::getenv("UCX_TLS");
    if (!tls || *tls == '^') return true;
    const std::string_view text(tls);
    for (const std::string_view word : {"posix", "sysv", "shm", "sm", "mm", "all"})
        if (text.find(word) != std::string_view::npos) return true;
    return false;
}

Config read_config(const UcxOptions& options) {
    ucp_config_t* raw = nullptr;
    check("reading its configuration", ucp_config_read(nullptr, nullptr, &raw));
    Config config(raw);
    // With error handling by peer, UCX uses shared memory only where it is told that errors need not be noticed there.
    // Deaths on the same host are noticed by whoever started the processes. (UCX warns of settings that nothing uses.)
    if (uses_shared_memory() && !std::getenv("UCX_POSIX_ERROR_HANDLING")) set_unless_given(raw, "MM_ERROR_HANDLING", "y");
    // System V segments can outlive a killed process; POSIX ones are unlinked as soon as they are made.
    set_unless_given(raw, "TLS", "^sysv");
    if (!options.net_devices.empty()) check("choosing network devices", ucp_config_modify(raw, "NET_DEVICES", options.net_devices.c_str()));
    return config;
}

class UcxTransport final : public Transport {
  public:
    explicit UcxTransport(const UcxOptions& options)
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
        const bool connected = std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.endpoint || peer.gone; });
        if (connected && !closed_) {
            // Not left in good order: peers died, or this process gives up. UCX 1.13 may then end the process with an
            // assertion (connections that were being made, requests that have not ended). So what it holds is left to the
            // end of the process, which is near.
            struct Left {
                Requests requests;
                std::vector<Peer> peers;
                ucp_worker_h worker;
                ucp_context_h context;
            };
            static auto* const left = new std::vector<Left>();
            left->push_back({std::move(requests_), std::move(peers_), worker_, context_});
            return;
        }
        for (Peer& peer : peers_)
            if (peer.key) ucp_rkey_destroy(peer.key);
        release();
    }

  private:
    void open() {
        Config config = read_config(options_);
        ucp_params_t parameters{};
        parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
        parameters.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
        parameters.estimated_num_eps = static_cast<std::size_t>(options_.size);
        check("initialisation", ucp_init(&parameters, config.get(), &context_));
        ucp_worker_params_t worker{};
        worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
        check("creating a worker", ucp_worker_create(context_, &worker, &worker_));
        check("getting its event descriptor", ucp_worker_get_efd(worker_, &descriptor_));

        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB |
                             UCP_AM_HANDLER_PARAM_FIELD_ARG;
        handler.id = kMessageId;
        handler.flags = UCP_AM_FLAG_WHOLE_MSG;
        handler.cb = &UcxTransport::on_message;
        handler.arg = this;
        check("setting the message handler", ucp_worker_set_am_recv_handler(worker_, &handler));

        handler.id = kInlineId;
        handler.cb = &UcxTransport::on_inline;
        check("setting the message handler", ucp_worker_set_am_recv_handler(worker_, &handler));

        handler.id = kPutId;
        handler.cb = &UcxTransport::on_put;
        check("setting the message handler", ucp_worker_set_am_recv_handler(worker_, &handler));

        // Memory that UCX allocates: only then is a put over shared memory a plain store, seen without the target's help.
        ucp_mem_map_params_t map{};
        map.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
        map.length = options_.board_bytes;
        map.flags = UCP_MEM_MAP_ALLOCATE;
        check("allocating the arrivals board", ucp_mem_map(context_, &map, &board_));
        ucp_mem_attr_t attributes{};
        attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
        check("querying the arrivals board", ucp_mem_query(board_, &attributes));
        board_bytes_ = {static_cast<std::byte*>(attributes.address), options_.board_bytes};
        std::memset(board_bytes_.data(), 0, board_bytes_.size());

        only_tcp_between_hosts_ = !std::filesystem::exists("/sys/class/infiniband");
    }

    void release() noexcept {
        if (board_) ucp_mem_unmap(context_, board_);
        if (worker_) ucp_worker_destroy(worker_);
        if (context_) ucp_cleanup(context_);
    }

  public:
    std::string_view name() const override { return "ucx"; }
    std::string description() const override {
        const char* tls = std::getenv("UCX_TLS");
        const char* devices = std::getenv("UCX_NET_DEVICES");
        return fmt::format("UCX {}, transports {}, network devices {}", ucp_get_version_string(), tls ? tls : "all but sysv",
                           !options_.net_devices.empty() ? options_.net_devices
                           : devices                     ? devices
                                                         : "all");
    }

    std::vector<std::byte> address() const override {
        ucp_address_t* worker_address = nullptr;
        std::size_t worker_length = 0;
        check("getting its address", ucp_worker_get_address(worker_, &worker_address, &worker_length));
        void* key = nullptr;
        std::size_t key_length = 0;
        const ucs_status_t packed = ucp_rkey_pack(context_, board_, &key, &key_length);
        std::vector<std::byte> blob;
        if (packed == UCS_OK) {
            append(blob, worker_address, worker_length);
            append(blob, key, key_length);
            const std::uint64_t base = reinterpret_cast<std::uint64_t>(board_bytes_.data());
            append(blob, &base, sizeof base);
            const Whereabouts here = whereabouts();
            append(blob, &here, sizeof here);
            ucp_rkey_buffer_release(key);
        }
        ucp_worker_release_address(worker_, worker_address);
        check("packing the key of the board", packed);
        return blob;
    }

    void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) override {
        for (std::size_t peer = 0; peer < addresses.size() && peer < peers_.size(); ++peer) peers_[peer].address = addresses[peer];
        addresses_ = std::move(storage);
    }

    void attach(Sink& sink) override { sink_ = &sink; }

    unsigned progress() override {
        unsigned happened = ucp_worker_progress(worker_);
        if (deferred_) happened += do_deferred();
        return happened;
    }

    Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) override {
        Peer* to = endpoint(peer);
        if (!to) return Started::failed;
        Requests::Request* request = requests_.take(completion, peer);
        ucp_request_param_t parameters;
        if (path == Path::eager && header.size() + payload.size < kLongestInline) {
            request->bytes[0] = static_cast<std::byte>(header.size());
            std::memcpy(request->bytes + 1, header.data(), header.size());
            if (payload.size) std::memcpy(request->bytes + 1 + header.size(), payload.data, payload.size);
            parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
            parameters.cb.send = &Requests::on_sent;
            parameters.user_data = request;
            return requests_.result_of(
                ucp_am_send_nbx(to->endpoint, kInlineId, nullptr, 0, request->bytes, 1 + header.size() + payload.size, &parameters),
                request);
        }
        std::memcpy(request->bytes, header.data(), header.size());
        parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
        parameters.flags = path == Path::eager ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
        parameters.cb.send = &Requests::on_sent;
        parameters.user_data = request;
        const ucs_status_ptr_t started =
            ucp_am_send_nbx(to->endpoint, kMessageId, request->bytes, header.size(), payload.data, payload.size, &parameters);
        return requests_.result_of(started, request);
    }

    Started fetch(const Offer& offer, Bytes into, Completion& completion) override {
        if (offer.peer >= 0 && peers_[static_cast<std::size_t>(offer.peer)].gone) return Started::failed;
        Requests::Request* request = requests_.take(completion, offer.peer);
        ucp_request_param_t parameters{};
        parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        parameters.cb.recv_am = &Requests::on_fetched;
        parameters.user_data = request;
        return requests_.result_of(ucp_am_recv_data_nbx(worker_, offer.handle, into.data, into.size, &parameters), request);
    }

    void decline(const Offer& offer) override {
        // Not from inside the callback that brought it: UCX would not yet know that it was kept.
        declined_.push_back(offer.handle);
        deferred_ = true;
    }

    Started copy(Bytes into, ConstBytes from, Completion&) override {
        if (from.size) std::memcpy(into.data, from.data, from.size);
        return Started::done;
    }

    void disconnect(int peer) override {
        Peer& whom = peers_[static_cast<std::size_t>(peer)];
        requests_.disconnect(peer, now());
        if (requests_.forcing()) deferred_ = true;
        whom.gone = true;
        if (!whom.endpoint) return;
        ucp_request_param_t parameters{};
        parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
        parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
        const ucs_status_ptr_t request = ucp_ep_close_nbx(std::exchange(whom.endpoint, nullptr), &parameters);
        if (UCS_PTR_IS_PTR(request)) {
            closing_.push_back(request);
            deferred_ = true;
        }
    }

    std::span<std::byte> board() override { return board_bytes_; }

    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override {
        Peer* to = endpoint(peer);
        if (!to || !unpack_key(*to) || bytes.size() > kLongestPut) return;
        Requests::Request* request = requests_.take(ignored_, peer);
        ucp_request_param_t parameters{};
        parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        parameters.cb.send = &Requests::on_sent;
        parameters.user_data = request;
        ucs_status_ptr_t started;
        if (only_tcp_to(*to)) {
            // Over TCP its target writes a put, too, and UCX has it answer each: a wake-up of the sender for nothing.
            std::memcpy(request->bytes, &offset, sizeof offset);
            std::memcpy(request->bytes + sizeof offset, bytes.data(), bytes.size());
            started = ucp_am_send_nbx(to->endpoint, kPutId, nullptr, 0, request->bytes, sizeof offset + bytes.size(), &parameters);
        } else {
            std::memcpy(request->bytes, bytes.data(), bytes.size());
            started = ucp_put_nbx(to->endpoint, request->bytes, bytes.size(), to->board_address + offset, to->key, &parameters);
        }
        requests_.result_of(started, request);
    }

    PutWake put_wake(int peer) override {
        Peer* to = endpoint(peer);
        if (!to || !unpack_key(*to)) return PutWake::unknown;
        if (to->direct_board) return PutWake::silent;
        return only_tcp_to(*to) ? PutWake::wakes : PutWake::unknown;
    }

    std::byte* peer_board(int peer) override {
        Peer* to = endpoint(peer);
        if (!to || !unpack_key(*to)) return nullptr;
        return to->direct_board;
    }

    bool shares_memory() const override { return uses_shared_memory(); }
    bool tells_of_puts() const override { return false; }
    int descriptor() const override { return descriptor_; }
    bool arm() override { return !deferred_ && ucp_worker_arm(worker_) == UCS_OK; }

    /// One that moves, one that is offered, and two to cover a neighbour that is scheduled away for a moment.
    unsigned pieces_under_way() const override { return 4; }
    Nanoseconds now() const override {
        timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }

    bool close() override {
        dying_ = true;
        requests_.silence();
        for (Peer& peer : peers_) {
            if (!peer.endpoint) continue;
            ucp_request_param_t parameters{};
            const ucs_status_ptr_t request = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &parameters);
            peer.gone = true;
            if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
        }
        collect_closed();
        closed_ = closing_.empty() && requests_.pending() == 0;
        return closed_;
    }

  private:
    struct Peer {
        std::span<const std::byte> address;  ///< In addresses_.
        ucp_ep_h endpoint = nullptr;
        ucp_rkey_h key = nullptr;
        std::uint64_t board_address = 0;
        std::byte* direct_board = nullptr;
        bool gone = false;
        bool key_unusable = false;
    };

    struct Ignored final : Completion {
        void complete(Outcome) noexcept override {}
    };

    // Which process this is, and whose process numbers it has.
    struct Whereabouts {
        char boot[36];
        std::uint64_t process_namespace;
        std::int64_t process;
    };
    static Whereabouts whereabouts() {
        Whereabouts here{};
        std::ifstream("/proc/sys/kernel/random/boot_id").read(here.boot, sizeof here.boot);
        struct stat status;
        if (::stat("/proc/self/ns/pid", &status) == 0) here.process_namespace = status.st_ino;
        here.process = ::getpid();
        return here;
    }
    // A process of this host that has no memory any more. UCX 1.13 crashes where it unpacks the key of one.
    static bool is_gone(std::span<const std::byte> blob) {
        Whereabouts there;
        if (blob.size() != sizeof there) return false;
        std::memcpy(&there, blob.data(), sizeof there);
        static const Whereabouts here = whereabouts();
        if (std::memcmp(here.boot, there.boot, sizeof here.boot) != 0 || here.process_namespace != there.process_namespace) return false;
        char target[1];
        return ::readlink(fmt::format("/proc/{}/exe", there.process).c_str(), target, sizeof target) < 0 && errno == ENOENT;
    }

    static void append(std::vector<std::byte>& blob, const void* data, std::size_t size) {
        const std::uint32_t length = static_cast<std::uint32_t>(size);
        const auto* length_bytes = reinterpret_cast<const std::byte*>(&length);
        blob.insert(blob.end(), length_bytes, length_bytes + sizeof length);
        const auto* bytes = static_cast<const std::byte*>(data);
        blob.insert(blob.end(), bytes, bytes + size);
    }

    // The part of this number of an address, or nothing when the address is damaged.
    static std::span<const std::byte> part(std::span<const std::byte> blob, int number) {
        for (;; --number) {
            std::uint32_t length;
            if (blob.size() < sizeof length) return {};
            std::memcpy(&length, blob.data(), sizeof length);
            blob = blob.subspan(sizeof length);
            if (blob.size() < length) return {};
            if (number == 0) return blob.first(length);
            blob = blob.subspan(length);
        }
    }

    Peer* endpoint(int rank) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (peer.endpoint) [[likely]]
            return &peer;
        if (peer.gone) return nullptr;
        const auto address = part(peer.address, 0);
        ucs_status_t status = UCS_ERR_INVALID_ADDR;
        if (!address.empty()) {
            ucp_ep_params_t parameters{};
            parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                                    UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_USER_DATA;
            parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
            parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
            parameters.err_handler.cb = &UcxTransport::on_error;
            parameters.err_handler.arg = this;
            parameters.user_data = this;
            status = ucp_ep_create(worker_, &parameters, &peer.endpoint);
        }
        if (status == UCS_OK) return &peer;
        peer.endpoint = nullptr;
        peer.gone = true;
        failures_.push_back({rank, fmt::format("no connection could be made ({})", ucs_status_string(status))});
        deferred_ = true;
        return nullptr;
    }

    bool unpack_key(Peer& peer) {
        if (peer.key) [[likely]]
            return true;
        if (peer.key_unusable) return false;
        const auto key = part(peer.address, 1);
        const auto base = part(peer.address, 2);
        const bool gone = is_gone(part(peer.address, 3));
        if (gone || base.size() != sizeof peer.board_address || ucp_ep_rkey_unpack(peer.endpoint, key.data(), &peer.key) != UCS_OK) {
            peer.key_unusable = true;
            peer.key = nullptr;
            // What is put there is lost, and somebody waits for it. (Of a process that is gone its parent tells.)
            if (!gone) {
                Failure& failure = failures_.emplace_back();
                failure.rank = static_cast<int>(&peer - peers_.data());
                failure.why = "its arrivals board cannot be written";
                deferred_ = true;
            }
            return false;
        }
        std::memcpy(&peer.board_address, base.data(), sizeof peer.board_address);
        void* direct = nullptr;
        if (ucp_rkey_ptr(peer.key, peer.board_address, &direct) == UCS_OK) peer.direct_board = static_cast<std::byte*>(direct);
        return true;
    }

    // Known for hosts without RDMA only. With it, an environment that keeps UCX to TCP makes it answer puts.
    bool only_tcp_to(const Peer& peer) const { return only_tcp_between_hosts_ && !peer.direct_board; }

    static ucs_status_t on_message(void* self, const void* header, std::size_t header_length, void* data, std::size_t length,
                                   const ucp_am_recv_param_t* parameters) {
        auto* transport = static_cast<UcxTransport*>(self);
        const std::span header_bytes(static_cast<const std::byte*>(header), header_length);
        if (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
            transport->sink_->on_offer(header_bytes, Offer{.handle = data, .size = length});
            return UCS_INPROGRESS;
        }
        transport->sink_->on_message(header_bytes, {data, length});
        return UCS_OK;
    }

    static ucs_status_t on_inline(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*) {
        auto* transport = static_cast<UcxTransport*>(self);
        const auto* bytes = static_cast<const std::byte*>(data);
        const std::size_t header_length = length ? std::to_integer<std::size_t>(bytes[0]) : 0;
        if (header_length + 1 > length) return UCS_OK;  // not one of ours
        transport->sink_->on_message({bytes + 1, header_length}, {bytes + 1 + header_length, length - 1 - header_length});
        return UCS_OK;
    }

    static ucs_status_t on_put(void* self, const void*, std::size_t, void* data, std::size_t length, const ucp_am_recv_param_t*) {
        const std::span board = static_cast<UcxTransport*>(self)->board_bytes_;
        std::uint64_t offset;
        if (length < sizeof offset) return UCS_OK;  // not one of ours
        std::memcpy(&offset, data, sizeof offset);
        length -= sizeof offset;
        if (length > board.size() || offset > board.size() - length) return UCS_OK;
        if (offset % sizeof(std::uint64_t) || length % sizeof(std::uint64_t)) return UCS_OK;
        const auto* words = static_cast<const std::byte*>(data) + sizeof offset;
        for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
            std::uint64_t word;
            std::memcpy(&word, words + at, sizeof word);
            std::atomic_ref(*reinterpret_cast<std::uint64_t*>(board.data() + offset + at)).store(word, std::memory_order_relaxed);
        }
        return UCS_OK;
    }

    static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status) {
        auto* transport = static_cast<UcxTransport*>(self);
        for (std::size_t rank = 0; rank < transport->peers_.size(); ++rank)
            if (transport->peers_[rank].endpoint == endpoint) {
                transport->failures_.push_back({static_cast<int>(rank), ucs_status_string(status)});
                transport->deferred_ = true;
            }
    }

    // What must not be done inside a callback of UCX.
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
        if (!dying_) collect_closed();
        if (requests_.forcing()) done += requests_.force_ends(now());
        if (!closing_.empty() || requests_.forcing()) deferred_ = true;
        return done;
    }

    void collect_closed() {
        std::erase_if(closing_, [](void* request) {
            if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
            ucp_request_free(request);
            return true;
        });
    }
    struct Failure {
        int rank;
        std::string why;
    };

    UcxOptions options_;
    ucp_context_h context_ = nullptr;
    ucp_worker_h worker_ = nullptr;
    ucp_mem_h board_ = nullptr;
    std::span<std::byte> board_bytes_;
    int descriptor_ = -1;
    Sink* sink_ = nullptr;
    std::shared_ptr<const void> addresses_;
    std::vector<Peer> peers_;
    Requests requests_;
    std::vector<void*> declined_;
    std::vector<void*> closing_;
    std::vector<Failure> failures_;
    Ignored ignored_;
    bool deferred_ = false;
    bool dying_ = false;
    bool closed_ = false;
    bool only_tcp_between_hosts_ = false;
};

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(const UcxOptions& options) { return std::make_unique<UcxTransport>(options); }

}  // namespace rollcall::transport
