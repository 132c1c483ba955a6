// Makes communicators from communicators.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <rollcall/communicator.hpp>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"
#include "foundation/hash.hpp"
#include "foundation/log.hpp"

namespace rollcall {
namespace {

using runtime::OperationKind;

/// A communicator that is being made. What its other ranks send before it exists here is kept for it. If it is never made here, those that
/// have made it are told so when they wait for this rank.
class Expected {
  public:
    explicit Expected(runtime::Lane& lane) : lane_(lane) {
        lane_.as_owner([&](runtime::Engine& engine) { number_ = engine.expect_communicator(); });
    }
    ~Expected() {
        lane_.as_owner([&](runtime::Engine& engine) { engine.stop_expecting(number_, id_); });
    }
    Expected(const Expected&) = delete;
    Expected& operator=(const Expected&) = delete;
    /// This rank's proposal for the communicator's id.
    std::uint64_t number() const { return number_; }
    /// The ranks have agreed on the id. From now on other ranks may make it although this rank cannot.
    void has_id(std::uint64_t id) { id_ = id; }

  private:
    runtime::Lane& lane_;
    std::uint64_t number_ = 0;
    std::optional<std::uint64_t> id_;
};

/// The name of a communicator that is made from the one called `name`. Long names keep their beginning and their end.
std::string name_below(const std::string& name, const std::string& part) {
    constexpr std::size_t kBegin = 40, kEnd = 40;
    constexpr std::string_view kBetween = "/.../";
    if (name.size() <= kBegin + kBetween.size() + kEnd) return fmt::format("{}/{}", name, part);
    const std::string_view all = name;
    const std::size_t begin = all.rfind('/', kBegin), end = all.find('/', all.size() - kEnd);
    return fmt::format("{}{}{}/{}", all.substr(0, begin == all.npos ? kBegin : begin), kBetween,
                       all.substr(end == all.npos ? all.size() - kEnd : end + 1), part);
}

}  // namespace

// Without this, the others would wait for an exchange that never comes, or take that of this rank's next call for it.
class Communicator::Implementation::Unfinished {
  public:
    Unfinished(const Implementation& here, OperationKind kind) : here_(here), kind_(kind) {}
    ~Unfinished() {
        if (std::uncaught_exceptions() <= exceptions_) return;
        try {
            const runtime::Group& group = *here_.state.group;
            const int own = group.world_rank(here_.state.rank);
            const Error error(
                ErrorCode::state,
                fmt::format("{}() on {}: {} could not finish it, probably because it has no memory; its own output may say why",
                            rollcall::name(kind_), group.name, here_.process->name_of(own)),
                own);
            here_.process->lane().as_owner([&](runtime::Engine& engine) {
                engine.break_communicator(here_.state, here_.state.next_sequence.load(std::memory_order_relaxed), error, true);
            });
        } catch (const std::exception&) {
            log_message(
                LogLevel::critical,
                "this process has no memory to tell other ranks that it could not make a communicator; raise its limit (ulimit -v), "
                "or start fewer ranks on this host");
            std::abort();
        }
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

  private:
    const Implementation& here_;
    const OperationKind kind_;
    const int exceptions_ = std::uncaught_exceptions();
};

std::ptrdiff_t Communicator::Implementation::local_ranks(int before) const {
    const runtime::Group& group = *state.group;
    const auto host_of = [&](int rank) { return process->hosts()[static_cast<std::size_t>(group.world_rank(rank))]; };
    const int here = host_of(state.rank);
    std::ptrdiff_t count = 0;
    for (int rank = 0; rank < before; ++rank) count += host_of(rank) == here;
    return count;
}

std::shared_ptr<Communicator::Implementation> Communicator::Implementation::divide(int color, int key, OperationKind kind,
                                                                                   int first_group) const {
    check_alive();
    struct Choice {
        std::int32_t color, key;
        std::uint64_t number;
    };
    const std::uint64_t sequence = state.next_sequence.load(std::memory_order_relaxed);
    Expected expected(process->lane());
    const auto choices = exchange(Choice{color, key, expected.number()}, kind);
    const Unfinished unfinished(*this, kind);

    std::vector<int> members;  // ranks of this communicator
    std::uint64_t id = 0;      // see Engine::expect_communicator()
    for (int rank = 0; rank < state.group->size; ++rank) {
        const Choice& choice = choices[static_cast<std::size_t>(rank)];
        if (choice.color != color) continue;
        members.push_back(rank);
        id = std::max(id, choice.number);
    }
    if (color != kNoColor) expected.has_id(id);
    std::stable_sort(members.begin(), members.end(), [&](int left, int right) {
        return choices[static_cast<std::size_t>(left)].key < choices[static_cast<std::size_t>(right)].key;
    });

    runtime::Slots slots;
    if (color != kNoColor) slots = process->take_slots(members.size());
    const auto first_slots = exchange(slots.first(), kind);
    if (color == kNoColor) return {};

    runtime::Group group;
    group.id = id;
    group.name = name_below(state.group->name, fmt::format("{}.{}", sequence, color));
    group.first_group = first_group;
    for (const int member : members) group.first_slot.push_back(first_slots[static_cast<std::size_t>(member)]);
    return make(std::move(group), members, std::move(slots));
}

std::shared_ptr<Communicator::Implementation> Communicator::Implementation::make(runtime::Group begun, std::span<const int> members,
                                                                                 runtime::Slots slots) const {
    auto group = std::make_shared<runtime::Group>(std::move(begun));
    group->size = static_cast<int>(members.size());
    group->has_slots = std::ranges::find(group->first_slot, runtime::kNoSlots) == group->first_slot.end();
    for (const int member : members) group->world.push_back(state.group->world_rank(member));
    process->complete(*group);
    const int rank = group->rank_of(state.group->world_rank(state.rank));
    return std::make_shared<Implementation>(process, std::move(group), rank, std::move(slots), algorithms, clock);
}

Communicator Communicator::split(int color, int key) const {
    if (color < 0 && color != kNoColor)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("split on {}: the color {} is negative: use 0 or more, or kNoColor to have no part", name(), color));
    return Communicator(checked().divide(color, key, OperationKind::split));
}

Communicator Communicator::split_by_host() const {
    const Implementation& here = checked();
    return Communicator(here.divide(here.process->hosts()[static_cast<std::size_t>(world_rank(rank()))], rank(), OperationKind::split));
}

std::vector<int> Communicator::Implementation::agreed_places(std::span<const int> ranks, std::uint64_t hash, const char* caller) const {
    check_alive();
    std::vector<int> places(static_cast<std::size_t>(state.group->size), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        check_rank(ranks[i], caller, "rank");
        int& its = places[static_cast<std::size_t>(ranks[i])];
        if (its >= 0)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} on {}: rank {} is in the list twice", caller, state.group->name, ranks[i]));
        its = static_cast<int>(i);
    }
    // All ranks compare the same hashes, so all come to the same result.
    const auto lists = exchange(hash, OperationKind::create);
    for (std::size_t rank = 1; rank < lists.size(); ++rank)
        if (lists[rank] != lists[0])
            throw Error(ErrorCode::mismatch,
                        fmt::format("{} on {}: rank {} gives another list of ranks than rank 0: all ranks must give the same list, also "
                                    "the ranks that are not in it",
                                    caller, state.group->name, rank));
    return places;
}

