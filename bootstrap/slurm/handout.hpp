/// \file
/// How a short text gets from one process to others of the same user when nothing carries it for them: those who have it
/// answer who asks, until all have it.
///
/// One question and one answer to a connection, both blocks of fixed size with a text padded by zeros. The asker names the
/// job, itself and a nonce; the answer repeats the nonce. Credentials protect both over a network: a question that only this
/// user can have asked, an answer that only this user can read. The asker then sends one byte: it has the text.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/slurm/credentials.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

inline constexpr std::size_t kQuestionBytes = 1024;
inline constexpr std::size_t kAnswerBytes = 2048;
/// Connections that are open at once; when a further one comes, the oldest is dropped if it has had a moment.
inline constexpr std::size_t kMostAskers = 64;
/// A connection that has not come to its end after this is dropped.
inline constexpr Nanoseconds kAskerPatience = 5000 * kMillisecond;

/// Gives a text to those who ask. Threads: one.
class Handout {
  public:
    /// `job` names the job in questions and answers; a process of another job gets nothing.
    Handout(std::string job, std::string text) : job_(std::move(job)), text_(std::move(text)) {}

    /// Answers on these listening sockets those who ask by these numbers, who are called `name` in messages ("nodes").
    /// `users`: the sockets show whose process asks (unix sockets), and others are dropped. The credentials outlive this.
    void listen(std::string name, std::vector<Descriptor> listeners, Credentials& credentials, std::set<int> askers, bool users);
    /// Returns when all askers have the text, at the moment `deadline` at the latest. Throws Error{timeout} naming those who have not.
    void serve(Nanoseconds deadline);
    /// Connections that were dropped, because of what came or did not come over them.
    std::uint64_t dropped() const { return dropped_; }

  private:
    struct Door {
        std::string name;
        std::vector<Descriptor> listeners;
        Credentials* credentials;
        std::set<int> askers;
        bool users;
    };
    struct Asker {
        Asker(Door& through, Descriptor connection) : door(&through), socket(std::move(connection)) {}
        Door* door;
        Descriptor socket;
        Nanoseconds begin = monotonic_now();
        std::array<char, kQuestionBytes> question{};
        std::size_t received = 0;
        std::string answer;  ///< Empty until the question is complete.
        std::size_t sent = 0;
        int number = -1;
        bool thanked = false;
        std::string refusal;  ///< Why it gets nothing, a clause.
    };
    bool complete() const;
    void admit(Door& door, int listener);
    /// False: the connection is over.
    bool advance(Asker& asker);
    std::string answer_to(Asker& asker);
    void refuse(std::string why);
    [[noreturn]] void give_up() const;

    std::string job_;
    std::string text_;
    std::list<Door> doors_;
    std::list<Asker> askers_;
    std::uint64_t dropped_ = 0;
    std::string last_drop_;       ///< Why, a clause.
    std::string accept_failure_;  ///< What the system says about the last connection that could not be accepted.
    Nanoseconds listens_at_ = 0;  ///< After such a failure, not before this moment.
};

/// Asks over this connected socket as `number`. Nothing, and why in `failure`, when the other side has not what is asked for.
std::optional<std::string> ask_for_handout(int socket, const std::string& job, int number, Credentials& credentials, Nanoseconds deadline,
                                           std::string& failure);

}  // namespace rollcall::bootstrap
