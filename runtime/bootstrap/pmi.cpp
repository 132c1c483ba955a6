#include "runtime/bootstrap/pmi.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <rollcall/error.hpp>

#include "runtime/bootstrap/frames.hpp"
#include "runtime/bootstrap/waiting.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kDescriptorName = "PMI_FD";
constexpr const char* kRankName = "PMI_RANK";
constexpr const char* kSizeName = "PMI_SIZE";

/// Slurm advertises values of 1024 characters, and loses those of 1000 and more without a word.
constexpr std::size_t kLongestValue = 512;
constexpr std::size_t kBytesOfSegment = kLongestValue / 2;
/// No line of a process manager is longer.
constexpr std::size_t kLongestLine = 64 * 1024;
/// Joining: every rank of a large job is started within that.
constexpr auto kJoinTimeout = std::chrono::minutes(5);
constexpr auto kLeavePatience = std::chrono::seconds(2);

std::uint32_t checksum(std::span<const std::byte> bytes) {  // FNV-1a: against loss, not against malice
    std::uint32_t sum = 2166136261u;
    for (const std::byte byte : bytes) sum = (sum ^ std::to_integer<std::uint32_t>(byte)) * 16777619u;
    return sum;
}

std::string to_hex(std::span<const std::byte> bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

/// Appends the bytes; false: these are no hexadecimal digits.
bool from_hex(std::string_view text, Blob& bytes) {
    if (text.size() % 2) return false;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        unsigned value = 0;
        const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
        if (error != std::errc() || end != text.data() + i + 2) return false;
        bytes.push_back(static_cast<std::byte>(value));
    }
    return true;
}

int number_of(const char* variable) {
    const char* text = std::getenv(variable);
    int value = -1;
    if (text) {
        const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
        if (error != std::errc() || *end) value = -1;
    }
    if (value >= 0) return value;
    throw Error(ErrorCode::bootstrap,
                fmt::format("{} says that a launcher that speaks PMI started this process, but {}={} is no number; unset PMI_FD, PMI_RANK "
                            "and PMI_SIZE to run alone",
                            kDescriptorName, variable, text ? text : ""));
}

}  // namespace

