/// \file
/// Scenarios of two groups that exchange data.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/process/ranks/groups.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

using Random = std::mt19937_64;

struct Matrix {
    std::uint64_t a, b, c, d;
    bool operator==(const Matrix&) const = default;
};
constexpr auto kMultiply = [](const Matrix& x, const Matrix& y) noexcept {
    return Matrix{x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
};
Matrix matrix_of(bool of_first, int member) { return {static_cast<std::uint64_t>(member) + 1, 3, of_first ? 1u : 2u, 1}; }

struct Triple {
    long a, b, c;
    bool operator==(const Triple&) const = default;
};
constexpr auto kAddTriples = [](const Triple& x, const Triple& y) noexcept { return Triple{x.a + y.a, x.b + y.b, x.c + y.c}; };

/// One rank's view of both groups, and the operations of one round.
struct Round {
    const Intercommunicator& between;
    bool is_first;
    int own, other;  ///< Sizes.
    int member;

    void allgather(std::size_t in_first, std::size_t in_second, const std::string& algorithm, CallForm form) const {
        const std::size_t sent = is_first ? in_first : in_second, received = is_first ? in_second : in_first;
        const std::vector<long> block = items_of_group(is_first, member, 0, sent);
        std::vector<long> all(received * static_cast<std::size_t>(other), -1), expected;
        for (int i = 0; i < other; ++i) append(expected, items_of_group(!is_first, i, 0, received));
        const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
        run_as(
            form, [&] { between.allgather(block, all, options); }, [&] { return between.start_allgather(block, all, options); },
            [&] { return between.plan_allgather(block, all, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}}); },
            [&] { std::fill(all.begin(), all.end(), -1); });
        check(all == expected, "allgather by {} of blocks of {} and {} elements", algorithm, in_first, in_second);
    }

    void allgather_own_sizes(Random& same, const std::string& algorithm, CallForm form) const {
        std::vector<int> of_first(static_cast<std::size_t>(is_first ? own : other)),
            of_second(static_cast<std::size_t>(is_first ? other : own));
        const std::uint64_t most = same() % 2 ? 5 : 5000;
        for (std::vector<int>* const sizes : {&of_first, &of_second})
            for (int& size : *sizes) size = same() % 3 == 0 ? 0 : static_cast<int>(same() % most);
        const std::vector<int>&mine = is_first ? of_first : of_second, &theirs = is_first ? of_second : of_first;
        // Backwards, with gaps, or one behind the other.
        const bool is_scattered = same() % 2 == 0;
        std::vector<int> offsets(theirs.size());
        int end = 0;
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            const std::size_t at = is_scattered ? theirs.size() - 1 - i : i;
            offsets[at] = end += is_scattered ? 2 : 0;
            end += theirs[at];
        }
        const std::vector<long> block =
            items_of_group(is_first, member, 0, static_cast<std::size_t>(mine[static_cast<std::size_t>(member)]));
        std::vector<long> all(static_cast<std::size_t>(end), -1), expected = all;
        for (int i = 0; i < other; ++i)
            for (int k = 0; k < theirs[static_cast<std::size_t>(i)]; ++k)
                expected[static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)] + k)] =
                    item_of_group(!is_first, i, 0, static_cast<std::size_t>(k));
        const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
        const auto blocks = [&] { return is_scattered ? Blocks(theirs, offsets) : Blocks(theirs); };
        run_as(
            form, [&] { between.allgather(block, all, blocks(), options); },
            [&] {
                Request request = between.start_allgather(block, all, blocks(), options);
                std::fill(offsets.begin(), offsets.end(), -7);  // The call has read them.
                return request;
            },
            [&] {
                Plan plan = between.plan_allgather(block, all, blocks(), {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
                std::fill(offsets.begin(), offsets.end(), -7);
                return plan;
            },
            [&] { std::fill(all.begin(), all.end(), -1); });
        check(all == expected, "allgather by {} of blocks of different sizes", algorithm);
    }

    void with_root(bool root_in_first, int root, std::size_t count, CallForm form) const {
        const bool is_mine = root_in_first == is_first, is_root = is_mine && member == root;
        const IntergroupRoot where = is_mine ? IntergroupRoot(Mine{root}) : IntergroupRoot(Theirs{root});
        const auto others = static_cast<std::size_t>(is_root ? other : 0);
        const auto run = [&](auto call, auto start, auto plan, const std::function<void()>& forget) {
            run_as(form, call, start, plan, forget);
        };

        std::vector<long> data = is_root ? items_of_group(is_first, root, 0, count) : std::vector<long>(is_mine ? 0 : count);
        run([&] { between.broadcast(data, where); }, [&] { return between.start_broadcast(data, where); },
            [&] { return between.plan_broadcast(data, where); }, clears(!is_mine, data, -1L));
        if (is_root || !is_mine) check(data == items_of_group(root_in_first, root, 0, count), "a broadcast of {} elements", count);

        data.clear();
        for (std::size_t i = 0; i < others; ++i) append(data, items_of_group(is_first, root, static_cast<int>(i), count));
        if (!is_mine) data.assign(count, -1);
        run([&] { between.scatter(data, where); }, [&] { return between.start_scatter(data, where); },
            [&] { return between.plan_scatter(data, where); }, clears(!is_mine, data, -1L));
        if (!is_mine) check(data == items_of_group(root_in_first, root, member, count), "a scatter of {} elements", count);

        data.assign(count * others, -1);
        if (!is_mine) data = items_of_group(is_first, member, 0, count);
        run([&] { between.gather(data, where); }, [&] { return between.start_gather(data, where); },
            [&] { return between.plan_gather(data, where); }, clears(is_root, data, -1L));
        std::vector<long> expected;
        for (std::size_t i = 0; i < others; ++i) append(expected, items_of_group(!is_first, static_cast<int>(i), 0, count));
        if (is_root) check(data == expected, "a gather of {} elements", count);

        std::vector<Matrix> matrices(is_mine && !is_root ? 0 : count, is_mine ? Matrix{} : matrix_of(is_first, member));
        run([&] { between.reduce(matrices, kMultiply, where); }, [&] { return between.start_reduce(matrices, kMultiply, where); },
            [&] { return between.plan_reduce(matrices, kMultiply, where); }, clears(is_root, matrices, Matrix{}));
        if (is_root) check(matrices == std::vector(count, product(!is_first, other)), "a reduce");

        data = is_mine && !is_root ? std::vector<long>() : items_of_group(is_first, member, 0, count);
        run([&] { between.reduce(data, sum, where); }, [&] { return between.start_reduce(data, sum, where); },
            [&] { return between.plan_reduce(data, sum, where); }, clears(is_root, data, -1L));
        if (is_root) check(data == sums(!is_first, other, count), "a sum of {} elements", count);
    }

    /// Scatter, gather and alltoall with blocks of different sizes.
    void own_sizes(Random& same, bool root_in_first, int root, CallForm form) const {
        const bool is_mine = root_in_first == is_first, is_root = is_mine && member == root;
        const IntergroupRoot where = is_mine ? IntergroupRoot(Mine{root}) : IntergroupRoot(Theirs{root});
        // The sizes of the blocks from each rank of the first group to each of the second one, and the other way.
        const auto firsts = static_cast<std::size_t>(is_first ? own : other), seconds = static_cast<std::size_t>(is_first ? other : own);
        const std::uint64_t most = same() % 2 ? 5 : 5000;
        std::vector<std::vector<int>> there(firsts, std::vector<int>(seconds)), back = there;
        for (auto* const way : {&there, &back})
            for (auto& row : *way)
                for (int& size : row) size = same() % 3 == 0 ? 0 : static_cast<int>(same() % most);
        const auto size_of = [&](bool of_first, int from, int to) {
            const auto a = static_cast<std::size_t>(of_first ? from : to), b = static_cast<std::size_t>(of_first ? to : from);
            return (of_first ? there : back)[a][b];
        };
        const bool has_gaps = same() % 2 == 0;
        std::vector<int> sent, received, sent_at, received_at;
        std::vector<long> out, in, expected;
        for (int i = 0; i < other; ++i) {
            for (std::vector<long>* const data : {&out, &expected}) data->resize(data->size() + (has_gaps ? 2 : 0), -1);
            sent.push_back(size_of(is_first, member, i));
            sent_at.push_back(static_cast<int>(out.size()));
            append(out, items_of_group(is_first, member, i, static_cast<std::size_t>(sent.back())));
            received.push_back(size_of(!is_first, i, member));
            received_at.push_back(static_cast<int>(expected.size()));
            append(expected, items_of_group(!is_first, i, member, static_cast<std::size_t>(received.back())));
        }
        in.assign(expected.size(), -1);
        const auto to_send = [&] { return has_gaps ? Blocks(sent, sent_at) : Blocks(sent); };
        const auto to_receive = [&] { return has_gaps ? Blocks(received, received_at) : Blocks(received); };
        const auto forget = [&] { std::fill(in.begin(), in.end(), -1); };
        run_as(
            form, [&] { between.alltoall(out, to_send(), in, to_receive()); },
            [&] { return between.start_alltoall(out, to_send(), in, to_receive()); },
            [&] { return between.plan_alltoall(out, to_send(), in, to_receive()); }, forget);
        check(in == expected, "an alltoall of blocks of different sizes");

        // As the alltoall, but only the root sends or receives.
        const auto at_root = [&](const auto& blocks) { return is_root ? blocks() : Blocks(); };
        std::vector<long> block;
        if (!is_mine) block.assign(static_cast<std::size_t>(received[static_cast<std::size_t>(root)]), -1);
        std::vector<long>& scattered = is_root ? out : block;
        run_as(
            form, [&] { between.scatter(scattered, at_root(to_send), where); },
            [&] { return between.start_scatter(scattered, at_root(to_send), where); },
            [&] { return between.plan_scatter(scattered, at_root(to_send), where); }, clears(!is_mine, block, -1L));
        if (!is_mine) check(block == items_of_group(root_in_first, root, member, block.size()), "a scatter of blocks of different sizes");
        forget();
        block.clear();
        if (!is_mine) block = items_of_group(is_first, member, root, static_cast<std::size_t>(sent[static_cast<std::size_t>(root)]));
        std::vector<long>& gathered = is_root ? in : block;
        run_as(
            form, [&] { between.gather(gathered, at_root(to_receive), where); },
            [&] { return between.start_gather(gathered, at_root(to_receive), where); },
            [&] { return between.plan_gather(gathered, at_root(to_receive), where); }, clears(is_root, in, -1L));
        if (is_root) check(in == expected, "a gather of blocks of different sizes");
    }

    void with_all(std::size_t count, CallForm form) const {
        const std::vector<Matrix> own_matrices(count, matrix_of(is_first, member));
        std::vector<Matrix> made(count);
        run_as(
            form, [&] { between.allreduce(own_matrices, made, kMultiply); },
            [&] { return between.start_allreduce(own_matrices, made, kMultiply); },
            [&] { return between.plan_allreduce(own_matrices, made, kMultiply); }, [&] { std::fill(made.begin(), made.end(), Matrix{}); });
        check(made == std::vector(count, product(!is_first, other)), "an allreduce of {} elements", count);
        const std::vector<long> own_elements = items_of_group(is_first, member, 0, count);
        std::vector<long> all_sums(count, -1);
        run_as(
            form, [&] { between.allreduce(own_elements, all_sums, sum); },
            [&] { return between.start_allreduce(own_elements, all_sums, sum); },
            [&] { return between.plan_allreduce(own_elements, all_sums, sum); }, [&] { std::fill(all_sums.begin(), all_sums.end(), -1); });
        check(all_sums == sums(!is_first, other, count), "an allreduce that sums {} elements", count);
        // A piece of node memory does not hold a whole number of these elements.
        const std::vector<Triple> own_triples(count, Triple{1, member, is_first ? 3 : 4});
        std::vector<Triple> sums(count);
        between.allreduce(own_triples, sums, kAddTriples);
        const Triple expected_sum{other, other * (other - 1) / 2, other * (is_first ? 4 : 3)};
        check(sums == std::vector(count, expected_sum), "an allreduce of {} triples", count);
        // Ranks that have no part do not know the size. (Without node memory all ranks refuse.)
        std::vector<Triple> few(is_first && member > 0 ? 0 : 10, Triple{1, member, is_first ? 3 : 4});
        try {
            between.reduce(few, kAddTriples, is_first ? IntergroupRoot(Mine{0}) : Theirs{0}, {.algorithm = "shared_memory"});
            if (is_first && member == 0) check(few == std::vector(10, expected_sum), "a reduce of triples");
        } catch (const Error& error) {
            check(error.code() == ErrorCode::invalid_argument, "a reduce of triples: {}", error.what());
        }

        std::vector<long> out, in(count * static_cast<std::size_t>(other), -1), expected;
        for (int i = 0; i < other; ++i) {
            append(out, items_of_group(is_first, member, i, count));
            append(expected, items_of_group(!is_first, i, member, count));
        }
        run_as(
            form, [&] { between.alltoall(out, in); }, [&] { return between.start_alltoall(out, in); },
            [&] { return between.plan_alltoall(out, in); }, [&] { std::fill(in.begin(), in.end(), -1); });
        check(in == expected, "an alltoall of blocks of {} elements", count);
    }

    void messages(std::uint64_t bytes) const {
        std::vector<Request> requests;
        std::vector<std::vector<std::byte>> in(static_cast<std::size_t>(other)), out(in.size());
        for (int i = 0; i < other; ++i) {
            const auto at = static_cast<std::size_t>(i);
            in[at].resize(bytes);
            out[at] = pattern(bytes, static_cast<std::uint64_t>((is_first ? 1000 : 2000) + member * 30 + i));
            requests.push_back(between.start_receive(in[at], i, 5));
            requests.push_back(between.start_send(out[at], i, 5));
        }
        Request::wait_all(requests);
        for (int i = 0; i < other; ++i)
            check_pattern(in[static_cast<std::size_t>(i)].data(), bytes,
                          static_cast<std::uint64_t>((is_first ? 2000 : 1000) + i * 30 + member), "a message between the groups");
    }

    static std::vector<long> sums(bool of_first, int members, std::size_t count) {
        std::vector<long> made(count);
        for (int i = 0; i < members; ++i)
            for (std::size_t at = 0; at < count; ++at) made[at] += item_of_group(of_first, i, 0, at);
        return made;
    }
    static Matrix product(bool of_first, int members) {
        Matrix made = matrix_of(of_first, 0);
        for (int i = 1; i < members; ++i) made = kMultiply(made, matrix_of(of_first, i));
        return made;
    }
};

