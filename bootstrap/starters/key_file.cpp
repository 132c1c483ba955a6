#include "bootstrap/starters/key_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "bootstrap/starters/write_whole.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/error_text.hpp"
#include "foundation/home.hpp"

namespace rollcall::bootstrap {
namespace {

[[noreturn]] void refuse_key_file(const std::string& path, const std::string& why) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("the key file {} cannot be used: {}; set ROLLCALL_KEY_FILE to another one, which all hosts of the job can read",
                            path, why));
}

/// Empty if there is no such file.
std::optional<Key> try_key_file(const std::string& path) {
    // Opened without waiting, because there may be a pipe at this path.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::nullopt;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) refuse_key_file(path, error_text(errno));
    if (!S_ISREG(status.st_mode)) refuse_key_file(path, "it is not a regular file");
    if (status.st_uid != ::geteuid()) refuse_key_file(path, "it belongs to another user");
    if ((status.st_mode & 077) != 0) {
        refuse_key_file(path, fmt::format("others may use it (its mode is {:03o}): if nobody has read it, chmod 600 it, else remove it",
                                          status.st_mode & 0777));
    }
    std::array<char, kKeyDigits + 2> text{};
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    const bool whole =
        length == static_cast<ssize_t>(kKeyDigits) || (length == static_cast<ssize_t>(kKeyDigits + 1) && text[kKeyDigits] == '\n');
    const std::optional<Key> key = whole ? Key::of_digits({text.data(), kKeyDigits}) : std::nullopt;
    ::sodium_memzero(text.data(), text.size());
    if (!key) refuse_key_file(path, fmt::format("it does not hold a key, which is {} hexadecimal digits", kKeyDigits));
    return key;
}

/// The key is first written to a file beside it, so that no process ever sees a part of a key. If several processes do this, link() lets
/// the first one win.
void make_key_file(const std::string& path) {
    Key::Digits digits = Key::random().digits();
    std::array<char, kKeyDigits + 1> text;
    std::copy(digits.begin(), digits.end(), text.begin());
    text[kKeyDigits] = '\n';
    ::sodium_memzero(digits.data(), digits.size());
    const std::string beside = fmt::format("{}.{}-{:08x}", path, ::getpid(), ::randombytes_random());
    const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    int code = file ? 0 : errno;
    if (file) {
        code = write_whole(file.get(), {text.data(), text.size()});
        if (code == 0 && ::link(beside.c_str(), path.c_str()) != 0 && errno != EEXIST) code = errno;
        ::unlink(beside.c_str());
    }
    ::sodium_memzero(text.data(), text.size());
    if (code == ENOENT) {
        refuse_key_file(path, fmt::format("it is not there and cannot be made, because there is no directory '{}'",
                                          std::filesystem::path(path).parent_path().string()));
    }
    if (code != 0) refuse_key_file(path, fmt::format("it is not there and cannot be made: {}", error_text(code)));
}

}  // namespace

std::string key_file_path(const std::string& setting) {
    if (!setting.empty()) return setting;
    const std::string home = home_directory();
    if (home.empty()) {
        throw Error(ErrorCode::bootstrap, "this user has no home directory for ~/.config/rollcall/key: set ROLLCALL_KEY_FILE");
    }
    // Only these directories are made. A path that the user has set may be mistyped.
    const std::filesystem::path directory = std::filesystem::path(home) / ".config" / "rollcall", path = directory / "key";
    std::error_code error;
    // If it is not known whether the directory is there, the opening of the file says why.
    if (std::filesystem::exists(home, error) && std::filesystem::status(directory, error).type() == std::filesystem::file_type::not_found) {
        if (!std::filesystem::create_directories(directory, error) && error) {
            refuse_key_file(path, fmt::format("it is not there, and its directory cannot be made: {}", error_text(error.value())));
        }
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
    }
    return path;
}

Key read_key_file(const std::string& path) {
    if (auto key = try_key_file(path)) return *key;
    make_key_file(path);
    if (auto key = try_key_file(path)) return *key;
    refuse_key_file(path, "it was removed while it was read");
}

}  // namespace rollcall::bootstrap
