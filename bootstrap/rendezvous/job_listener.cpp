#include "bootstrap/rendezvous/job_listener.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/invitation.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "foundation/clock.hpp"

namespace rollcall::bootstrap {
namespace {

/// A job that has made the handshake introduces itself at once. This is for a host that is busy.
constexpr Timeout kAnswer = std::chrono::seconds(20);

[[noreturn]] void gone() {
    throw Error(ErrorCode::peer_failed, "the other job closed the connection before the two jobs were connected: it ended, or gave up");
}

Frame next_frame(Connection& connection, FrameType expected, Waiting& waiting) {
    for (;;) {
        const bool open = connection.receive();
        if (auto frame = connection.next()) {
            if (frame->type != expected) throw Error(ErrorCode::bootstrap, "the other job sends something else than it should");
            return std::move(*frame);
        }
        if (!open) gone();
        if (waiting.over()) throw Error(ErrorCode::timeout, "the other job did not answer in time");
        waiting.on(connection.socket(), POLLIN);
    }
}

void post(Connection& connection, FrameWriter& writer) {
    // Each side sends a few hundred bytes in all, which fit into the empty buffer of the socket.
    if (!connection.post(std::make_shared<const Blob>(writer.finish())) || !connection.flushed()) gone();
}

/// Says how the settings of two jobs differ. Empty: they are the same.
std::string difference(const JobIntroduction& mine, const JobIntroduction& other) {
    std::istringstream own(mine.settings), its(other.settings);
    for (std::string here, there; own >> here, its >> there, own || its; here.clear(), there.clear())
        if (here != there)
            return fmt::format("the job {} has {}, and the job {} has {}: give both jobs the same settings", mine.name, here, other.name,
                               there);
    return {};
}

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// From the session key of the direction from the job that connects.
Key key_of_both(const Key& session) { return session.derive({"rollcall rendezvous of two jobs"}); }

Identity identity_of(const JobIntroduction& job) { return {Identity::Kind::job, 0, job.size}; }

[[noreturn]] void listener_is_gone(const SocketAddress& address) {
    throw Error(ErrorCode::peer_failed,
                fmt::format("the job that listens at {} closed the connection: it ended, or does not listen any more", address.text()));
}

[[noreturn]] void listener_is_late(const SocketAddress& address) {
    throw Error(ErrorCode::timeout,
                fmt::format("the job that listens at {} did not accept in time: it does not wait in Listener::accept(), or another job "
                            "came first",
                            address.text()));
}

Invitation invitation_in(std::string_view text) {
    if (text.empty()) throw Error(ErrorCode::invalid_argument, "the invitation is empty");
    try {
        return Invitation::parse(text);
    } catch (const Error&) {
        throw Error(ErrorCode::invalid_argument, "this is not an invitation that a Listener of this version of Rollcall has given");
    }
}

Descriptor connect_to_listener(const SocketAddress& address, Nanoseconds until, const Meanwhile& meanwhile) {
    std::string why;
    Descriptor socket = connect_to(address, until, why, meanwhile);
    if (socket) return socket;
    if (monotonic_now() < until) throw Error(ErrorCode::bootstrap, fmt::format("no job listens there: {}", why));
    throw Error(
        ErrorCode::timeout,
        fmt::format("no answer came in time from {}: its host may be down, or a firewall drops what is sent to it", address.text()));
}

Session shake_hands(int socket, const SocketAddress& address, const Key& key, const Identity& self, Nanoseconds until,
                    const Meanwhile& meanwhile) {
    std::optional<Session> session;
    try {
        session = initiate(socket, key, self, until, meanwhile);
    } catch (const HandshakeError& error) {
        if (error.code() != ErrorCode::timeout)
            throw Error(error.code(), fmt::format("the invitation does not fit what listens at {}: {}", address.text(), error.what()));
        // The code is the same when the connection was closed.
        if (monotonic_now() >= until) listener_is_late(address);
        listener_is_gone(address);
    }
    if (session->peer.kind != Identity::Kind::job) throw Error(ErrorCode::bootstrap, "what listens there is not a Listener");
    return std::move(*session);
}

/// Says to the job that listens what this one is, and returns what it answers.
JobIntroduction introduce(Connection& connection, const SocketAddress& address, const JobIntroduction& mine, Nanoseconds until,
                          const Meanwhile& meanwhile) {
    post(connection, FrameWriter(FrameType::introduction).text(mine.name).blob(std::as_bytes(std::span(mine.settings))));
    Waiting waiting(meanwhile, until == kNever ? kForever : Timeout(until - monotonic_now()));
    std::optional<Frame> frame;
    try {
        frame = next_frame(connection, FrameType::introduction, waiting);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::timeout) listener_is_late(address);
        if (error.code() == ErrorCode::peer_failed) listener_is_gone(address);
        throw;
    }
    FrameReader reader(frame->body);
    JobIntroduction other;
    other.name = reader.text();
    const std::string why_not = reader.text();
    other.size = reader.i32();
    if (!why_not.empty()) throw Error(ErrorCode::invalid_setting, why_not);
    if (other.size < 1) throw Error(ErrorCode::bootstrap, "the other job says that it has no ranks");
    return other;
}

}  // namespace