/// No name: that of the setting, or else `auto`.
constexpr std::array kAlgorithms = {"", "full_duplex", "two_step", "root_gathering", "root_gathering_sequential"};

}  // namespace

void exchange_between_groups(const Intercommunicator& between, bool is_first, std::uint64_t seed) {
    const Round calls{between, is_first, between.size(), between.remote_size(), between.rank()};
    check(between.local().size() == calls.own && between.local().rank() == calls.member, "the own group is wrong");
    const int in_first = is_first ? calls.own : calls.other, in_second = is_first ? calls.other : calls.own;
    Random inside(seed);
    for (const char* const algorithm : kAlgorithms)
        for (const CallForm form : {CallForm::call, CallForm::start, CallForm::plan}) {
            const std::array<std::size_t, 7> counts = {0, 1, 7, 130, 1500, 20'000, 40'000};
            calls.allgather(counts[inside() % 7], counts[inside() % 7], algorithm, form);
            calls.allgather_own_sizes(inside, algorithm, form);
            const bool root_in_first = inside() % 2 == 0;
            const int root = static_cast<int>(inside() % static_cast<std::uint64_t>(root_in_first ? in_first : in_second));
            calls.with_root(root_in_first, root, counts[inside() % 7], form);
            calls.own_sizes(inside, root_in_first, root, form);
            calls.with_all(counts[inside() % 5], form);
            run_as(
                form, [&] { between.barrier(); }, [&] { return between.start_barrier(); }, [&] { return between.plan_barrier(); });
            calls.messages(inside() % 50'000);
        }
    const Communicator merged = between.merge();
    check(merged.rank() == calls.member + (is_first ? 0 : in_first), "merged: rank {}", merged.rank());
    still_works(merged);
    still_works(between.local());
}

// Words: the number of rounds, and a seed.
ROLLCALL_SCENARIO(intercommunicators) {
    Random same(static_cast<std::uint64_t>(scene.number(1, 1)));
    for (int round = 0; round < scene.number(0, 3); ++round) {
        const Groups groups(same, scene.size);
        const Intercommunicator between = scene.world.create_intercommunicator(groups.first, groups.second);
        const int in_first = Groups::place(groups.first, scene.rank), in_second = Groups::place(groups.second, scene.rank);
        check(bool(between) == (in_first >= 0 || in_second >= 0), "the wrong ranks are in the groups");
        const std::uint64_t seed = same();
        if (!between) continue;
        const bool is_first = in_first >= 0;
        const auto& [own, other] = is_first ? std::pair(groups.first, groups.second) : std::pair(groups.second, groups.first);
        const int member = is_first ? in_first : in_second;
        check(between.rank() == member && between.size() == static_cast<int>(own.size()) &&
                  between.remote_size() == static_cast<int>(other.size()),
              "the sizes are wrong");
        check(between.remote_world_rank(0) == other[0], "rank 0 of the other group is {}", between.remote_world_rank(0));
        exchange_between_groups(between, is_first, seed);
    }
    scene.world.barrier();
}

// Groups of every two sizes up to half of the ranks, by every algorithm of the allgather, or by a random one for each two sizes. Words: a
// seed, and "every" or "one".
ROLLCALL_SCENARIO(groups_of_every_size) {
    const bool takes_every = scene.word(1, "every") == "every";
    Random same(static_cast<std::uint64_t>(scene.number(0, 1)));
    std::vector<int> ranks(static_cast<std::size_t>(scene.size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::size_t largest = ranks.size() / 2;
    for (std::size_t in_first = 1; in_first <= largest; ++in_first)
        for (std::size_t in_second = 1; in_second <= largest; ++in_second) {
            std::shuffle(ranks.begin(), ranks.end(), same);
            const std::span<const int> all(ranks), first = all.first(in_first), second = all.subspan(in_first, in_second);
            const Intercommunicator between = scene.world.create_intercommunicator(first, second);
            const std::uint64_t seed = same();
            if (!between) continue;
            const bool is_first = std::find(first.begin(), first.end(), scene.rank) != first.end();
            const Round calls{between, is_first, between.size(), between.remote_size(), between.rank()};
            Random inside(seed);
            // Of some, the blocks are longer than an eager message.
            const auto length = [&] { return inside() % 8 == 0 ? 1025 + inside() % 1000 : inside() % 50; };
            const std::size_t chosen = inside() % std::size(kAlgorithms);
            for (std::size_t i = 0; i < std::size(kAlgorithms); ++i) {
                if (!takes_every && i != chosen) continue;
                const char* const algorithm = kAlgorithms[i];
                const std::size_t of_first = length(), of_second = length();
                calls.allgather(of_first, of_second, algorithm, CallForm::call);
                calls.allgather_own_sizes(inside, algorithm, CallForm::call);
            }
        }
    scene.world.barrier();
}

// Allgathers between random groups by the algorithm of the setting, after one on several nodes by its name. Words: the number of rounds,
// and a seed.
ROLLCALL_SCENARIO(allgathers_between_groups) {
    Random same(static_cast<std::uint64_t>(scene.number(1, 1)));
    constexpr std::array<std::size_t, 7> kCounts = {0, 1, 7, 130, 1500, 20'000, 40'000};
    const auto exchange = [&](const std::vector<int>& first, const std::vector<int>& second, const std::string& algorithm) {
        const Intercommunicator between = scene.world.create_intercommunicator(first, second);
        Random inside(same());
        if (!between) return;
        const Round calls{between, Groups::place(first, scene.rank) >= 0, between.size(), between.remote_size(), between.rank()};
        if (!algorithm.empty()) {
            const std::vector<char> block(100);
            std::vector<char> all(block.size() * static_cast<std::size_t>(calls.other));
            const std::string why =
                between.plan_allgather(block, all, {.algorithm = "auto", .segment_bytes = {}, .timeout = {}}).explanation();
            check(why.find("costs: ") != std::string::npos && why.find(algorithm) != std::string::npos, "auto says '{}'", why);
            // (So few ranks may be as fast in a tree, but two levels are considered.)
            std::vector<char> message(100);
            const IntergroupRoot root = calls.is_first ? IntergroupRoot(Mine{0}) : IntergroupRoot(Theirs{0});
            const std::string of_root =
                between.plan_broadcast(message, root, {.algorithm = "auto", .segment_bytes = {}, .timeout = {}}).explanation();
            const bool has_part = !calls.is_first || between.rank() == 0;
            const auto says = [&](std::string_view what) { return of_root.find(what) != std::string::npos; };
            check(has_part ? says("costs: ") && says(algorithm) : says("no part"), "auto says '{}'", of_root);
        }
        for (const CallForm form : {CallForm::call, CallForm::start, CallForm::plan}) {
            const std::size_t in_first = kCounts[inside() % 7], in_second = kCounts[inside() % 7];
            calls.allgather(in_first, in_second, algorithm, form);
            calls.allgather_own_sizes(inside, algorithm, form);
        }
    };
    std::vector<int> ranks(static_cast<std::size_t>(scene.size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto middle = ranks.begin() + scene.size / 2;
    exchange({ranks.begin(), middle}, {middle, ranks.end()}, "two_level");
    for (int round = 0; round < scene.number(0, 3); ++round) {
        const Groups groups(same, scene.size);
        exchange(groups.first, groups.second, "");
    }
    scene.world.barrier();
}

}  // namespace rollcall::test
