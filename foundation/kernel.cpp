#include "foundation/kernel.hpp"

#include <fstream>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/hash.hpp"
#include "foundation/host_name.hpp"

namespace rollcall::inline foundation {

std::string boot_identity() {
    std::string identity;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> identity;
    return identity;
}

std::uint64_t namespace_number(const char* kind) {
    struct stat status {};
    return ::stat((std::string("/proc/self/ns/") + kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

std::uint64_t node_identity() {
    const std::string boot = boot_identity();
    const std::uint64_t processes = namespace_number("pid"), users = namespace_number("user");
    if (boot.empty() || processes == 0 || users == 0) return 0;
    const std::string all = fmt::format("{}/{}/{}/{}/{}", boot, host_name(), processes, users, ::geteuid());
    return hash_of(std::as_bytes(std::span(all))) | 1;
}

std::uint64_t longest_file() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<std::uint64_t>::max();
    return limit.rlim_cur;
}

}  // namespace rollcall::inline foundation