/// One line that was answered: words `key=value`.
class Pmi::Answer {
  public:
    explicit Answer(std::string line) : line_(std::move(line)) {}
    /// Empty where the key is not there.
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

Pmi::Pmi(int descriptor, int rank, int size, Timeout timeout) {
    place_.rank = rank;
    place_.size = size;
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
    place_.host = host.data();
    if (size < 1 || rank >= size || ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
        throw Error(
            ErrorCode::bootstrap,
            fmt::format("{}={} says that a launcher that speaks PMI started this process as rank {} of {}, but {}; start the program "
                        "by the launcher directly, let wrappers pass the descriptor on, or unset the PMI_ variables to run alone",
                        kDescriptorName, descriptor, rank, size,
                        size < 1 || rank >= size ? "there is no such rank" : "that descriptor is not open"));
    socket_.reset(descriptor);
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", {}, timeout);
    space_ = ask("cmd=get_my_kvsname", "my_kvsname", {}, timeout).value("kvsname");
    place_.job = space_;

    const auto hosts = exchange(std::as_bytes(std::span(place_.host)), {}, timeout);
    std::vector<Blob> distinct = hosts;
    std::sort(distinct.begin(), distinct.end());
    place_.hosts = static_cast<int>(std::unique(distinct.begin(), distinct.end()) - distinct.begin());
    const Blob& here = hosts[static_cast<std::size_t>(rank)];
    place_.local_rank = static_cast<int>(std::count(hosts.begin(), hosts.begin() + rank, here));
    place_.local_size = static_cast<int>(std::count(hosts.begin(), hosts.end(), here));
}

void Pmi::send(std::string_view line) {
    const std::lock_guard lock(sending_);
    std::string rest = fmt::format("{}\n", line);
    while (!rest.empty()) {
        const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            rest.erase(0, static_cast<std::size_t>(sent));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            wait_on(socket_.get(), POLLOUT, std::chrono::seconds(1));
        } else if (errno != EINTR) {
            return;  // gone, which shows when the answer is read
        }
    }
}

Pmi::Answer Pmi::ask(std::string_view question, std::string_view answer, const Meanwhile& meanwhile, Timeout timeout) {
    const auto who = [&] { return fmt::format("rank {} on host {}: PMI: '{}'", place_.rank, place_.host, question.substr(0, 80)); };
    send(question);
    Waiting waiting(meanwhile, timeout);
    for (;;) {
        if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
            Answer got(received_.substr(0, end));
            received_.erase(0, end + 1);
            if (got.value("cmd") != answer || got.failed())
                throw Error(ErrorCode::bootstrap, fmt::format("{} was answered with '{}'", who(), got.line().substr(0, 200)));
            return got;
        }
        std::array<char, 4096> buffer;
        const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count > 0) {
            received_.append(buffer.data(), static_cast<std::size_t>(count));
            if (received_.size() > kLongestLine)
                throw Error(ErrorCode::bootstrap, fmt::format("{} was answered with a line without end", who()));
            continue;
        }
        if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            throw Error(ErrorCode::bootstrap, fmt::format("{} was not answered: the process manager is gone", who()));
        if (waiting.over())
            throw Error(ErrorCode::timeout, fmt::format("{} was not answered within {} s: not every rank has called it", who(),
                                                        std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
        waiting.on(socket_.get(), POLLIN);
    }
}

std::string Pmi::key(int rank, std::size_t segment) const { return fmt::format("rollcall-{}-{}-{}", exchanges_, rank, segment); }

void Pmi::barrier(const Meanwhile& meanwhile, Timeout timeout) { ask("cmd=barrier_in", "barrier_out", meanwhile, timeout); }

std::vector<Blob> Pmi::exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) {
    if (mine.size() > kLongestBlob)
        throw Error(ErrorCode::invalid_argument, fmt::format("rank {}: a bootstrap exchange of {} bytes; the longest blob has {}",
                                                             place_.rank, mine.size(), kLongestBlob));
    ++exchanges_;
    // Segment 0 says how long the blob is, and its checksum; the others carry it.
    const auto put = [&](std::size_t segment, std::string_view value) {
        ask(fmt::format("cmd=put kvsname={} key={} value={}", space_, key(place_.rank, segment), value), "put_result", meanwhile, timeout);
    };
    put(0, fmt::format("{}-{}", mine.size(), checksum(mine)));
    for (std::size_t begin = 0, segment = 1; begin < mine.size(); begin += kBytesOfSegment, ++segment)
        put(segment, to_hex(mine.subspan(begin, std::min(kBytesOfSegment, mine.size() - begin))));
    barrier(meanwhile, timeout);

    std::vector<Blob> all(static_cast<std::size_t>(place_.size));
    for (int rank = 0; rank < place_.size; ++rank) {
        Blob& blob = all[static_cast<std::size_t>(rank)];
        if (rank == place_.rank) {
            blob.assign(mine.begin(), mine.end());
            continue;
        }
        const auto get = [&](std::size_t segment) {
            return ask(fmt::format("cmd=get kvsname={} key={}", space_, key(rank, segment)), "get_result", meanwhile, timeout);
        };
        std::size_t size = 0;
        std::uint32_t sum = 0;
        const Answer head = get(0);
        const std::string_view text = head.value("value");
        const char* const end = text.data() + text.size();
        const auto [dash, error] = std::from_chars(text.data(), end, size);
        bool whole = error == std::errc() && dash != end && *dash == '-' && std::from_chars(dash + 1, end, sum).ec == std::errc() &&
                     size <= kLongestBlob;
        for (std::size_t segment = 1; whole && blob.size() < size; ++segment) {
            const std::size_t before = blob.size();
            whole = from_hex(get(segment).value("value"), blob) && blob.size() == std::min(size, before + kBytesOfSegment);
        }
        if (!whole || checksum(blob) != sum)
            throw Error(ErrorCode::bootstrap,
                        fmt::format("rank {} on host {}: what rank {} told by PMI did not come whole ({} of {} bytes): the process manager "
                                    "changes or loses values of {} characters; start the job by `rollcall run`",
                                    place_.rank, place_.host, rank, blob.size(), size, kLongestValue));
    }
    return all;
}

void Pmi::leave() noexcept {
    try {
        ask("cmd=finalize", "finalize_ack", {}, kLeavePatience);
    } catch (...) {  // the process manager then takes this process's exit for what it is
    }
}

void Pmi::abort(int code, std::string_view why) noexcept {
    std::fprintf(stderr, "rollcall: rank %d on host %s aborted the job with code %d: %.*s\n", place_.rank, place_.host.c_str(), code,
                 static_cast<int>(why.size()), why.data());
    try {
        send(fmt::format("cmd=abort exitcode={}", code));
    } catch (...) {  // out of memory: the caller's own exit code must do
    }
}

std::unique_ptr<Bootstrap> join_pmi() {
    const int descriptor = number_of(kDescriptorName), rank = number_of(kRankName), size = number_of(kSizeName);
    auto bootstrap = std::make_unique<Pmi>(descriptor, rank, size, kJoinTimeout);
    for (const char* variable : {kDescriptorName, kRankName, kSizeName}) ::unsetenv(variable);
    return bootstrap;
}

}  // namespace rollcall::bootstrap
