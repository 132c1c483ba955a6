#include "bootstrap/slurm/handout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/waiting.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::bootstrap {
namespace {

/// A process that connected this long ago has had its chance, and may be dropped when others wait.
constexpr Nanoseconds kAskerMoment = 1000 * kMillisecond;
/// A poll ends after this time, to look for connections that are late.
constexpr Nanoseconds kLongestPoll = 200 * kMillisecond;
/// When no descriptor is left, no connection is accepted for this long.
constexpr Nanoseconds kAcceptPause = 50 * kMillisecond;
/// An error names at most this many of the missing processes.
constexpr std::size_t kMostNamed = 16;

std::string question_begin(const std::string& job) { return fmt::format("rollcall 1 {} ask ", job); }
std::string answer_begin(const std::string& job, std::string_view nonce) { return fmt::format("rollcall 1 {} give {} ", job, nonce); }

/// Returns the text of a padded block.
std::string text_of(const char* block, std::size_t size) { return std::string(block, ::strnlen(block, size)); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void Handout::listen(std::string name, std::vector<Descriptor> listeners, Credentials& credentials, std::set<int> askers, bool users) {
    audiences_.push_back({std::move(name), std::move(listeners), &credentials, std::move(askers), users});
}

bool Handout::complete() const {
    return std::all_of(audiences_.begin(), audiences_.end(), [](const Audience& audience) { return audience.askers.empty(); });
}

void Handout::admit(Audience& audience, int listener) {
    const bool full = askers_.size() >= kMostAskers;
    if (full && monotonic_now() - askers_.front().begin < kAskerMoment) return;
    const auto drop_oldest = [&] {
        askers_.pop_front();
        refuse("too many others came before it had asked");
    };
    Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
        if (would_block() || errno == ECONNABORTED) return;
        // The listener stays readable. A descriptor may become free when other connections have been closed.
        accept_failure_ = error_text(errno);
        listens_at_ = monotonic_now() + kAcceptPause;
        if (full) drop_oldest();
        return;
    }
    if (audience.users && !process_of_same_user(socket.get())) return refuse("it belongs to another user");
    // A connection is dropped only for one that stays. So another user of this host cannot end it.
    if (full) drop_oldest();
    askers_.emplace_back(audience, std::move(socket));
}

void Handout::refuse(std::string why) {
    ++dropped_;
    last_drop_ = std::move(why);
}

std::string Handout::answer_to(Asker& asker) {
    std::string why;
    const auto question = asker.audience->credentials->decode(text_of(asker.question.data(), asker.question.size()), why);
    const std::string begin = question_begin(job_);
    const auto no = [&](std::string reason) {
        asker.refusal = std::move(reason);
        return std::string();
    };
    if (!question) return no(fmt::format("its question cannot be read: {}", why));
    if (!question->starts_with(begin)) return no("it asked for another job, or is of another version of Rollcall");
    const char* const end = question->data() + question->size();
    const auto [space, error] = std::from_chars(question->data() + begin.size(), end, asker.number);
    if (error != std::errc() || space == end || *space != ' ') return no("its question has no number");
    const std::string_view nonce(space + 1, static_cast<std::size_t>(end - space - 1));
    std::string answer = asker.audience->credentials->encode(answer_begin(job_, nonce) + text_);
    if (answer.size() > kAnswerBytes) return no("the answer is too long");
    answer.resize(kAnswerBytes, '\0');
    return answer;
}

bool Handout::advance(Asker& asker) {
    if (asker.answer.empty()) {
        const ssize_t count =
            ::recv(asker.socket.get(), asker.question.data() + asker.received, asker.question.size() - asker.received, MSG_DONTWAIT);
        if (count <= 0) return count < 0 && would_block();
        asker.received += static_cast<std::size_t>(count);
        if (asker.received < asker.question.size()) return true;
        asker.answer = answer_to(asker);
        if (asker.answer.empty()) return false;
    }
    if (asker.sent < asker.answer.size()) {
        const ssize_t count =
            ::send(asker.socket.get(), asker.answer.data() + asker.sent, asker.answer.size() - asker.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count <= 0) return count < 0 && would_block();
        asker.sent += static_cast<std::size_t>(count);
        return true;
    }
    char thanks = 0;
    const ssize_t count = ::recv(asker.socket.get(), &thanks, 1, MSG_DONTWAIT);
    if (count < 0 && would_block()) return true;
    if (count == 1) {
        asker.audience->askers.erase(asker.number);
        asker.thanked = true;
    }
    return false;
}

void Handout::give_up() const {
    std::string missing;
    for (const Audience& audience : audiences_) {
        if (audience.askers.empty()) continue;
        const std::vector<int> first(
            audience.askers.begin(),
            std::next(audience.askers.begin(), static_cast<std::ptrdiff_t>(std::min(audience.askers.size(), kMostNamed))));
        missing += fmt::format("{}{} {}{}", missing.empty() ? "" : "; ", audience.name, fmt::join(first, ", "),
                               first.size() < audience.askers.size() ? ", ..." : "");
    }
    std::string why;
    if (dropped_ > 0) {
        why += fmt::format("; {} {} refused (last: {})", dropped_, dropped_ == 1 ? "connection was" : "connections were", last_drop_);
    }
    if (!accept_failure_.empty()) why += fmt::format("; connections could not be accepted: {} (ulimit -n)", accept_failure_);
    throw Error(ErrorCode::timeout,
                fmt::format("not all processes of Slurm's step {} have asked for its invitation in time; missing are: {}{}; start the job "
                            "in another way (srun --mpi=pmi2, `rollcall run`) if they do not find or reach this one",
                            job_, missing, why));
}

void Handout::serve(Nanoseconds deadline) {
    while (!complete()) {
        const Nanoseconds moment = monotonic_now();
        if (moment >= deadline) give_up();
        // When there is no room, new connections wait in the kernel's queue.
        const bool room = moment >= listens_at_ && (askers_.size() < kMostAskers || moment - askers_.front().begin >= kAskerMoment);
        std::vector<pollfd> entries;
        for (const Audience& audience : audiences_)
            for (const Descriptor& listener : audience.listeners) entries.push_back({room ? listener.get() : -1, POLLIN, 0});
        const auto listeners = static_cast<std::ptrdiff_t>(entries.size());
        for (const Asker& asker : askers_) {
            const bool sending = !asker.answer.empty() && asker.sent < asker.answer.size();
            entries.push_back({asker.socket.get(), static_cast<short>(sending ? POLLOUT : POLLIN), 0});
        }
        const Nanoseconds longest = moment < listens_at_ ? kAcceptPause : kLongestPoll;
        ::poll(entries.data(), entries.size(), 1 + static_cast<int>(std::min(deadline - moment, longest) / kMillisecond));

        auto entry = entries.begin() + listeners;
        for (auto asker = askers_.begin(); asker != askers_.end(); ++entry) {
            // What has come counts, even if this process was held up and looks late.
            const bool goes_on = !entry->revents || advance(*asker);
            const bool late = monotonic_now() - asker->begin > kAskerPatience;
            if (goes_on && !late) {
                ++asker;
                continue;
            }
            if (goes_on) asker->refusal = "it took too long";
            if (!asker->thanked) refuse(asker->refusal.empty() ? "it closed the connection" : asker->refusal);
            asker = askers_.erase(asker);
        }
        entry = entries.begin();
        for (Audience& audience : audiences_)
            for (const Descriptor& listener : audience.listeners)
                if ((entry++)->revents) admit(audience, listener.get());
    }
}

std::optional<std::string> ask_for_handout(int socket, const std::string& job, int number, Credentials& credentials, Nanoseconds deadline,
                                           std::string& failure) {
    const Key::Digits digits = Key::random().digits();
    const std::string nonce(digits.data(), digits.size());
    std::string question = credentials.encode(fmt::format("{}{} {}", question_begin(job), number, nonce));
    if (question.size() > kQuestionBytes)
        throw Error(ErrorCode::bootstrap, fmt::format("a credential of {} has {} characters, and {} is the most", credentials.name(),
                                                      question.size(), kQuestionBytes));
    question.resize(kQuestionBytes, '\0');

    std::array<char, kAnswerBytes> answer{};
    std::size_t sent = 0;
    std::size_t received = 0;
    while (received < answer.size()) {
        if (monotonic_now() >= deadline) {
            failure = "no answer came";
            return std::nullopt;
        }
        const bool sending = sent < question.size();
        const ssize_t count = sending ? ::send(socket, question.data() + sent, question.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL)
                                      : ::recv(socket, answer.data() + received, answer.size() - received, MSG_DONTWAIT);
        if (count > 0) {
            (sending ? sent : received) += static_cast<std::size_t>(count);
        } else if (count < 0 && would_block()) {
            wait_on(socket, sending ? POLLOUT : POLLIN, std::chrono::nanoseconds(deadline - monotonic_now()));
        } else {
            failure = "it is not this job's, or refuses this process";
            return std::nullopt;
        }
    }
    std::string why;
    const auto text = credentials.decode(text_of(answer.data(), answer.size()), why);
    const std::string begin = answer_begin(job, nonce);
    if (!text || !text->starts_with(begin)) {
        failure = fmt::format("the answer is not this job's: {}", text ? "it answers something else" : why);
        return std::nullopt;
    }
    const char thanks = 1;
    if (::send(socket, &thanks, 1, MSG_NOSIGNAL) != 1) {
        failure = "the connection broke";
        return std::nullopt;
    }
    return text->substr(begin.size());
}

}  // namespace rollcall::bootstrap
