#include "runtime/lane/event_descriptor.hpp"

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"

namespace rollcall::runtime {

EventDescriptor::EventDescriptor() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!descriptor_)
        throw Error(ErrorCode::state,
                    fmt::format("cannot create an event descriptor: {}; raise the limit of open files (ulimit -n)", error_text(errno)));
}

void EventDescriptor::signal() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_.get(), &one, sizeof one);  // fails if full: readable already
}

void EventDescriptor::clear() noexcept {
    std::uint64_t count;
    [[maybe_unused]] const auto got = ::read(descriptor_.get(), &count, sizeof count);
}

}  // namespace rollcall::runtime
