#include "bootstrap/launched.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <rollcall/error.hpp>

#include "foundation/number.hpp"

namespace rollcall::bootstrap {
namespace {

[[noreturn]] void unusable(std::string_view number, std::string_view why) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("{}={} says that `rollcall run` started this process, but {}; start the program by `rollcall "
                            "run` directly, let wrappers pass the descriptor on (Python: close_fds=False), or unset the "
                            "variable to run alone, also in copies of the environment (Python: os.environ)",
                            kDescriptorVariable, number, why));
}

int parse_descriptor(std::string_view number) {
    const auto descriptor = number_of_text<int>(number);
    if (!descriptor || *descriptor < 0) unusable(number, "its value is not a descriptor number");
    return *descriptor;
}

}  // namespace

Launched::Launched(std::string_view number) {
    const int inherited = parse_descriptor(number);
    if (::fcntl(inherited, F_GETFD) < 0) unusable(number, "that descriptor is not open");
    int domain = 0;
    int type = 0;
    socklen_t domain_size = sizeof domain;
    socklen_t type_size = sizeof type;
    if (::getsockopt(inherited, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 ||
        ::getsockopt(inherited, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || domain != AF_UNIX || type != SOCK_STREAM) {
        unusable(number, "that descriptor is not the launcher's socket");
    }

    // The welcome was put there before this process began. It is only looked at and not taken, because another process of this rank may be
    // about to read it.
    Peeked peeked;
    try {
        peeked = peek_frame(inherited);
    } catch (const Error& error) {
        unusable(number, error.what());
    }
    if (peeked.state == Peeked::State::closed) unusable(number, "the launcher is gone");
    if (peeked.state == Peeked::State::nothing || peeked.frame.type != FrameType::welcome) {
        unusable(number, "another process has already joined the job as this rank, and only one can");
    }
    Place place = decode_welcome(peeked.frame.body);

    ::fcntl(inherited, F_SETFD, FD_CLOEXEC);
    Descriptor control(inherited);
    Descriptor notices;
    if (!take_frame(inherited, peeked.frame, notices) || !notices) {
        unusable(number, "the launcher's welcome is incomplete (is the limit of open files reached?)");
    }
    member_.emplace(std::move(place), std::move(control), std::move(notices),
                    Member::Loss{ErrorCode::bootstrap,
                                 -1,
                                 "the launcher, `rollcall run`, is gone",
                                 {{-1, "the job has lost its launcher: `rollcall run` is gone"}}});
}

}  // namespace rollcall::bootstrap
