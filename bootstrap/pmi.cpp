#include "bootstrap/pmi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <rollcall/error.hpp>

#include "bootstrap/waiting.hpp"
#include "foundation/hash.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kPmiDescriptor = "PMI_FD";
constexpr const char* kPmiRank = "PMI_RANK";
constexpr const char* kPmiSize = "PMI_SIZE";
constexpr std::string_view kPmiName = "a launcher that speaks PMI-1";

constexpr std::string_view kPmiKey = "rollcall";
constexpr std::string_view kBarrier = "cmd=barrier_in";
/// Slurm says that values may have 1024 characters, but silently loses those of 1000 and more.
constexpr std::size_t kLongestValue = 512;
constexpr std::size_t kChecksumDigits = 8;
static_assert(kChecksumDigits + 1 + kLongestInvitation <= kLongestValue);
/// No line of a process manager is longer than this.
constexpr std::size_t kLongestLine = 64 * 1024;
/// The pause between two checks whether another thread has sent its line.
constexpr auto kLockNap = std::chrono::milliseconds(1);
constexpr auto kFinalizePatience = std::chrono::seconds(2);

std::string with_checksum(std::string_view text) {  // which protects against loss and not against malice
    return fmt::format("{:0{}x}-{}", short_hash_of(text), kChecksumDigits, text);
}

}  // namespace

/// A line of the answer: words of the form `key=value`.
class Pmi::Answer {
  public:
    explicit Answer(std::string line) : line_(std::move(line)) {}
    /// Empty if the key is not there.
    std::string_view value(std::string_view key) const {
        std::string_view rest = line_;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            const std::string_view word = rest.substr(0, end);
            if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') return word.substr(key.size() + 1);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return {};
    }
    bool failed() const {
        const std::string_view code = value("rc");
        return !code.empty() && code != "0";
    }
    const std::string& line() const { return line_; }

  private:
    std::string line_;
};

Pmi::Pmi(int descriptor, int rank, int size, Timeout timeout) : rank_(rank), timeout_(timeout) {
    if (rank < 0 || size < 1 || rank >= size || descriptor < 0 || ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
        throw Error(
            ErrorCode::bootstrap,
            fmt::format(
                "{}={} says that a launcher that speaks PMI started this process as rank {} of {}, but {}; start the program "
                "by the launcher directly or by `rollcall run`, let wrappers pass the descriptor on (Python: close_fds=False), or unset "
                "the PMI_ variables to run alone, also in copies of the environment (Python: os.environ)",
                kPmiDescriptor, descriptor, rank, size,
                rank < 0 || size < 1 || rank >= size ? "there is no such rank" : "that descriptor is not open"));
    socket_.reset(descriptor);
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", timeout_);
    space_ = ask("cmd=get_my_kvsname", "my_kvsname", timeout_).value("kvsname");
}

bool Pmi::send(std::string_view line, Timeout timeout) {
    const Meanwhile nothing;
    Waiting waiting(nothing, timeout);
    std::unique_lock lock(sending_, std::defer_lock);
    while (!lock.try_lock()) {
        if (waiting.over()) return false;
        std::this_thread::sleep_for(kLockNap);
    }
    const std::string whole = fmt::format("{}\n", line);
    for (std::string_view rest = whole; !rest.empty();) {
        const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            rest.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (waiting.over()) return false;
            waiting.on(socket_.get(), POLLOUT);
        } else if (errno != EINTR) {
            return true;  // it is gone, which shows when the answer is read
        }
    }
    return true;
}

Pmi::Answer Pmi::ask(std::string_view question, std::string_view answer, Timeout timeout) {
    // Names only the command and the key, because a value may be secret.
    const auto subject = [&] { return fmt::format("rank {}: PMI: '{}'", rank_, question.substr(0, question.find(" value="))); };
    if (!send(question, timeout)) throw Error(ErrorCode::timeout, fmt::format("{}: the process manager does not accept it", subject()));
    const Meanwhile nothing;
    Waiting waiting(nothing, timeout);
    for (;;) {
        if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
            Answer got(received_.substr(0, end));
            received_.erase(0, end + 1);
            if (got.value("cmd") != answer || got.failed())
                throw Error(ErrorCode::bootstrap, fmt::format("{} was answered with '{}'", subject(), got.line().substr(0, 200)));
            return got;
        }
        std::array<char, 4096> buffer;
        const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count > 0) {
            received_.append(buffer.data(), static_cast<std::size_t>(count));
            if (received_.size() > kLongestLine)
                throw Error(ErrorCode::bootstrap, fmt::format("{} was answered with a line without end", subject()));
            continue;
        }
        if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            throw Error(ErrorCode::bootstrap, fmt::format("{} was not answered: the process manager is gone", subject()));
        if (waiting.over())
            throw Error(ErrorCode::timeout, fmt::format("{} was not answered within {} ms{}", subject(),
                                                        std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(),
                                                        question == kBarrier ? ": not every rank has come so far" : ""));
        waiting.on(socket_.get(), POLLIN);
    }
}

std::string Pmi::share(std::string mine) {
    if (rank_ == 0) ask(fmt::format("cmd=put kvsname={} key={} value={}", space_, kPmiKey, with_checksum(mine)), "put_result", timeout_);
    ask(kBarrier, "barrier_out", timeout_);
    if (rank_ == 0) return mine;
    const Answer answer = ask(fmt::format("cmd=get kvsname={} key={}", space_, kPmiKey), "get_result", timeout_);
    const std::string_view value = answer.value("value");
    std::string text(value.substr(std::min(value.size(), kChecksumDigits + 1)));
    if (value != with_checksum(text))
        throw Error(ErrorCode::bootstrap,
                    fmt::format("rank {}: the text that rank 0 sent through PMI did not arrive complete: the process manager changes or "
                                "loses values of up to {} characters; start the job by `rollcall run`",
                                rank_, kLongestValue));
    return text;
}

void Pmi::finalize() noexcept {
    try {
        ask("cmd=finalize", "finalize_ack", kFinalizePatience);
    } catch (...) {  // the process manager then judges this process by its exit code
    }
}

void Pmi::abort(int code, std::string_view) noexcept {
    try {
        send(fmt::format("cmd=abort exitcode={}", code), kAbortPatience);
    } catch (...) {  // out of memory: the caller's own exit code must do
    }
}

std::unique_ptr<Bootstrap> join_pmi() {
    const int descriptor = number_in_environment(kPmiDescriptor);
    const int rank = number_in_environment(kPmiRank);
    const int size = number_in_environment(kPmiSize);
    const RendezvousOptions options = rendezvous_options();
    auto manager = std::make_unique<Pmi>(descriptor, rank, size, options.join_timeout);
    return std::make_unique<Managed>(std::string(kPmiName), rank, size, std::move(manager), options);
}

}  // namespace rollcall::bootstrap
