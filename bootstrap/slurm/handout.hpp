/// \file
/// How a short text gets from one process to others of the same user if no starter passes it on: processes that have it answer processes
/// that ask, until all have it.
///
/// A connection carries one question and one answer. Both are blocks of fixed size, whose text is padded with zeros. The asker names the
/// job, itself and a nonce, and the answer repeats the nonce. Over a network, credentials protect both: only this user can have asked the
/// question, and only this user can read the answer. The asker then sends one byte to say that it has the text.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/slurm/credentials.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

inline constexpr std::size_t kQuestionBytes = 1024;
inline constexpr std::size_t kAnswerBytes = 2048;
/// The number of connections that may be open at once. When a further one comes, the oldest is dropped if it has had a moment.
inline constexpr std::size_t kMostAskers = 64;
/// A connection that has not ended after this time is dropped.
inline constexpr Nanoseconds kAskerPatience = 5000 * kMillisecond;

/// Gives a text to processes that ask for it. Used by one thread.
class Handout {
  public:
    /// `job` names the job in questions and answers. A process of another job gets nothing.
    Handout(std::string job, std::string text) : job_(std::move(job)), text_(std::move(text)) {}

    /// Answers the processes with these numbers on these listening sockets. Messages call them `name` ("nodes"). `users`: the sockets show
    /// which user asks (unix sockets), and other users are dropped. The credentials must outlive this object.
    void listen(std::string name, std::vector<Descriptor> listeners, Credentials& credentials, std::set<int> askers, bool users);
    /// Returns when all askers have the text. Throws Error{timeout}, which names the missing ones, at the moment `deadline`.
    void serve(Nanoseconds deadline);
    /// The number of connections that were dropped, because of what came or did not come over them.
    std::uint64_t dropped() const { return dropped_; }

  private:
    /// Processes that ask in one way.
    struct Audience {
        std::string name;
        std::vector<Descriptor> listeners;
        Credentials* credentials;
        std::set<int> askers;
        bool users;
    };
    struct Asker {
        Asker(Audience& its_audience, Descriptor connection) : audience(&its_audience), socket(std::move(connection)) {}
        Audience* audience;
        Descriptor socket;
        Nanoseconds begin = monotonic_now();
        std::array<char, kQuestionBytes> question{};
        std::size_t received = 0;
        std::string answer;  ///< Empty until the question is complete.
        std::size_t sent = 0;
        int number = -1;
        bool thanked = false;
        std::string refusal;  ///< A clause that says why it gets nothing.
    };
    bool complete() const;
    void admit(Audience& audience, int listener);
    /// Returns false when the connection is over.
    bool advance(Asker& asker);
    std::string answer_to(Asker& asker);
    void refuse(std::string why);
    [[noreturn]] void give_up() const;

    std::string job_;
    std::string text_;
    std::list<Audience> audiences_;
    std::list<Asker> askers_;
    std::uint64_t dropped_ = 0;
    std::string last_drop_;       ///< A clause that says why.
    std::string accept_failure_;  ///< The system's message about the last connection that could not be accepted.
    Nanoseconds listens_at_ = 0;  ///< After such a failure, it does not listen before this moment.
};

/// Asks over this connected socket as `number`. If the other side does not give the text, returns nothing, with the reason in `failure`.
std::optional<std::string> ask_for_handout(int socket, const std::string& job, int number, Credentials& credentials, Nanoseconds deadline,
                                           std::string& failure);

}  // namespace rollcall::bootstrap
