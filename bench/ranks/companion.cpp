#include "bench/ranks/companion.hpp"

#include <fmt/format.h>

#include <rollcall/error.hpp>

namespace rollcall::bench {

std::filesystem::path find_companion(const std::string& directory, const std::string& name, const std::string& advice) {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto built = here / directory / name, installed = (here / ROLLCALL_LIBEXEC / "rollcall" / name).lexically_normal();
    for (const auto& path : {built, installed})
        if (std::filesystem::exists(path)) return path;
    throw Error(ErrorCode::state, fmt::format("neither {} nor {} is there: {}", built.string(), installed.string(), advice));
}

}  // namespace rollcall::bench
