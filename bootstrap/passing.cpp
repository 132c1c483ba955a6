#include "bootstrap/passing.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rollcall::bootstrap {

namespace {

/// A message of these bytes, with room for a descriptor.
struct Message {
    explicit Message(std::span<std::byte> bytes) : vector{bytes.data(), bytes.size()} {
        header.msg_iov = &vector;
        header.msg_iovlen = 1;
        header.msg_control = space.data();
        header.msg_controllen = space.size();
    }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    iovec vector;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr header{};
};

}  // namespace

bool send_with_descriptor(int socket, const Blob& frame, int descriptor) {
    Message message(std::span(const_cast<std::byte*>(frame.data()), frame.size()));
    cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    const ssize_t sent = ::sendmsg(socket, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(frame.size())) return true;
    if (sent >= 0) errno = EMSGSIZE;  // a part of the frame tells the other side nothing
    return false;
}

ssize_t receive_with_descriptor(int socket, std::span<std::byte> into, Descriptor& passed) {
    Message message(into);
    const ssize_t count = ::recvmsg(socket, &message.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return count;
    if ((message.header.msg_flags & MSG_CTRUNC) != 0) passed.reset();
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
        passed.reset(descriptor);
    }
    return count;
}

}  // namespace rollcall::bootstrap
