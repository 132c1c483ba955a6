#include "tests/cluster/sockets.hpp"

#include <cerrno>

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

namespace rollcall::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_ready(const Socket& socket, short events, milliseconds limit) {
    pollfd entry{socket.get(), events, 0};
    return ::poll(&entry, 1, static_cast<int>(limit.count())) > 0;
}

sockaddr_in address_of(const Cluster& cluster, const std::string& host, int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const std::string text = cluster.line_of({"address", host});
    EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &address.sin_addr), 1) << text;
    return address;
}

Socket listener(const Cluster& cluster, const std::string& host, int& port) {
    Socket socket;
    sockaddr_in address = address_of(cluster, host, 0);
    cluster.inside(host, CLONE_NEWNET, [&] { socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    return socket;
}

Socket connection(const Cluster& cluster, const std::string& from, const std::string& to, int port, milliseconds limit) {
    Socket socket;
    const sockaddr_in address = address_of(cluster, to, port);
    cluster.inside(from, CLONE_NEWNET, [&] { socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); });
    int error = 0;
    socklen_t size = sizeof error;
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
        (errno != EINPROGRESS || !is_ready(socket, POLLOUT, limit) ||
         ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0))
        socket.reset();
    return socket;
}

Pair connect(const Cluster& cluster, const std::string& from, const std::string& to) {
    int port = 0;
    const Socket listening = listener(cluster, to, port);
    Pair pair;
    pair.here = connection(cluster, from, to, port);
    EXPECT_GE(pair.here.get(), 0);
    if (is_ready(listening, POLLIN, seconds(10)))
        pair.there.reset(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    EXPECT_GE(pair.there.get(), 0);
    return pair;
}

}  // namespace rollcall::test
