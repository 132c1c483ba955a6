#include "runtime/engine/lifelines.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kSecond = 1000 * kMillisecond;
// As long as TCP itself waits before it repeats the first packet of a connection.
constexpr Nanoseconds kPatience = kSecond;
// One lost packet does not count as silence, and neither does a time in which this process itself did not run. So this many questions in a
// row must stay unanswered.
constexpr int kLeastUnanswered = 4;
// The first look for an answer comes after this time. Each further look comes twice as late.
constexpr Nanoseconds kFirstLook = 10 * kMillisecond;
// A rank that waits for many hosts asks this many at once, and others after kBetweenRounds. Each costs a few packets. If it waits for very
// many, it asks more at once, so that all of them have their turn in kRoundsForAll: no question is more than a second late.
constexpr std::size_t kAskedAtOnce = 4;
constexpr std::size_t kRoundsForAll = 10;
constexpr Nanoseconds kBetweenRounds = 100 * kMillisecond;

constexpr std::size_t kV4 = 4, kV6 = 16, kPort = 2;

socklen_t socket_address(std::span<const std::byte> address, std::span<const std::byte> port, sockaddr_storage& into) {
    in_port_t number;
    std::memcpy(&number, port.data(), kPort);
    if (address.size() == kV6) {
        sockaddr_in6 v6{};
        v6.sin6_family = AF_INET6;
        v6.sin6_port = number;
        std::memcpy(&v6.sin6_addr, address.data(), kV6);
        std::memcpy(&into, &v6, sizeof v6);
        return sizeof v6;
    }
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = number;
    std::memcpy(&v4.sin_addr, address.data(), kV4);
    std::memcpy(&into, &v4, sizeof v4);
    return sizeof v4;
}

// Other hosts must be able to reach the address. An IPv6 address that is valid only on its link means nothing without the name of an
// interface on those hosts.
std::optional<NetAddress> usable_address(const Interface& interface) {
    const auto best = [](const NetAddress& address) { return 2 * !address.link_local() + !address.v6; };
    std::optional<NetAddress> found;
    for (const NetAddress& address : interface.addresses)
        if (best(address) > 0 && (!found || best(address) > best(*found))) found = address;
    return found;
}

// Where there are RDMA ports, the data goes over them.
std::optional<NetAddress> data_address(std::span<const Interface> interfaces) {
    const bool rdma = std::ranges::any_of(interfaces, &Interface::rdma);
    for (const Interface& interface : interfaces)
        if (interface.rdma == rdma)
            if (const auto address = usable_address(interface)) return address;
    return std::nullopt;
}

enum class Answer { alive, none, unknown };

Answer answer_of(int error) noexcept {
    switch (error) {
        case 0:
        case ECONNREFUSED:
        case ECONNRESET: return Answer::alive;
        case EHOSTUNREACH:
        case EHOSTDOWN:
        case ENETUNREACH:
        case ENETDOWN:
        case ETIMEDOUT: return Answer::none;
        default: return Answer::unknown;  // no descriptor, no port, or no permission: the cause is on this host
    }
}

}  // namespace

