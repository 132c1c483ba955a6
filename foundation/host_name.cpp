#include "foundation/host_name.hpp"

#include <array>

#include <unistd.h>

namespace rollcall::inline foundation {

std::string host_name() {
    std::array<char, 256> name{};  // HOST_NAME_MAX is 64. The spare bytes keep a longer name terminated.
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace rollcall::inline foundation
