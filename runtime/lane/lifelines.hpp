/// \file
/// Signs of life of other hosts, over the network that carries the data.
///
/// A link can be down for data alone, while whoever started the job still hears of everybody. TCP notices that after a quarter of an
/// hour, and where nothing is sent never. So a rank that waits for peers on another host asks that host from time to time: it begins
/// a connection to a TCP port at the address of the peer's data interface. The peer keeps that port bound and does not listen there,
/// so its *kernel* refuses, at once and without the process. A rank that is stopped, computes, or is late is as alive as any other.
/// (Where a process listened, the connections that a stopped one does not accept would fill its queue, and its kernel would fall
/// silent.)
///
/// Silence counts only of a host that has answered before: a firewall may swallow such questions and let the data pass.
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

/// What an engine asks about the hosts of peers that it waits for. Owner-only.
class SignsOfLife {
  public:
    /// These ranks are out of reach; `what` completes "rank 3 on host a ...".
    struct Silence {
        std::vector<int> ranks;
        std::string what;
    };
    struct Look {
        Nanoseconds next = kNever;  ///< When it wants to look again, if the same are waited for; kNever: none of them is asked.
        std::vector<Silence> silent;
    };
    /// `awaited`: the ranks that are waited for now, in any order and as often as it comes. Never blocks.
    virtual Look look(Nanoseconds now, std::span<const int> awaited) = 0;

  protected:
    ~SignsOfLife() = default;
};

/// By connections over the data interface. No descriptor but that of the own port is held while nobody is waited for.
class Lifelines final : public SignsOfLife {
  public:
    /// A host that is waited for and does not answer for `silence` is out of reach. `interfaces` carry the data.
    Lifelines(Nanoseconds silence, std::span<const Interface> interfaces);

    /// Where this process's kernel answers, for add() of others. Empty: no interface has an address that others can use.
    std::span<const std::byte> address() const noexcept { return address_; }
    /// A rank on another host, and its address(). One that is empty or makes no sense is never asked.
    void add(int rank, std::span<const std::byte> address);

    Look look(Nanoseconds now, std::span<const int> awaited) override;

  private:
    struct Host {
        sockaddr_storage where{};
        socklen_t length = 0;
        std::string text;  ///< "10.0.0.3"
        std::vector<int> ranks;
        bool awaited = false;       ///< In this look.
        bool followed = false;      ///< In followed_.
        bool has_answered = false;  ///< At any time.
        bool told = false;          ///< That it is silent.
        Descriptor question;        ///< A connection that is being made.
        Nanoseconds asked_at = 0;
        Nanoseconds next_question = 0;
        Nanoseconds interval = 0;           ///< From an answer to the next question; grows.
        Nanoseconds silent_since = kNever;  ///< The first question in a row that was not answered.
        int unanswered = 0;                 ///< How many there are.
    };

    void ask(Host& host, Nanoseconds now);
    void hear(Host& host, Nanoseconds now);
    void judge(Host& host, int error, Nanoseconds now);
    void ask_those_due(Nanoseconds now);
    bool is_silent(const Host& host, Nanoseconds now) const noexcept;
    Nanoseconds next_look(Nanoseconds now) const noexcept;

    Nanoseconds silence_;
    Nanoseconds patience_;  ///< A question that is not answered for so long is asked again.
    Descriptor port_;
    std::vector<std::byte> address_;
    std::vector<Host> hosts_;
    std::unordered_map<std::string, std::size_t> by_address_;
    std::vector<int> host_of_;  ///< By rank; -1: it is not asked.
    std::vector<std::size_t> followed_;
    Nanoseconds next_round_ = 0;  ///< No new question before.
};

}  // namespace rollcall::runtime