std::shared_ptr<Communicator::Implementation> Communicator::Implementation::create(std::span<const int> ranks, std::uint64_t hash,
                                                                                   const char* caller, int first_group) const {
    const int own = agreed_places(ranks, hash, caller)[static_cast<std::size_t>(state.rank)];
    const Unfinished unfinished(*this, OperationKind::create);
    return divide(own < 0 ? kNoColor : 0, own, OperationKind::create, first_group);
}

Communicator Communicator::create(std::span<const int> ranks) const {
    return Communicator(checked().create(ranks, hash_of(std::as_bytes(ranks)), "create"));
}

Communicator Communicator::duplicate() const { return Communicator(checked().divide(0, rank(), OperationKind::duplicate)); }

std::shared_ptr<Communicator::Implementation> Communicator::Implementation::shrink(const std::optional<Timeout>& timeout) const {
    check_alive();
    const Timeout limit = deadline(timeout);
    const std::uint64_t number = state.agreements + 1;
    Expected expected(process->lane());
    // Nobody knows yet how many are left.
    runtime::Slots slots = process->take_slots(static_cast<std::uint64_t>(state.group->size));
    runtime::AgreementCall call(state.group, state.rank, number, {expected.number(), slots.first()});
    const std::string what = fmt::format("shrink on {}", state.group->name);
    state.agreements = number;  // Until here, this rank may run out of memory and try again.
    if (!process->lane().run(call, limit)) process->lane().abandon(call, [&] { return unfinished_error(*process, what, limit); });
    if (call.error()) throw_named(*call.error(), what);

    const runtime::Survivors& left = *call.decision;
    expected.has_id(left.id);
    runtime::Group group;
    group.id = left.id;
    group.name = name_below(state.group->name, fmt::format("shrunk.{}", number));
    group.first_slot = left.first_slots;
    return make(std::move(group), left.ranks, std::move(slots));
}

Communicator Communicator::shrink(std::optional<Timeout> timeout) const { return Communicator(checked().shrink(timeout)); }

}  // namespace rollcall
