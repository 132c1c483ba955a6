#include "bootstrap/rendezvous/rendezvous.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <sodium.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "bootstrap/member.hpp"
#include "bootstrap/rendezvous/hosted.hpp"
#include "bootstrap/rendezvous/meeting_place.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/service.hpp"
#include "bootstrap/waiting.hpp"
#include "foundation/clock.hpp"
#include "foundation/host_name.hpp"
#include "foundation/log.hpp"

namespace rollcall::bootstrap {
namespace {

/// The longest time for one try to connect, and for one handshake.
constexpr Timeout kTry = std::chrono::seconds(10);
/// The same where there are other ports to try. A service that does not answer strangers may be at this port.
constexpr Timeout kTryOfMany = std::chrono::seconds(1);
/// The pauses between tries. They are short at first, and never so long that a job starts noticeably later.
constexpr Timeout kFirstPause = std::chrono::milliseconds(5);
constexpr Timeout kLongestPause = std::chrono::milliseconds(250);
/// The root knows which ranks are missing, and says so at its deadline. So the others wait a little longer than their own deadline.
constexpr Timeout kGrace = std::chrono::seconds(2);
/// How long this process waits for the others to leave. They say so right after the last barrier.
constexpr Timeout kLeave = std::chrono::seconds(10);
constexpr Timeout kSay = std::chrono::milliseconds(500);

bool printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char letter) { return letter > ' ' && letter < 127; });
}

void wipe(std::string& secret) { ::sodium_memzero(secret.data(), secret.size()); }

/// What ranks are told when the service of this process is gone.
Member::Loss loss_of(const Identity& service) {
    Member::Loss loss{ErrorCode::bootstrap, service.rank, "the process where all hosts meet is gone", {}};
    if (service.rank >= 0) {
        const char* const role = service.kind == Identity::Kind::root ? "where all hosts meet" : "the leader of this host";
        loss.code = ErrorCode::peer_failed;
        loss.sentence = fmt::format("rank {}, {}, is gone", service.rank, role);
        loss.notices.push_back({service.rank, "died, or left without saying so"});
    }
    loss.notices.push_back({-1, fmt::format("the job cannot go on: {}", loss.sentence), service.rank});
    return loss;
}

}  // namespace

struct Rendezvous::Implementation {
    Implementation(std::string starter_name, int rank_given, int size_given, Share share_given, const RendezvousOptions& options_given)
        : starter(std::move(starter_name)), rank(rank_given), size(size_given), share(std::move(share_given)), options(options_given) {}

    ~Implementation() {
        wipe(text);
        wipe(options.invitation);
    }
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    void start_root();
    void find_meeting_place();
    void share_failure(const char* sentence) const;
    void ask();
    void meet();
    bool lead();
    bool lead_by(std::uint16_t port, Timeout patience, std::string& why);
    bool join(Descriptor socket);
    std::optional<Frame> wait_for_answer(int socket, int hub_process);
    void retry_after(const Frame& refusal);
    void retry(std::string why, bool ask_again);
    [[noreturn]] void give_up() const;
    ServiceOptions service_options(Identity::Kind kind) const;
    std::string who() const { return fmt::format("rank {} on host {}", rank, host); }

    std::string starter;
    int rank;
    int size;
    Share share;
    RendezvousOptions options;
    std::string host;
    std::optional<Invitation> invitation;
    std::string text;                     // the text of the invitation
    std::optional<MeetingPlace> meeting;  // where the ranks of this host meet
    Descriptor local;                     // this process waits here for the ranks of its host before its service does
    std::deque<Descriptor> early;         // ranks that have come there
    std::unique_ptr<Service> root;
    std::unique_ptr<Service> leader;
    std::optional<Member> member;
    Nanoseconds until = kNever;
    Timeout pause = kFirstPause;
    std::string last_failure = "nothing was tried";
};

ServiceOptions Rendezvous::Implementation::service_options(Identity::Kind kind) const {
    return {invitation->key, {kind, rank, size}, host, options.join_timeout, options.heartbeat, options.silence, options.absence_advice};
}

void Rendezvous::Implementation::find_meeting_place() {
    meeting.emplace(invitation->key, options.meeting.empty() ? host : fmt::format("{} {}", host, options.meeting),
                    MeetingPlace::Patience::within(options.join_timeout));
}

