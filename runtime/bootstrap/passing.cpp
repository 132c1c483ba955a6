#include "runtime/bootstrap/passing.hpp"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace rollcall::bootstrap {

bool send_with_descriptor(int socket, const Blob& frame, int descriptor) {
    iovec vector{const_cast<std::byte*>(frame.data()), frame.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(frame.size());
}

}  // namespace rollcall::bootstrap
