#include "bootstrap/rendezvous/network.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "bootstrap/waiting.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::bootstrap {
namespace {

/// The number of connections that may wait to be accepted. The leaders of all hosts may connect at the same moment.
constexpr int kBacklog = 4096;

void set(int socket, int level, int option) {
    const int on = 1;
    ::setsockopt(socket, level, option, &on, sizeof on);
}

/// Returns the best address of an interface. Empty if other hosts could not use any of them as it is.
std::optional<std::string> best_address(const Interface& interface) {
    const auto score = [](const NetAddress& address) { return (address.link_local() ? 2 : 0) + (address.v6 ? 1 : 0); };
    const NetAddress* best = nullptr;
    for (const auto& address : interface.addresses) {
        if (address.v6 && address.link_local()) continue;  // the other side would need the name of its interface
        if (best == nullptr || score(address) < score(*best)) best = &address;
    }
    if (best == nullptr) return std::nullopt;
    const std::string text = best->text();
    return text.substr(0, text.find('/'));
}

Choice choose(std::span<const Interface> interfaces, std::string_view net) {
    try {
        return choose_interfaces(interfaces, net, 2);
    } catch (const Error&) {
        // Perhaps all ranks are on this host, and then loopback is enough. If they are not, the others report that they cannot connect.
        try {
            return choose_interfaces(interfaces, net, 1);
        } catch (const Error&) {
        }
        throw;
    }
}

/// Whether an interface of this host has this address.
bool is_listed(const SocketAddress& address) {
    std::string text = address.address();
    if (constexpr std::string_view kMapped = "::ffff:"; text.starts_with(kMapped)) text.erase(0, kMapped.size());  // one of IPv4
    ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0) return false;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(raw, ::freeifaddrs);
    for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr != nullptr && SocketAddress::of(entry->ifa_addr).address() == text) return true;
    }
    return false;
}

/// Sends or reads all bytes. Throws if the other side closes, or when the time is over.
template <typename Move>
void transfer_all(int socket, std::size_t bytes, short events, Waiting& waiting, Move move) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t count = move(done);
        if (count > 0) {
            done += static_cast<std::size_t>(count);
        } else if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (waiting.over()) throw HandshakeError(ErrorCode::timeout, "the process that accepted the connection does not answer");
            waiting.on(socket, events);
        } else if (count == 0 || errno != EINTR) {
            throw HandshakeError(ErrorCode::timeout, "the connection was closed during the handshake");
        }
    }
}

void send_all(int socket, std::span<const std::byte> bytes, Waiting& waiting) {
    transfer_all(socket, bytes.size(), POLLOUT, waiting,
                 [&](std::size_t done) { return ::send(socket, bytes.data() + done, bytes.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL); });
}

void receive_all(int socket, std::span<std::byte> bytes, Waiting& waiting) {
    transfer_all(socket, bytes.size(), POLLIN, waiting,
                 [&](std::size_t done) { return ::recv(socket, bytes.data() + done, bytes.size() - done, MSG_DONTWAIT); });
}

}  // namespace

std::optional<SocketAddress> SocketAddress::parse(const std::string& address, std::uint16_t port) {
    SocketAddress result;
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&result.storage_, &v4, sizeof v4);
        result.length_ = sizeof v4;
        return result;
    }
    if (::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        std::memcpy(&result.storage_, &v6, sizeof v6);
        result.length_ = sizeof v6;
        return result;
    }
    return std::nullopt;
}

std::vector<SocketAddress> SocketAddress::resolve(const std::string& name, std::uint16_t port) {
    if (auto numeric = parse(name, port)) return {*numeric};
    std::vector<SocketAddress> results;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* raw = nullptr;
    const int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &raw);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(raw, ::freeaddrinfo);
    for (const addrinfo* entry = raw; code == 0 && entry != nullptr; entry = entry->ai_next) {
        if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
        const auto result = parse(of(entry->ai_addr).address(), port);
        const auto is_same = [&](const SocketAddress& known) { return result && known.address() == result->address(); };
        if (result && std::none_of(results.begin(), results.end(), is_same)) results.push_back(*result);
    }
    if (!results.empty()) return results;
    throw Error(ErrorCode::bootstrap, fmt::format("the host name {} has no address: {}", name,
                                                  code != 0 ? ::gai_strerror(code) : "it has no address of IPv4 or IPv6"));
}

SocketAddress SocketAddress::of(int socket) {
    SocketAddress result;
    result.length_ = sizeof result.storage_;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&result.storage_), &result.length_) != 0) {
        throw Error(ErrorCode::bootstrap, fmt::format("the address of a socket cannot be read: {}", error_text(errno)));
    }
    return result;
}

SocketAddress SocketAddress::of(const sockaddr* raw) {
    SocketAddress result;
    result.length_ = raw->sa_family == AF_INET    ? sizeof(sockaddr_in)
                     : raw->sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                                  : sizeof raw->sa_family;
    std::memcpy(&result.storage_, raw, result.length_);
    return result;
}

std::string SocketAddress::address() const {
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    if (family() == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &storage_, sizeof v4);
        ::inet_ntop(AF_INET, &v4.sin_addr, buffer.data(), buffer.size());
    } else if (family() == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &storage_, sizeof v6);
        ::inet_ntop(AF_INET6, &v6.sin6_addr, buffer.data(), buffer.size());
    }
    return buffer.data();
}