void Rendezvous::Implementation::start_root() {
    if (options.addresses.empty()) options.addresses = {address_in_use(options.net)};
    std::vector<std::uint16_t> ports{options.port};
    ports.insert(ports.end(), options.more_ports.begin(), options.more_ports.end());
    Service::Root sockets;
    std::optional<Error> failure;
    for (const std::string& own : options.addresses) {
        if (!SocketAddress::parse(own, 0))
            throw Error(ErrorCode::bootstrap, fmt::format("{}: {} is not an address to listen at", who(), own));
        // At another address another port may be free. The others try all ports at all addresses.
        for (const std::uint16_t port : ports) {
            try {
                sockets.networks.push_back(listen_at(*SocketAddress::parse(own, port), options.port_advice));
                break;
            } catch (const Error& error) {
                failure = error;
            }
        }
    }
    if (sockets.networks.empty()) throw *failure;
    const SocketAddress bound = SocketAddress::of(sockets.networks.front().get());
    invitation.emplace(Invitation{bound.address(), bound.port(), options.key ? *options.key : Key::random()});
    text = invitation->text();
    // Another rank of this host may have been quicker. Then that one leads here.
    find_meeting_place();
    Descriptor waiting = meeting->listen();
    root = std::make_unique<Service>(service_options(Identity::Kind::root), std::move(waiting), std::move(sockets));
    log_message(LogLevel::debug, "rank 0 waits for the others at {}", bound.text());
}

/// The others may already be in a collective call of the starter, which ends only when rank 0 takes part in it.
void Rendezvous::Implementation::share_failure(const char* sentence) const {
    // An invitation that may be stale is not passed on in a collective call, and no rank could tell of which job the failure is.
    if (options.invitation_may_be_stale) return;
    try {
        share(failed_invitation(sentence));
    } catch (...) {  // the failure that is already known is the one to report
    }
}

void Rendezvous::Implementation::ask() {
    std::string given = options.invitation.empty() ? share("") : options.invitation;
    if (given == text) return wipe(given);
    if (given.size() > kLongestInvitation || !printable(given)) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("{}: {} passed on {} characters that are not an invitation", who(), starter, given.size()));
    }
    const std::optional<Invitation> last = invitation;
    try {
        invitation = Invitation::parse(given);
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", who(), error.what()));
    }
    text.swap(given);
    wipe(given);
    // Rank 0 may have several addresses. The ranks of this host go on meeting at the same place.
    if (last && std::ranges::equal(last->key.bytes(), invitation->key.bytes())) return;
    find_meeting_place();
    local.reset();  // its name belongs to the other key
    early.clear();
}

void Rendezvous::Implementation::give_up() const {
    throw Error(ErrorCode::timeout, fmt::format("{}: the job did not start within {:g} s (ROLLCALL_LAUNCH_TIMEOUT): {}{}{}", who(),
                                                std::chrono::duration<double>(options.join_timeout).count(), last_failure,
                                                options.address_advice.empty() ? "" : "; ", options.address_advice));
}

void Rendezvous::Implementation::retry(std::string why, bool ask_again) {
    last_failure = std::move(why);
    if (monotonic_now() >= until) give_up();
    if (options.meanwhile) options.meanwhile();
    std::this_thread::sleep_for(until == kNever ? pause : std::min(pause, Timeout(until - monotonic_now())));
    if (monotonic_now() >= until) give_up();  // a try without any time left would only find a wrong reason
    pause = std::min(pause * 3 / 2, kLongestPause);
    if (ask_again && options.invitation_may_be_stale && !root) ask();
}