Lifelines::Lifelines(Nanoseconds silence, std::span<const Interface> interfaces)
    : silence_(silence), patience_(std::clamp(silence / (kLeastUnanswered + 1), kFirstLook, kPatience)) {
    const auto address = data_address(interfaces);
    if (!address) return;
    const auto bytes = std::as_bytes(std::span(address->bytes)).first(address->v6 ? kV6 : kV4);
    constexpr std::array<std::byte, kPort> any_port{};
    sockaddr_storage where{};
    socklen_t length = socket_address(bytes, any_port, where);
    port_.reset(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto* const raw = reinterpret_cast<sockaddr*>(&where);
    if (!port_ || ::bind(port_.get(), raw, length) != 0 || ::getsockname(port_.get(), raw, &length) != 0) {
        port_.reset();
        return;
    }
    in_port_t number;
    if (address->v6) {
        sockaddr_in6 bound;
        std::memcpy(&bound, &where, sizeof bound);
        number = bound.sin6_port;
    } else {
        sockaddr_in bound;
        std::memcpy(&bound, &where, sizeof bound);
        number = bound.sin_port;
    }
    address_.assign(bytes.begin(), bytes.end());
    const auto port = std::as_bytes(std::span(&number, 1));
    address_.insert(address_.end(), port.begin(), port.end());
}

void Lifelines::add(int rank, std::span<const std::byte> address) {
    if (address.size() != kV4 + kPort && address.size() != kV6 + kPort) return;
    const auto where = address.first(address.size() - kPort);
    const std::string key(reinterpret_cast<const char*>(where.data()), where.size());
    const auto [found, is_new] = by_address_.try_emplace(key, hosts_.size());
    if (is_new) {
        Host& host = hosts_.emplace_back();
        host.length = socket_address(where, address.last(kPort), host.where);
        std::array<char, INET6_ADDRSTRLEN> text{};
        inet_ntop(host.where.ss_family, where.data(), text.data(), text.size());
        host.text = text.data();
        host.interval = patience_;
    }
    hosts_[found->second].ranks.push_back(rank);
    if (static_cast<std::size_t>(rank) >= host_of_.size()) host_of_.resize(static_cast<std::size_t>(rank) + 1, -1);
    host_of_[static_cast<std::size_t>(rank)] = static_cast<int>(found->second);
}

SignsOfLife::Look Lifelines::look(Nanoseconds now, std::span<const int> awaited) {
    for (const int rank : awaited) {
        const int index = static_cast<std::size_t>(rank) < host_of_.size() ? host_of_[static_cast<std::size_t>(rank)] : -1;
        if (index < 0) continue;
        Host& host = hosts_[static_cast<std::size_t>(index)];
        if (host.told) continue;
        host.awaited = true;
        if (!std::exchange(host.followed, true)) followed_.push_back(static_cast<std::size_t>(index));
    }
    Look look;
    for (const std::size_t index : followed_) {
        Host& host = hosts_[index];
        // Also for a host that is no longer waited for: its answer may have come.
        if (host.question) hear(host, now);
        if (!host.awaited || !is_silent(host, now)) continue;
        host.told = true;
        look.silent.push_back({host.ranks, fmt::format("has not answered over the network ({}) for {:.1f} s, though the job goes on: "
                                                       "look whether a link is down",
                                                       host.text, static_cast<double>(now - host.silent_since) / 1e9)});
    }
    std::erase_if(followed_, [&](std::size_t index) {
        Host& host = hosts_[index];
        if (std::exchange(host.awaited, false) && !host.told) return false;
        host.question.reset();
        host.silent_since = kNever;
        host.unanswered = 0;
        host.followed = false;
        return true;
    });
    if (now >= next_round_) ask_those_due(now);
    look.next = next_look(now);
    return look;
}

void Lifelines::ask_those_due(Nanoseconds now) {
    std::vector<std::size_t> due;
    for (const std::size_t index : followed_)
        if (!hosts_[index].question && hosts_[index].next_question <= now) due.push_back(index);
    // The host whose question has been due for longest comes first.
    const std::size_t at_once = std::max(kAskedAtOnce, (followed_.size() + kRoundsForAll - 1) / kRoundsForAll);
    const auto end = due.begin() + static_cast<std::ptrdiff_t>(std::min(due.size(), at_once));
    std::partial_sort(due.begin(), end, due.end(),
                      [&](std::size_t one, std::size_t other) { return hosts_[one].next_question < hosts_[other].next_question; });
    for (auto next = due.begin(); next != end; ++next) ask(hosts_[*next], now);
    if (end != due.end()) next_round_ = now + kBetweenRounds;
}

void Lifelines::ask(Host& host, Nanoseconds now) {
    host.asked_at = now;
    host.silent_since = std::min(host.silent_since, now);
    host.question.reset(::socket(host.where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!host.question) return judge(host, errno, now);
    if (::connect(host.question.get(), reinterpret_cast<const sockaddr*>(&host.where), host.length) == 0) return judge(host, 0, now);
    if (errno != EINPROGRESS) judge(host, errno, now);
}

void Lifelines::hear(Host& host, Nanoseconds now) {
    pollfd descriptor{host.question.get(), POLLOUT, 0};
    if (::poll(&descriptor, 1, 0) > 0) {
        int error = 0;
        socklen_t length = sizeof error;
        if (::getsockopt(host.question.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
        judge(host, error, now);
    } else if (now - host.asked_at >= patience_) {
        judge(host, ETIMEDOUT, now);
    }
}

void Lifelines::judge(Host& host, int error, Nanoseconds now) {
    host.question.reset();
    const auto grow = [&] { return host.interval = std::min(2 * host.interval, std::max(patience_, silence_ / 2)); };
    switch (answer_of(error)) {
        case Answer::alive:
            host.has_answered = true;
            host.silent_since = kNever;
            host.unanswered = 0;
            host.next_question = now + host.interval;
            grow();
            return;
        case Answer::none:
            ++host.unanswered;
            host.next_question = host.asked_at + (host.has_answered ? patience_ : grow());
            return;
        case Answer::unknown:
            host.silent_since = kNever;
            host.unanswered = 0;
            host.next_question = now + patience_;
            return;
    }
}

bool Lifelines::is_silent(const Host& host, Nanoseconds now) const noexcept {
    return host.has_answered && host.unanswered >= kLeastUnanswered && now - host.silent_since >= silence_;
}

Nanoseconds Lifelines::next_look(Nanoseconds now) const noexcept {
    Nanoseconds next = kNever;
    for (const std::size_t index : followed_) {
        const Host& host = hosts_[index];
        if (host.question)
            next = std::min({next, host.asked_at + patience_, now + std::max(kFirstLook, now - host.asked_at)});
        else
            next = std::min(next, std::max(host.next_question, next_round_));
    }
    return next == kNever ? next : std::max(next, now + kMillisecond);
}

}  // namespace rollcall::runtime