std::uint16_t SocketAddress::port() const {
    sockaddr_in6 v6{};  // the port is at the same place as for IPv4
    std::memcpy(&v6, &storage_, sizeof v6);
    return ntohs(v6.sin6_port);
}

std::string SocketAddress::text() const {
    return family() == AF_INET6 ? fmt::format("[{}]:{}", address(), port()) : fmt::format("{}:{}", address(), port());
}

bool SocketAddress::loopback() const {
    const std::string text = address();
    return family() == AF_INET ? text.starts_with("127.") : text == "::1";
}

bool SocketAddress::wildcard() const {
    const std::string text = address();
    return text == "0.0.0.0" || text == "::" || text == "::ffff:0.0.0.0";
}

std::string address_among(std::span<const Interface> interfaces, std::string_view net) {
    // What ROLLCALL_NET names for the data may have no address, as RDMA ports do without IPoIB. The start then takes another interface.
    for (const std::string_view setting : {net, std::string_view()}) {
        const auto choice = choose(interfaces, setting);
        for (std::size_t i = 0; i < interfaces.size(); ++i) {
            if (!choice.verdicts[i].chosen) continue;
            if (auto address = best_address(interfaces[i])) return *address;
        }
    }
    return "127.0.0.1";
}

std::string address_in_use(std::string_view net) { return address_among(list_interfaces(), net); }

std::string advice_about(const SocketAddress& address, std::string_view process) {
    if (!address.loopback()) return fmt::format("if {} runs, set ROLLCALL_NET on its host to an interface that this host reaches", process);
    return fmt::format(
        "{} listens at a loopback address, which only its own host reaches: if there are others, set ROLLCALL_NET there to "
        "an interface that they reach",
        process);
}

bool is_of_this_host(const SocketAddress& address) {
    const auto any_port = SocketAddress::parse(address.address(), 0);
    const Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!any_port || !socket || ::bind(socket.get(), any_port->raw(), any_port->length()) != 0) return false;
    // With net.ipv4.ip_nonlocal_bind (or that of IPv6), bind() takes every address.
    return address.wildcard() || address.loopback() || is_listed(address);
}

Descriptor listen_at(const SocketAddress& address, std::string_view advice) {
    Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // This accepts a port that another job has just left.
    if (socket) set(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    if (socket && address.family() == AF_INET6) set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY);
    if (!socket || ::bind(socket.get(), address.raw(), address.length()) != 0 || ::listen(socket.get(), kBacklog) != 0) {
        const int error = errno;
        throw Error(ErrorCode::bootstrap, fmt::format("this process cannot wait for the other ranks at {}: {}{}{}", address.text(),
                                                      error_text(error), advice.empty() ? "" : "; ", advice));
    }
    return socket;
}

Descriptor connect_to(const SocketAddress& address, Nanoseconds until, std::string& why, const Meanwhile& meanwhile) {
    Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int error = socket ? 0 : errno;
    if (socket && ::connect(socket.get(), address.raw(), address.length()) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            pollfd entry{socket.get(), POLLOUT, 0};
            // The socket is polled at least once, so that an answer which is already there is not missed.
            Waiting waiting(meanwhile, until == kNever ? kForever : Timeout(until - monotonic_now()));
            while (::poll(&entry, 1, 0) <= 0 && !waiting.over()) waiting.on(socket.get(), POLLOUT);
            error = ETIMEDOUT;
            socklen_t size = sizeof error;
            if (entry.revents != 0) ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        }
    }
    if (error == 0 && SocketAddress::of(socket.get()).text() == address.text()) {
        // No process listens at this address, and the system chose that very port for this side: TCP then connects a socket with itself.
        // The socket is closed at once, so that the port is free for the process that should listen there.
        const linger none{1, 0};
        ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
        error = ECONNREFUSED;
    }
    if (error != 0) {
        const bool short_of_files = error == EMFILE || error == ENFILE;
        why = fmt::format("{} cannot be reached: {}{}", address.text(), error_text(error), short_of_files ? kRaiseFileLimit : "");
        return Descriptor();
    }
    set(socket.get(), IPPROTO_TCP, TCP_NODELAY);
    return socket;
}

std::optional<pid_t> process_of_same_user(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 || credentials.uid != ::geteuid()) return std::nullopt;
    return credentials.pid;
}

Descriptor watch_process(pid_t process) {
    Descriptor watched(process > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1);
    if (watched) ::fcntl(watched.get(), F_SETFD, FD_CLOEXEC);
    return watched;
}

Session initiate(int socket, const Key& key, const Identity& self, Nanoseconds until, const Meanwhile& meanwhile) {
    Waiting waiting(meanwhile, until == kNever ? kForever : Timeout(until - monotonic_now()));
    Initiator initiator(key, self);
    send_all(socket, initiator.hello(), waiting);
    Challenge challenge;
    receive_all(socket, challenge, waiting);
    const Proof proof = initiator.answer(challenge);
    send_all(socket, proof, waiting);
    return initiator.session();
}

}  // namespace rollcall::bootstrap
