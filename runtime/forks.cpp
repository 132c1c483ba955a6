#include "runtime/forks.hpp"

#include <system_error>

#include <pthread.h>

namespace rollcall::runtime {

std::uint32_t forks_so_far = 0;

void watch_forks() {
    static const int failed = ::pthread_atfork(nullptr, nullptr, [] { ++forks_so_far; });
    if (failed) throw std::system_error(failed, std::generic_category(), "forks cannot be watched (pthread_atfork)");
}

}  // namespace rollcall::runtime
