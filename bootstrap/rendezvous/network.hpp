/// \file
/// The sockets of a rendezvous between hosts. meeting_place.hpp has those within a host.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/authentication.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/interfaces.hpp"

namespace rollcall::bootstrap {

/// An IPv4 or IPv6 address with a port.
class SocketAddress {
  public:
    /// Reads a numeric address. Returns nothing if the text is something else.
    static std::optional<SocketAddress> parse(const std::string& address, std::uint16_t port);
    /// All addresses that a host name (or a numeric address) stands for, the preferred one first. There is at least one. Throws
    /// Error{bootstrap}.
    static std::vector<SocketAddress> resolve(const std::string& name, std::uint16_t port);
    /// Returns the address that a socket is bound to.
    static SocketAddress of(int socket);
    /// Returns the address in a system call's form. An address of another family has no text.
    static SocketAddress of(const sockaddr* raw);

    const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
    socklen_t length() const { return length_; }
    int family() const { return storage_.ss_family; }
    std::string address() const;  ///< "10.0.0.1"
    std::uint16_t port() const;
    std::string text() const;  ///< "10.0.0.1:4242", "[fd00::1]:4242"
    bool loopback() const;
    bool wildcard() const;  ///< Whether it stands for all addresses of a host.

  private:
    sockaddr_storage storage_{};
    socklen_t length_ = 0;
};

/// Returns the address at which other hosts reach this one, by the rules of foundation/interfaces.hpp. It is loopback if there is no
/// network, or if ROLLCALL_NET names it. Throws Error{invalid_setting, bootstrap}.
std::string address_in_use(std::string_view net);
/// The same for a host with these interfaces.
std::string address_among(std::span<const Interface> interfaces, std::string_view net);

/// A clause that says what to do if another host does not reach `process`, for example rank 0, at this address.
std::string advice_about(const SocketAddress& address, std::string_view process);

/// Whether processes of this host can listen at this address.
bool is_of_this_host(const SocketAddress& address);

/// Listens, without blocking. Throws Error{bootstrap}. `advice` says what to do if the port is taken.
Descriptor listen_at(const SocketAddress& address, std::string_view advice);
/// What to do where this process cannot open more files.
inline constexpr std::string_view kRaiseFileLimit = "; raise the limit of open files of this process (ulimit -n)";

/// Connects. If there is no answer until the moment `until`, returns an empty descriptor, with the reason in `why`. Meanwhile the caller's
/// other work is done, if there is some. What it throws ends the attempt.
Descriptor connect_to(const SocketAddress& address, Nanoseconds until, std::string& why, const Meanwhile& meanwhile = {});

/// Returns the process on the other side of a local socket: 0 if the process has no number here, and nothing if it belongs to another user.
std::optional<pid_t> process_of_same_user(int socket);

/// Returns a descriptor that is readable when this process, which is not a child of this one, is dead. Empty for 0, and if the system has
/// no such descriptors.
Descriptor watch_process(pid_t process);

/// Makes the handshake as the initiator, until the moment `until`. Throws HandshakeError{bootstrap}, or HandshakeError{timeout} if no
/// answer comes. `meanwhile`: as in connect_to().
Session initiate(int socket, const Key& key, const Identity& self, Nanoseconds until, const Meanwhile& meanwhile = {});

}  // namespace rollcall::bootstrap
