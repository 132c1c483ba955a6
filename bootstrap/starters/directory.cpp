#include "bootstrap/starters/directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/starters/environment.hpp"
#include "bootstrap/starters/write_whole.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kDirectoryName = "a rendezvous directory";
constexpr auto kFirstLook = std::chrono::milliseconds(5);
/// Many ranks may ask a shared file system at the same time, so each asks no more often than this.
constexpr auto kSlowestLook = std::chrono::milliseconds(500);

std::string invitation_path(const std::string& directory, const std::string& job) {
    const auto allowed = [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '-' ||
               letter == '_' || letter == '.';
    };
    if (job.size() > 100 || !std::all_of(job.begin(), job.end(), allowed)) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("{}={} is not allowed: letters, digits, '-', '_' and '.' are, 100 at most", kDirectoryJobVariable, job));
    }
    return fmt::format("{}/rollcall-invitation{}{}", directory, job.empty() ? "" : "-", job);
}

[[noreturn]] void refuse_directory(const std::string& path, const std::string& why) {
    throw Error(ErrorCode::bootstrap, fmt::format("{}: the invitation {} {}", kDirectoryVariable, path, why));
}

void put_invitation(const std::string& path, const std::string& text) {
    const std::string beside = fmt::format("{}.{:08x}", path, ::randombytes_random());
    const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) refuse_directory(path, fmt::format("cannot be written: {}", error_text(errno)));
    int code = write_whole(file.get(), text);
    if (code == 0 && ::rename(beside.c_str(), path.c_str()) != 0) code = errno;
    if (code == 0) return;
    ::unlink(beside.c_str());
    refuse_directory(path, fmt::format("cannot be written: {}", error_text(code)));
}

/// Returns nothing if the invitation is not there yet, and an empty text if its file is empty.
std::optional<std::string> get_invitation(const std::string& path) {
    // Opened without waiting, because there may be a pipe at this path.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    // ESTALE means that a network file system saw how the file was replaced.
    if (!file && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) refuse_directory(path, fmt::format("cannot be read: {}", error_text(errno)));
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
        refuse_directory(path, "does not belong to this user, or others can read it: remove it");
    }
    std::array<char, kLongestInvitation + 1> text{};
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    if (length < 0 && (errno == ESTALE || errno == EINTR)) return std::nullopt;
    if (length < 0) refuse_directory(path, fmt::format("cannot be read: {}", error_text(errno)));
    std::string result(text.data(), static_cast<std::size_t>(length));
    ::sodium_memzero(text.data(), text.size());
    return result;
}

/// Puts the invitation there, and removes it when the job has started or cannot start.
class PutInvitation {
  public:
    explicit PutInvitation(std::string path) : path_(std::move(path)) {}
    ~PutInvitation() { remove(); }
    PutInvitation(const PutInvitation&) = delete;
    PutInvitation& operator=(const PutInvitation&) = delete;
    void remove() noexcept {
        if (text_.empty()) return;
        try {
            if (get_invitation(path_) == text_) ::unlink(path_.c_str());  // an invitation of another job may be there by now
        } catch (const Error&) {                                          // the file is not ours any more
        }
        ::sodium_memzero(text_.data(), text_.size());
        text_.clear();
    }
    void put(const std::string& text) {
        put_invitation(path_, text);
        text_ = text;
    }

  private:
    std::string path_;
    std::string text_;
};

}  // namespace

std::unique_ptr<Bootstrap> join_directory() {
    const std::string directory = environment(kDirectoryVariable);
    const int size = whole_number(kDirectorySizeVariable, kDirectoryName, 1, kMostCredibleRanks);
    const int rank = whole_number(kDirectoryRankVariable, kDirectoryName, 0, size - 1);
    const std::string path = invitation_path(directory, environment(kDirectoryJobVariable));
    if (::access(directory.c_str(), F_OK) != 0 && errno == ENOENT) {
        throw Error(ErrorCode::bootstrap, fmt::format("{}: the directory {} does not exist: make it, in a place that all ranks see",
                                                      kDirectoryVariable, directory));
    }
    if (::access(directory.c_str(), X_OK) != 0) refuse_directory(path, fmt::format("has no place: {}", error_text(errno)));

    RendezvousOptions options = rendezvous_options();
    options.invitation_may_be_stale = true;
    const Nanoseconds until = deadline_after(options.join_timeout);
    PutInvitation own(path);
    const Share share = [&](std::string mine) {
        if (!mine.empty()) {
            own.put(mine);
            return mine;
        }
        for (auto pause = kFirstLook;; pause = std::min(pause * 2, kSlowestLook)) {
            // Over NFS, a host may remember for a minute that a file was not there. Opening the directory makes it ask again.
            const Descriptor look_again(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            const auto text = get_invitation(path);
            if (text && !text->empty()) return *text;
            if (monotonic_now() >= until) {
                throw Error(ErrorCode::timeout, fmt::format("rank {} of {}: rank 0 has not put its invitation at {} in time{}", rank, size,
                                                            path, text ? ": the file there is empty" : ""));
            }
            std::this_thread::sleep_for(pause);
        }
    };
    try {
        return std::make_unique<Rendezvous>(kDirectoryName, rank, size, share, options);
    } catch (...) {
        own.remove();  // Nothing is destroyed if the program does not catch the exception.
        throw;
    }
}

}  // namespace rollcall::bootstrap
