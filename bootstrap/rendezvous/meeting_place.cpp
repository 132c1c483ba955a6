#include "bootstrap/rendezvous/meeting_place.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/network.hpp"
#include "foundation/error_text.hpp"
#include "foundation/log.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr std::size_t kNameDigits = 32;
/// All ranks of a host may connect at the same moment.
constexpr int kRanksInQueue = 4096;
/// The leader of a host needs some descriptors itself: for its connection to rank 0, and for the service that then accepts more ranks, and
/// that tells what it cannot accept.
constexpr std::size_t kKeptFree = 16;

Descriptor local_socket() { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// Calls connect() or bind() with the address of this name.
template <class Call>
bool at_name(Call call, const Descriptor& socket, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto bytes = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), bytes);  // an abstract name begins with a zero
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
    return socket && call(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

}  // namespace

MeetingPlace::Patience MeetingPlace::Patience::within(Timeout join_timeout) {
    const Nanoseconds half = join_timeout.count() / 2;
    const Patience longest;
    return {std::min(longest.silent, half / static_cast<Nanoseconds>(kNames)), std::min(longest.full, half)};
}

MeetingPlace::MeetingPlace(const Key& key, std::string_view host, Patience patience) : names_(kNames), patience_(patience) {
    for (std::size_t number = 0; number < kNames; ++number) {
        const Key derived = key.derive({"rollcall local name", host, std::to_string(number)});
        std::string& text = names_[number].text;
        text = "rollcall-";
        text.append(derived.digits().data(), kNameDigits);
    }
}

MeetingPlace::MeetingPlace(const std::string& name, Patience patience) : names_(kNames), patience_(patience) {
    for (std::size_t number = 0; number < kNames; ++number) names_[number].text = fmt::format("{}-{}", name, number);
}

void MeetingPlace::refuse() const {
    throw Error(
        ErrorCode::bootstrap,
        fmt::format("the ranks of this host cannot meet: other processes hold all {} names for that ({}, ...; the last is held by {}); end "
                    "those processes, start the job with another key or port, or start it by `rollcall run`, which needs no names",
                    kNames, names_.front().text, last_other_));
}

Descriptor MeetingPlace::connect() {
    for (Name& name : names_) {
        Descriptor socket = local_socket();
        if (!at_name(::connect, socket, name.text)) {
            if (errno == EAGAIN) {
                if (!std::exchange(name.full, true)) name.silent_since = monotonic_now();
                continue;
            }
            if (errno != ECONNREFUSED) {
                throw Error(ErrorCode::bootstrap,
                            fmt::format("this process cannot connect to the leader of its host: {}", error_text(errno)));
            }
            name.of_others = false;
            continue;
        }
        ucred holder{};
        socklen_t size = sizeof holder;
        const bool known = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) == 0;
        name.full = false;
        name.silent_since = kNever;
        name.of_others = !known || holder.uid != ::geteuid();
        if (!name.of_others) return socket;
        last_other_ = fmt::format("process {} of user {}", holder.pid, holder.uid);
    }
    if (std::all_of(names_.begin(), names_.end(), [](const Name& name) { return name.of_others; })) refuse();
    return Descriptor();
}

Descriptor MeetingPlace::listen() {
    for (Name& name : names_) {
        if (name.of_others) continue;
        Descriptor socket = local_socket();
        if (at_name(::bind, socket, name.text) && ::listen(socket.get(), kRanksInQueue) == 0) {
            if (&name != &names_.front()) {
                log_message(LogLevel::warn, "the ranks of this host meet at another name, because {} is held by {}", names_.front().text,
                            last_other_);
            }
            return socket;
        }
        if (errno != EADDRINUSE) {
            throw Error(ErrorCode::bootstrap,
                        fmt::format("this process cannot wait for the other ranks of its host: {}", error_text(errno)));
        }
        const Nanoseconds moment = monotonic_now();
        name.silent_since = std::min(name.silent_since, moment);
        if (moment - name.silent_since < (name.full ? patience_.full : patience_.silent)) return Descriptor();
    }
    refuse();
}

void accept_waiting(const Descriptor& listener, std::deque<Descriptor>& accepted) {
    std::array<Descriptor, kKeptFree> kept_free;
    for (Descriptor& each : kept_free) {
        each = Descriptor(::eventfd(0, EFD_CLOEXEC));
        if (!each) return;
    }
    for (;;) {
        Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (!socket) return;  // nobody waits, or the limit of open files is reached, and then the others go on waiting
        socket.keep_from_children();
        if (process_of_same_user(socket.get())) accepted.push_back(std::move(socket));
    }
}

}  // namespace rollcall::bootstrap
