/// \file
/// Checks over the data network whether other hosts still answer.
///
/// The data link of a host can be down while the bootstrap still hears from every process. TCP notices that only after a quarter
/// of an hour, and never on a connection where nothing is sent. So a rank that waits for peers on another host asks that host from time to
/// time: it begins a connection to a TCP port at the address of the peer's data interface. The peer keeps that port bound but does not
/// listen on it. So the peer's *kernel* refuses the connection at once, without the process. A rank that is stopped, computes, or is late
/// is therefore as alive as any other. (If the process listened, the connections that a stopped process does not accept would fill its
/// queue, and its kernel would stop answering.)
///
/// Silence counts only for a host that has answered before, because a firewall may drop such connections and let the data pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/socket.h>

#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/interfaces.hpp"

namespace rollcall::runtime {

/// What an engine asks about the hosts of the peers that it waits for. Owner-only.
class SignsOfLife {
  public:
    /// These ranks are out of reach. `what` completes the sentence "rank 3 on host a ...".
    struct Silence {
        std::vector<int> ranks;
        std::string what;
    };
    struct Look {
        Nanoseconds next = kNever;  ///< When to look again, if the same ranks are still waited for; kNever: none of their hosts is asked.
        std::vector<Silence> silent;
    };
    /// `awaited`: the ranks that are waited for now, in any order; a rank may occur several times. Never blocks.
    virtual Look look(Nanoseconds now, std::span<const int> awaited) = 0;

  protected:
    ~SignsOfLife() = default;
};

/// Asks by beginning connections over the data interface. While no rank is waited for, it holds no descriptor except that of its own port.
class Lifelines final : public SignsOfLife {
  public:
    /// A host that is waited for and does not answer for `silence` is out of reach. `interfaces` are those that carry the data.
    Lifelines(Nanoseconds silence, std::span<const Interface> interfaces);

    /// Where this process's kernel answers; other ranks give it to add(). Empty: no interface has an address that other hosts can use.
    std::span<const std::byte> address() const noexcept { return address_; }
    /// Adds a rank on another host, with its address(). A rank whose address is empty or malformed is never asked.
    void add(int rank, std::span<const std::byte> address);

    Look look(Nanoseconds now, std::span<const int> awaited) override;

  private:
    struct Host {
        sockaddr_storage where{};
        socklen_t length = 0;
        std::string text;  ///< "10.0.0.3"
        std::vector<int> ranks;
        bool awaited = false;       ///< A rank of it is waited for in this look.
        bool followed = false;      ///< It is in followed_.
        bool has_answered = false;  ///< It has answered at least once.
        bool told = false;          ///< It has been reported as silent.
        Descriptor question;        ///< The connection that is being made.
        Nanoseconds asked_at = 0;
        Nanoseconds next_question = 0;
        Nanoseconds interval = 0;           ///< From an answer to the next question. It grows.
        Nanoseconds silent_since = kNever;  ///< Time of the first question in the present row of unanswered ones.
        int unanswered = 0;                 ///< The length of that row.
    };

    void ask(Host& host, Nanoseconds now);
    void hear(Host& host, Nanoseconds now);
    void judge(Host& host, int error, Nanoseconds now);
    void ask_those_due(Nanoseconds now);
    bool is_silent(const Host& host, Nanoseconds now) const noexcept;
    Nanoseconds next_look(Nanoseconds now) const noexcept;

    Nanoseconds silence_;
    Nanoseconds patience_;  ///< A question that is not answered for this long is asked again.
    Descriptor port_;
    std::vector<std::byte> address_;
    std::vector<Host> hosts_;
    std::unordered_map<std::string, std::size_t> by_address_;
    std::vector<int> host_of_;  ///< By rank; -1: the rank is not asked.
    std::vector<std::size_t> followed_;
    Nanoseconds next_round_ = 0;  ///< No new question is asked before this time.
};

}  // namespace rollcall::runtime
