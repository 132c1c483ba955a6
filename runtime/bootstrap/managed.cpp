#include "runtime/bootstrap/managed.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace rollcall::bootstrap {

Managed::Managed(std::string starter, int rank, int size, std::unique_ptr<ProcessManager> manager, const RendezvousOptions& options)
    : manager_(std::move(manager)),
      rendezvous_(
          std::move(starter), rank, size, [this](std::string mine) { return manager_->share(std::move(mine)); }, options) {}

void Managed::leave() noexcept {
    rendezvous_.leave();
    manager_->finalize();
}

void Managed::abort(int code, std::string_view why) noexcept {
    rendezvous_.abort(code, why);
    manager_->abort(code, why);
}

int number_in_environment(const char* variable) {
    const char* const text = std::getenv(variable);
    if (!text) return -1;
    const std::string_view digits = text;
    int value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 0 ? value : -1;
}

}  // namespace rollcall::bootstrap
