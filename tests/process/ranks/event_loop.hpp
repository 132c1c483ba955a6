/// \file
/// The event loop of a program that drives progress itself.
#pragma once

#include <span>

#include <poll.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

/// Calls progress() when the descriptor is readable, until all requests are done.
inline void wait_in_event_loop(Job& job, std::span<Request> requests) {
    for (;;) {
        bool done = true;
        for (Request& request : requests)
            if (!request.test()) done = false;
        if (done) return;
        if (job.prepare_to_sleep()) {
            pollfd entry{job.progress_descriptor(), POLLIN, 0};
            ::poll(&entry, 1, 20'000);
            check(entry.revents != 0, "it was not woken for 20 s");
        }
        while (job.progress()) {
        }
    }
}

}  // namespace rollcall::test
