#include "bootstrap/alone.hpp"

#include <unistd.h>

#include <cstdio>

#include "foundation/host_name.hpp"

namespace rollcall::bootstrap {

Alone::Alone() {
    place_.host = host_name();
    place_.job = place_.host + "-" + std::to_string(::getpid());
}

Gathered Alone::exchange(std::span<const std::byte> mine, const Meanwhile&, Timeout) { return Gathered(mine); }

void Alone::abort(int code, std::string_view why) noexcept {
    std::fprintf(stderr, "rollcall: rank 0 on host %s aborted the job with code %d: %.*s\n", place_.host.c_str(), code,
                 static_cast<int>(why.size()), why.data());
}

}  // namespace rollcall::bootstrap
