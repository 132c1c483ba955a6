#include "bootstrap/managed.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "foundation/number.hpp"

namespace rollcall::bootstrap {
namespace {

/// How long a process manager may take to pass on what a rank has written.
constexpr auto kReadingTime = std::chrono::milliseconds(100);

}  // namespace

Managed::Managed(std::string starter, int rank, int size, std::unique_ptr<ProcessManager> manager, const RendezvousOptions& options)
    : manager_(std::move(manager)),
      rendezvous_(
          std::move(starter), rank, size, [this](std::string mine) { return manager_->share(std::move(mine)); }, options) {}

void Managed::leave() noexcept {
    rendezvous_.leave();
    manager_->finalize();
}

void Managed::abort(int code, std::string_view why) noexcept {
    rendezvous_.say_abort(code, why);
    // A process manager that ends a job may drop what it has not read yet, such as the reason written above.
    std::this_thread::sleep_for(kReadingTime);
    // The process manager is told before the other ranks. They exit when they hear of it, and the first exit that the manager sees gives
    // the job's exit code.
    manager_->abort(code, why);
    rendezvous_.tell_abort(code, why);
}

int number_in_environment(const char* variable) {
    const char* const text = std::getenv(variable);
    if (!text) return -1;
    return std::max(number_of_text<int>(text).value_or(-1), -1);
}

}  // namespace rollcall::bootstrap