/// Becomes the leader of this host through the root that answers at this port. False, with the reason, if none does. The reason of a
/// process that answered replaces that of another port where none did.
bool Rendezvous::Implementation::lead_by(std::uint16_t port, Timeout patience, std::string& why) {
    // If the queue stayed full, the ranks of this host would take another name, and another leader.
    accept_waiting(local, early);
    const auto address = SocketAddress::parse(invitation->address, port);
    std::string unreachable;
    Descriptor socket = connect_to(*address, std::min(until, deadline_after(patience)), unreachable, options.meanwhile);
    if (!socket) {
        const bool is_advised = !options.address_advice.empty() || unreachable.ends_with(kRaiseFileLimit);
        if (!is_advised) unreachable += "; " + advice_about(*address, options.root);
        if (why.empty()) why = fmt::format("{} {}: {}", options.root, options.absence, unreachable);
        return false;
    }
    try {
        Session session = initiate(socket.get(), invitation->key, {Identity::Kind::leader, rank, size},
                                   std::min(until, deadline_after(patience)), options.meanwhile);
        if (session.peer.kind != Identity::Kind::root) throw HandshakeError(ErrorCode::bootstrap, "it is not the root of a job");
        leader = std::make_unique<Service>(service_options(Identity::Kind::leader), std::move(local),
                                           Service::Leader{std::move(socket), std::move(session), std::move(early)});
        return true;
    } catch (const HandshakeError& error) {
        why = fmt::format("no rendezvous with {} at {}: {}", options.root, address->text(), error.what());
        if (error.code() != ErrorCode::timeout && !options.invitation_may_be_stale)
            throw Error(error.code(), fmt::format("{}: {}", who(), why));
        return false;
    }
}

/// Becomes the leader of this host. False if the root does not answer yet.
bool Rendezvous::Implementation::lead() {
    std::string why;
    const Timeout patience = options.more_ports.empty() ? kTry : kTryOfMany;
    if (lead_by(invitation->port, patience, why)) return true;
    for (const std::uint16_t port : options.more_ports) {
        if (lead_by(port, patience, why)) return true;
    }
    retry(why, true);
    return false;
}

/// The leader of this host refuses this process. Throws its reason, or, if that may be of another job, lets this process try again.
void Rendezvous::Implementation::retry_after(const Frame& refusal) {
    FrameReader reader(refusal.body);
    reader.u64();
    const auto code = static_cast<ErrorCode>(reader.u32());
    const int failed_rank = reader.i32();
    const std::string why = reader.text();
    if (code != ErrorCode::state || !options.invitation_may_be_stale)
        throw Error(code == ErrorCode::state ? ErrorCode::bootstrap : code, fmt::format("{}: {}", who(), why), failed_rank);
    leader.reset();  // it was the leader for a job that is not ours
    retry(why, true);
}

/// Waits for the others together with the leader of this host. False if that leader went away: then another process leads.
bool Rendezvous::Implementation::join(Descriptor socket) {
    Identity its;
    try {
        its = initiate(socket.get(), invitation->key, {Identity::Kind::rank, rank, size}, until, options.meanwhile).peer;
    } catch (const HandshakeError& error) {
        if (error.code() != ErrorCode::timeout) throw Error(error.code(), fmt::format("{}: {}", who(), error.what()));
        retry(fmt::format("the leader of this host {} {} at {}",
                          monotonic_now() >= until ? "has not reached" : "went away before it had reached", options.root,
                          SocketAddress::parse(invitation->address, invitation->port)->text()),
              true);
        return false;
    }
    // A child of the leader may hold the connection open after the leader's death, so the leader's process is watched. If it is this very
    // process, it need not be watched.
    const pid_t process = process_of_same_user(socket.get()).value_or(0);
    Descriptor hub_process = process == ::getpid() ? Descriptor() : watch_process(process);
    const std::optional<Frame> answer = wait_for_answer(socket.get(), hub_process.get());
    if (!answer) {
        retry("the leader of this host went away", true);
        return false;
    }
    if (answer->type == FrameType::failed) {
        retry_after(*answer);
        return false;
    }
    Descriptor notices;
    if (answer->type != FrameType::welcome || !take_frame(socket.get(), *answer, notices) || !notices) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("{}: the welcome of the leader is incomplete (is the limit of open files reached?)", who()));
    }
    member.emplace(decode_welcome(answer->body), std::move(socket), std::move(notices), loss_of(its), std::move(hub_process));
    return true;
}