void JobMeeting::check_open() {
    if (!connection_.receive()) gone();
}

void JobMeeting::send_invitation(const std::string& text) {
    check_open();  // what is sent there is not refused at once
    std::optional<Invitation> invitation;
    try {
        invitation = Invitation::parse(text);
    } catch (const Error&) {  // it is a failed_invitation(), which holds no key
    }
    FrameWriter writer(FrameType::invitation);
    if (invitation)
        writer.u32(invitation->port).text(invitation->address);
    else
        writer.u32(0).text(text);
    post(connection_, writer);
}

std::string JobMeeting::receive_invitation(const Meanwhile& meanwhile, Timeout timeout) {
    Waiting waiting(meanwhile, timeout);
    const Frame frame = next_frame(connection_, FrameType::invitation, waiting);
    FrameReader reader(frame.body);
    const auto port = static_cast<std::uint16_t>(reader.u32());
    std::string text = reader.text();
    return port > 0 ? Invitation{std::move(text), port, key_}.text() : text;
}

JobListener::Visitor::Visitor(Descriptor socket, Session session)
    : key(key_of_both(session.receive)), connection(std::move(socket), std::move(session), true), since(monotonic_now()) {}

JobListener::JobListener(std::string_view net, std::uint16_t port)
    : JobListener(listen_at(*SocketAddress::parse(address_in_use(net), port), "give the Listener a free port, or 0 for any"),
                  Key::random()) {}

JobListener::JobListener(Descriptor listener, const Key& key)
    : acceptor_(poller_, key, {Identity::Kind::job, 0, 0}, [this](Descriptor socket, Session session, AuthenticatingAcceptor::From, pid_t) {
          if (session.peer.kind == Identity::Kind::job && session.peer.size > 0)
              visitors_.emplace_back(std::move(socket), std::move(session));
      }) {
    const SocketAddress bound = SocketAddress::of(listener.get());
    invitation_ = Invitation{bound.address(), bound.port(), key}.text();
    poller_.keep_from_children();
    acceptor_.open(std::move(listener), AuthenticatingAcceptor::From::network);
}

JobMeeting JobListener::accept(const JobIntroduction& mine, const Meanwhile& meanwhile, Timeout timeout, Nanoseconds interval) {
    const Nanoseconds until = deadline_after(timeout);
    const auto late = [] { throw Error(ErrorCode::timeout, "no job has connected in time"); };
    for (;;) {
        // The sockets are polled at least once, so that what is already there is not missed.
        for (bool polled = false; visitors_.empty(); polled = true) {
            meanwhile();
            const Nanoseconds now = monotonic_now();
            if (polled && now >= until) late();
            poller_.wait(std::min({until, now + interval, acceptor_.tick_at()}));
            if (acceptor_.tick_at() <= monotonic_now()) acceptor_.tick();
        }
        Visitor visitor = std::move(visitors_.front());
        visitors_.pop_front();
        Connection& connection = visitor.connection;
        JobIntroduction other{{}, {}, connection.peer().size};
        const Nanoseconds last = visitor.since + kAnswer.count();
        Waiting waiting(meanwhile, Timeout(std::min(until, last) - monotonic_now()));
        try {
            const Frame frame = next_frame(connection, FrameType::introduction, waiting);
            if (!connection.receive()) gone();  // the introduction may be all that is left of it
            FrameReader reader(frame.body);
            other.name = reader.text();
            other.settings = text_of(reader.blob());
            const std::string why_not = difference(mine, other);
            post(connection, FrameWriter(FrameType::introduction).text(mine.name).text(why_not).i32(mine.size));
            if (!why_not.empty()) throw Error(ErrorCode::invalid_setting, why_not);
            return {std::move(connection), std::move(other), visitor.key};
        } catch (const Error& error) {
            // The other job gave up while it waited for its turn, or it says nothing. The next one may connect.
            if (error.code() != ErrorCode::peer_failed && error.code() != ErrorCode::timeout) throw;
            if (error.code() == ErrorCode::peer_failed || last <= until) continue;
            // It still has time, but this call has none.
            visitors_.push_back(std::move(visitor));
            late();
        }
    }
}

JobMeeting meet_job(std::string_view text, const JobIntroduction& mine, const Meanwhile& meanwhile, Timeout timeout) {
    const Invitation invitation = invitation_in(text);
    const auto address = *SocketAddress::parse(invitation.address, invitation.port);
    const Nanoseconds until = deadline_after(timeout);
    Descriptor socket = connect_to_listener(address, until, meanwhile);
    Session session = shake_hands(socket.get(), address, invitation.key, identity_of(mine), until, meanwhile);
    const Key key = key_of_both(session.send);
    Connection connection(std::move(socket), std::move(session), true);
    JobIntroduction other = introduce(connection, address, mine, until, meanwhile);
    return {std::move(connection), std::move(other), key};
}

}  // namespace rollcall::bootstrap
