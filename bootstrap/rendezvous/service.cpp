#include "bootstrap/rendezvous/service.hpp"

#include <exception>
#include <system_error>

#include <fmt/format.h>
#include <pthread.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/service_loop.hpp"
#include "foundation/log.hpp"
#include "foundation/process_limit.hpp"
#include "foundation/signals_blocked.hpp"

namespace rollcall::bootstrap {

Service::Service(ServiceOptions options, Descriptor local, Root root)
    : loop_(std::make_unique<Loop>(std::move(options), std::move(local), std::move(root), std::nullopt)) {
    start();
}

Service::Service(ServiceOptions options, Descriptor local, Leader leader)
    : loop_(std::make_unique<Loop>(std::move(options), std::move(local), std::nullopt, std::move(leader))) {
    start();
}

void Service::start() {
    const SignalsBlocked blocked;
    try {
        thread_ = std::thread([this] {
            ::pthread_setname_np(::pthread_self(), "rollcall-meet");
            loop_->run();
            finished_ = true;
        });
    } catch (const std::exception& error) {
        const auto* const refusal = dynamic_cast<const std::system_error*>(&error);
        throw Error(ErrorCode::bootstrap, fmt::format("the thread that serves the rendezvous cannot be started: {}{}", error.what(),
                                                      refusal != nullptr ? process_limit_advice(refusal->code().value()) : ""));
    }
}

Service::~Service() {
    if (!is_of_this_process()) {
        // This process is a forked child. It cannot wait for the thread, and it cannot touch what the thread was working on at the fork. So
        // both are left as they are.
        static_cast<void>(loop_.release());
        static_cast<void>(new std::thread(std::move(thread_)));
        return;
    }
    if (!thread_.joinable()) return;
    loop_->wake(Loop::Wish::stop, Timeout::zero());
    thread_.join();
}

void Service::announce(Notice notice, Timeout limit) noexcept {
    if (!is_of_this_process()) return;
    try {
        loop_->announce(std::move(notice), limit);
    } catch (...) {  // the others see that this process is gone
    }
}

void Service::finish(Timeout limit) noexcept {
    if (!is_of_this_process()) return;
    const std::lock_guard lock(finishing_);
    if (!thread_.joinable()) return;
    loop_->wake(Loop::Wish::finish, limit);
    thread_.join();
}

}  // namespace rollcall::bootstrap
