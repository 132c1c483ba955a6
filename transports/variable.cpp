#include "transports/variable.hpp"

#include <cstdlib>

namespace rollcall::transport {
namespace {

std::recursive_mutex& environment() {
    static std::recursive_mutex mutex;
    return mutex;
}

}  // namespace

Variable::Variable(const char* name, const std::string& value) : lock_(environment()), name_(name) {
    if (!std::getenv(name)) was_set_ = ::setenv(name, value.c_str(), 1) == 0;
}

Variable::~Variable() {
    if (was_set_) ::unsetenv(name_);
}

}  // namespace rollcall::transport
