#include <cstring>
#include <span>

#include "tests/process/ranks/random/random_calls.hpp"

namespace rollcall::test {
namespace {

// The two groups of a call between them, as this rank sees them.
struct Between {
    const Intercommunicator groups;
    bool is_first, root_in_first;
    int root;

    bool has_root_here() const { return root_in_first == is_first; }
    bool is_root() const { return has_root_here() && groups.rank() == root; }
    IntergroupRoot where() const { return has_root_here() ? IntergroupRoot(Mine{root}) : IntergroupRoot(Theirs{root}); }
    // What a member of a group has for a member of the other one.
    static Bytes piece(bool of_first, int from, int to, std::uint64_t count, std::uint64_t round) {
        return pattern(count * sizeof(DrawnAffine), key(from * 64 + to + (of_first ? 0 : 4096), round));
    }
    Bytes combined(bool of_first, int members, std::uint64_t count, std::uint64_t round) const {
        Bytes result = piece(of_first, 0, 0, count, round);
        for (int from = 1; from < members; ++from) {
            const Bytes right = piece(of_first, from, 0, count, round);
            for (std::size_t at = 0; at < result.size(); at += sizeof(DrawnAffine)) {
                DrawnAffine x, y;
                std::memcpy(&x, result.data() + at, sizeof x);
                std::memcpy(&y, right.data() + at, sizeof y);
                x = kComposeDrawn(x, y);
                std::memcpy(result.data() + at, &x, sizeof x);
            }
        }
        return result;
    }
    // One block of each member of the other group for this rank, or the other way.
    Bytes all(bool comes_in, bool is_personal, std::uint64_t count, std::uint64_t round) const {
        Bytes blocks;
        for (int peer = 0; peer < groups.remote_size(); ++peer) {
            const int from = comes_in ? peer : groups.rank(), to = comes_in ? groups.rank() : peer;
            const Bytes block = piece(comes_in != is_first, from, is_personal ? to : 0, count, round);
            blocks.insert(blocks.end(), block.begin(), block.end());
        }
        return blocks;
    }
};

}  // namespace

std::unique_ptr<DrawnCall> draw_call_between(const Intercommunicator& between, bool is_first, Form form, Random& same) {
    enum Kind : std::uint8_t { barrier, broadcast, scatter, gather, reduce, allreduce, allgather, alltoall };
    static constexpr const char* kNames[] = {"barrier", "broadcast", "scatter", "gather", "reduce", "allreduce", "allgather", "alltoall"};
    const auto kind = static_cast<Kind>(same() % 8);
    Between model{between, is_first, same() % 2 == 0, 0};
    const std::uint64_t drawn = same(), of_first = draw_size(same) / 64, of_second = kind >= allgather ? draw_size(same) / 64 : of_first;
    model.root = static_cast<int>(drawn % static_cast<std::uint64_t>(model.has_root_here() ? between.size() : between.remote_size()));
    // In elements. In operations with a root both are the same.
    const std::uint64_t sent = is_first ? of_first : of_second, received = is_first ? of_second : of_first;
    const auto others = static_cast<std::uint64_t>(between.remote_size());
    const bool reads = !model.has_root_here(), is_root = model.is_root();

    auto call = std::make_unique<DrawnCall>();
    call->what = fmt::format("{} between two groups of {} and {} elements, form {}, rank {} of {}, root {} of {} group", kNames[kind],
                             of_first, of_second, static_cast<int>(form), between.rank(), between.size(), model.root,
                             model.root_in_first ? "the first" : "the second");
    // The sizes of the two buffers. Operations with a root have the second one only.
    std::uint64_t out = kind == allreduce || kind == allgather ? sent : kind == alltoall ? sent * others : 0;
    std::uint64_t in = kind == allreduce ? sent : kind >= allgather ? received * others : 0;
    if (kind >= broadcast && kind <= reduce) {
        const bool in_blocks = kind == scatter || kind == gather;
        in = is_root ? sent * (in_blocks ? others : 1) : reads ? sent : 0;
    }
    call->buffers[0].place(out * sizeof(DrawnAffine), {});
    call->buffers[1].place(in * sizeof(DrawnAffine), {});
    DrawnCall& made = *call;
    call->fill = [=, &made](std::uint64_t round) {
        Bytes contribution(out * sizeof(DrawnAffine)), before(in * sizeof(DrawnAffine), kUnwritten), after = before;
        const int me = model.groups.rank();
        const auto own = [&] { return model.piece(is_first, me, 0, sent, round); };
        if (kind == broadcast && (is_root || reads)) after = model.piece(model.root_in_first, model.root, 0, sent, round);
        if (kind == scatter && is_root) after = model.all(false, true, sent, round);
        if (kind == scatter && reads) after = model.piece(model.root_in_first, model.root, me, sent, round);
        if ((kind == gather || kind == reduce) && reads) after = own();
        if (kind == gather && is_root) after = model.all(true, false, sent, round);
        if (kind == reduce && is_root) after = model.combined(!is_first, model.groups.remote_size(), sent, round);
        if (((kind == broadcast || kind == scatter) && is_root) || ((kind == gather || kind == reduce) && reads)) before = after;
        if (kind == allreduce || kind == allgather) contribution = own();
        if (kind == allreduce) after = model.combined(!is_first, model.groups.remote_size(), sent, round);
        if (kind == allgather) after = model.all(true, false, received, round);
        if (kind == alltoall) contribution = model.all(false, true, sent, round);
        if (kind == alltoall) after = model.all(true, true, received, round);
        made.buffers[0].fill(contribution, contribution);
        made.buffers[1].fill(before, std::move(after));
    };

    const std::span<DrawnAffine> from(reinterpret_cast<DrawnAffine*>(call->buffers[0].data()), out),
        to(reinterpret_cast<DrawnAffine*>(call->buffers[1].data()), in);
    const auto make = [=](auto&& barriers, auto&& rooted, auto&& reduced, auto&& all) {
        switch (kind) {
            case barrier: return barriers();
            case broadcast:
            case scatter:
            case gather: return rooted(kind);
            case reduce: return reduced();
            default: return all(kind);
        }
    };
    const Intercommunicator& groups = between;
    const IntergroupRoot where = model.where();
    if (form == Form::call)
        call->call = [=] {
            make([&] { groups.barrier(); },
                 [&](Kind what) {
                     if (what == broadcast) return groups.broadcast(to, where);
                     if (what == scatter) return groups.scatter(to, where);
                     groups.gather(to, where);
                 },
                 [&] { groups.reduce(to, kComposeDrawn, where); },
                 [&](Kind what) {
                     if (what == allreduce) return groups.allreduce(from, to, kComposeDrawn);
                     if (what == allgather) return groups.allgather(from, to);
                     groups.alltoall(from, to);
                 });
        };
    if (form == Form::start)
        call->start = [=] {
            return make([&] { return groups.start_barrier(); },
                        [&](Kind what) {
                            if (what == broadcast) return groups.start_broadcast(to, where);
                            return what == scatter ? groups.start_scatter(to, where) : groups.start_gather(to, where);
                        },
                        [&] { return groups.start_reduce(to, kComposeDrawn, where); },
                        [&](Kind what) {
                            if (what == allreduce) return groups.start_allreduce(from, to, kComposeDrawn);
                            return what == allgather ? groups.start_allgather(from, to) : groups.start_alltoall(from, to);
                        });
        };
    if (form == Form::plan)
        call->plan = [=] {
            return make([&] { return groups.plan_barrier(); },
                        [&](Kind what) {
                            if (what == broadcast) return groups.plan_broadcast(to, where);
                            return what == scatter ? groups.plan_scatter(to, where) : groups.plan_gather(to, where);
                        },
                        [&] { return groups.plan_reduce(to, kComposeDrawn, where); },
                        [&](Kind what) {
                            if (what == allreduce) return groups.plan_allreduce(from, to, kComposeDrawn);
                            return what == allgather ? groups.plan_allgather(from, to) : groups.plan_alltoall(from, to);
                        });
        };
    return call;
}

}  // namespace rollcall::test
