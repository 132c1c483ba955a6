#include "foundation/error_text.hpp"

#include <cstring>

namespace rollcall::inline foundation {

std::string error_text(int error) {
    char buffer[128];
    return ::strerror_r(error, buffer, sizeof buffer);
}

}  // namespace rollcall::inline foundation
