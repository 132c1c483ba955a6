/// \file
/// TCP connections between emulated hosts. The test owns both ends.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <netinet/in.h>
#include <unistd.h>

#include "tests/cluster/harness.hpp"

namespace rollcall::test {

class Socket {
  public:
    explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
    ~Socket() { reset(); }
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        reset(std::exchange(other.descriptor_, -1));
        return *this;
    }
    int get() const { return descriptor_; }
    void reset(int descriptor = -1) {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = descriptor;
    }

  private:
    int descriptor_;
};

/// Returns whether one of these events of poll() comes within the limit.
bool is_ready(const Socket& socket, short events, std::chrono::milliseconds limit);

sockaddr_in address_of(const Cluster& cluster, const std::string& host, int port);

/// Opens a socket on a host that listens at some port, which is stored in `port`.
Socket listener(const Cluster& cluster, const std::string& host, int& port);

/// Connects one host to a port of another host. If there is no connection at the limit, the descriptor is -1.
Socket connection(const Cluster& cluster, const std::string& from, const std::string& to, int port,
                  std::chrono::milliseconds limit = std::chrono::seconds(10));

/// The two ends of a connection. Neither end blocks.
struct Pair {
    Socket here, there;
};
/// Makes a connection, and expects that to succeed.
Pair connect(const Cluster& cluster, const std::string& from, const std::string& to);

}  // namespace rollcall::test
