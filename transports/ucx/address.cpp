#include "transports/ucx/address.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "foundation/kernel.hpp"

namespace rollcall::transport::ucx {

Whereabouts whereabouts() {
    Whereabouts here;
    boot_identity().copy(here.boot, sizeof here.boot);
    here.process_namespace = namespace_number("pid");
    here.process = ::getpid();
    return here;
}

bool is_gone(const Whereabouts& here, const Whereabouts& there) {
    if (std::memcmp(here.boot, there.boot, sizeof here.boot) != 0 || here.process_namespace != there.process_namespace) return false;
    char target[1];
    return ::readlink(fmt::format("/proc/{}/exe", there.process).c_str(), target, sizeof target) < 0 && errno == ENOENT;
}

}  // namespace rollcall::transport::ucx
