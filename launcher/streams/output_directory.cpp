#include "launcher/streams/output_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <rollcall/error.hpp>

#include "foundation/descriptor.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::launcher {
namespace {

/// Returns why no file can be made in this directory, or 0. Only an attempt shows it: root may write to directories that take no files.
int check_directory(const std::string& directory) {
    std::string path = directory + "/.rollcall-XXXXXX";
    const Descriptor made(::mkostemp(path.data(), O_CLOEXEC));
    if (!made) return errno;
    ::unlink(path.c_str());
    return 0;
}

}  // namespace

std::string make_output_directory(const std::string& directory) {
    std::error_code failed;
    // The path is made absolute, because this process may change its directory before the ranks start and the files are opened.
    const std::string path = std::filesystem::absolute(directory, failed).string();
    std::filesystem::create_directories(path, failed);
    if (failed) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--output-directory '{}' cannot be made: {}", path, failed.message()));
    }
    if (const int reason = check_directory(path)) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--output-directory '{}' takes no files: {}", path, error_text(reason)));
    }
    return path;
}

}  // namespace rollcall::launcher
