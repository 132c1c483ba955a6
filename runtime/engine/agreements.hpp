/// \file
/// The agreements (runtime/group/agreement.hpp) in which this rank takes part.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "runtime/group/agreement.hpp"
#include "runtime/messages/message.hpp"
#include "runtime/messages/waitable.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {

/// The agreements of all ranks that have not died at the end of a job: that all have come, and that all know that. Others have the numbers
/// 1, 2, ... in each communicator.
inline constexpr std::uint64_t kAllAtTheEnd = 0, kAllMayLeave = ~std::uint64_t{0};
inline bool is_at_the_end(std::uint64_t agreement) noexcept { return agreement == kAllAtTheEnd || agreement == kAllMayLeave; }

/// A caller that waits until the ranks of a communicator that are left have agreed. Done when they have. The caller holds it and waits for
/// it. Owner-only, except Waitable::done(), and the decision once it is done.
class AgreementCall final : public Waitable {
  public:
    /// `rank`: this rank in the group. `number`: that of the agreement in this communicator.
    AgreementCall(std::shared_ptr<const Group> its_group, int its_rank, std::uint64_t its_number, Agreement::Part its_part)
        : group(std::move(its_group)), rank(its_rank), number(its_number), part(its_part) {}

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;

    const std::shared_ptr<const Group> group;
    const int rank;
    const std::uint64_t number;
    const Agreement::Part part;
    std::shared_ptr<const Survivors> decision;  ///< Valid when done without an error.

  private:
    friend class Agreements;
};

/// Knows which agreements there are, and sends and receives their messages. It keeps them all, because a rank that has decided may be asked
/// later, also after it has destroyed the communicator.
///
/// A failure must bring all ranks of the communicator to the call, whatever they wait for. So a rank that is asked before its caller has
/// come, by one that has lost a member, fails the receives of this communicator until it comes. And a rank that has come drops messages of
/// the communicator that nobody here receives, so that their senders can come.
///
/// Owner-only.
class Agreements {
  public:
    explicit Agreements(Engine& engine) noexcept : engine_(engine) {}

    void enter(AgreementCall& call);
    void abandon(AgreementCall& call, const Error& error);
    void hear(const CollectiveHeader& header, transport::ConstBytes payload);
    void lose(int peer);                      ///< This rank of the world is gone.
    void forget(std::uint64_t communicator);  ///< Its caller will not come any more.
    void end(const Error& error);             ///< The whole job has ended.
    /// Asks again. Returns when to call it again; kNever: no caller waits.
    Nanoseconds tick(Nanoseconds now);
    /// Adds the ranks of the world for which callers wait.
    void add_awaited(std::vector<int>& peers) const;

    /// Whether messages of this communicator that nobody receives are dropped.
    bool drops(std::uint64_t communicator) const;
    /// Why no receive of this communicator can begin. Null: it can.
    const Error* refusal(std::uint64_t communicator) const;

  private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;  ///< The communicator, and the number of the agreement.
    struct Entry {
        Key key;
        std::shared_ptr<const Group> group;
        Agreement state;
        AgreementCall* caller = nullptr;
        bool has_lost = false;           ///< A member is lost, as far as this rank or one that has asked it knows.
        bool is_abandoned = false;       ///< The caller has left without a decision.
        Nanoseconds due = kNever;        ///< When to ask again.
        Nanoseconds pause = 0;           ///< How long it was since the last time.
        std::unique_ptr<Error> refusal;  ///< Set from the time when this rank was asked to come until it comes.
    };
    Entry& entry(const Key& key, const std::shared_ptr<const Group>& group, int rank);
    void send(const Key& key, const Entry& entry, const Agreement::Messages& messages);
    /// Sends the messages, and ends the caller's wait if it is over.
    void go_on(const Key& key, Entry& entry, const Agreement::Messages& messages);
    void note_loss(const Key& key, Entry& entry);
    void call_for(const Key& key, Entry& entry, int member);
    void end_if_over(Entry& entry);
    void finish(Entry& entry, const Error* error);
    /// Keeps `open_`, after the caller or the refusal of an entry has changed.
    void note_change(Entry& entry);

    Engine& engine_;
    std::map<Key, Entry> all_;
    std::vector<Entry*> open_;  ///< Those with a caller or a refusal. There are few, however many agreements there were.
};

}  // namespace rollcall::runtime
