#include "transports/ofi/kept_signals.hpp"

namespace rollcall::transport::ofi {
namespace {

// It is never destroyed, because threads may make endpoints until the process has ended.
std::mutex& one_at_a_time() {
    static auto* const mutex = new std::mutex;
    return *mutex;
}

// sa_handler and sa_sigaction share their memory.
bool is_default(const struct sigaction& action) { return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL; }

}  // namespace

KeptSignals::KeptSignals(Which which) : alone_(one_at_a_time()) {
    for (std::size_t i = 0; i < actions_.size(); ++i)
        kept_[i] = ::sigaction(static_cast<int>(i) + 1, nullptr, &actions_[i]) == 0 && (which == Which::all || !is_default(actions_[i]));
}

KeptSignals::~KeptSignals() {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
        struct sigaction now {};
        const int signal = static_cast<int>(i) + 1;
        if (kept_[i] && ::sigaction(signal, nullptr, &now) == 0 && now.sa_sigaction != actions_[i].sa_sigaction)
            ::sigaction(signal, &actions_[i], nullptr);
    }
}

}  // namespace rollcall::transport::ofi