/// Waits for the answer of the leader of this host, a frame that is left in the socket. Nothing if the leader went away.
std::optional<Frame> Rendezvous::Implementation::wait_for_answer(int socket, int hub_process) {
    Waiting waiting(options.meanwhile, until == kNever ? kForever : Timeout(until - monotonic_now()) + kGrace);
    for (;;) {
        const bool dead = is_readable(hub_process);
        Peeked peeked = peek_frame(socket);
        if (peeked.state == Peeked::State::frame) return std::move(peeked.frame);
        if (peeked.state == Peeked::State::closed || dead) return std::nullopt;
        if (waiting.over()) {
            last_failure = "not all ranks have come";
            give_up();
        }
        // The bytes that are there may be a part of a frame. The rest is on its way.
        if (is_readable(socket)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        waiting.on(socket, POLLIN, hub_process);
    }
}

void Rendezvous::Implementation::meet() {
    until = deadline_after(options.join_timeout);
    if (options.host.empty()) options.host = host_name();
    host = options.host;
    if (size < 1 || rank < 0 || rank >= size)
        throw Error(ErrorCode::bootstrap,
                    fmt::format("{} says that this process is rank {} of {}: there is no such rank", starter, rank, size));
    if (rank == 0 && options.invitation.empty()) {
        try {
            start_root();
        } catch (const std::exception& error) {
            share_failure(error.what());
            throw;
        }
        share(text);
    } else {
        ask();
    }
    while (!member) {
        if (Descriptor socket = local ? Descriptor() : meeting->connect()) {
            join(std::move(socket));
            continue;
        }
        if (!local) local = meeting->listen();
        if (local) {
            lead();
        } else {
            retry("the leader of this host does not answer", false);
        }
    }
    options.meanwhile = {};  // what they refer to may not live as long
    share = {};
}

Rendezvous::Rendezvous(std::string starter, int rank, int size, const Share& share, const RendezvousOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(starter), rank, size, share, options)) {
    try {
        implementation_->meet();
    } catch (...) {
        // Sends first what the other ranks must be told.
        if (implementation_->leader) implementation_->leader->finish(kSay);
        if (implementation_->root) implementation_->root->finish(kSay);
        throw;
    }
}

Rendezvous::~Rendezvous() { end_services(); }

void Rendezvous::end_services() noexcept {
    // The services go first, because the others depend on them: they must see that this process is gone, not only that its rank is.
    implementation_->leader.reset();
    implementation_->root.reset();
}

void Rendezvous::vanish() noexcept {
    end_services();
    if (implementation_->member) implementation_->member->vanish();
}

std::string_view Rendezvous::name() const { return implementation_->starter; }
const Place& Rendezvous::place() const { return implementation_->member->place(); }

Gathered Rendezvous::exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) {
    return implementation_->member->exchange(mine, meanwhile, timeout);
}

void Rendezvous::barrier(const Meanwhile& meanwhile, Timeout timeout) { implementation_->member->barrier(meanwhile, timeout); }
int Rendezvous::notice_descriptor() const { return implementation_->member->notice_descriptor(); }
std::optional<Notice> Rendezvous::take_notice() { return implementation_->member->take_notice(); }

void Rendezvous::leave() noexcept {
    implementation_->member->leave();
    if (implementation_->leader) implementation_->leader->finish(kLeave);
    if (implementation_->root) implementation_->root->finish(kLeave);
    finish_hosted_root(implementation_->invitation->key, kLeave);
}

void Rendezvous::farewell(std::string_view how) noexcept { implementation_->member->farewell(how); }

void Rendezvous::abort(int code, std::string_view why) noexcept {
    say_abort(code, why);
    tell_abort(code, why);
}

void Rendezvous::say_abort(int code, std::string_view why) const noexcept {
    std::fprintf(stderr, "rollcall: rank %d on host %s aborted the job with code %d: %.*s\n", place().rank, place().host.c_str(), code,
                 static_cast<int>(why.size()), why.data());
}

void Rendezvous::tell_abort(int code, std::string_view why) noexcept {
    // The caller exits next, and its exit ends the thread that would pass this on. So wait until it is sent.
    Service* const service = implementation_->leader ? implementation_->leader.get() : implementation_->root.get();
    if (service == nullptr) return implementation_->member->abort(code, why);
    try {
        const std::string how = fmt::format("the job is being ended: {} aborted it with code {}: {}", implementation_->who(), code, why);
        service->announce({-1, how, place().rank}, kSay);
    } catch (...) {  // out of memory: the others see that this process is gone
    }
}

}  // namespace rollcall::bootstrap
