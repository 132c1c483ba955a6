// Signals on the boards which the network throws away. A rank that waits for one asks its writer, and gets it by a message. Where no
// message can pass either, the call ends with an error that names the peer. No call hangs. The ranks of a job and their clock are in this
// process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/catalogue.hpp"
#include "runtime/arrivals/board.hpp"
#include "runtime/engine/engine.hpp"
#include "tests/unit/errors.hpp"
#include "transports/machine.hpp"

namespace rollcall::runtime {
namespace {

constexpr const char* kBoardBarriers[] = {"board_all_to_all", "board_linear"};
constexpr Nanoseconds kVirtualSecond = 1'000'000'000;

struct VirtualMachine final : transport::Machine {
    Nanoseconds now() const override { return time; }
    bool has_model_time() const override { return true; }
    transport::Started copy(transport::Bytes, transport::ConstBytes, transport::Completion&) override { return transport::Started::failed; }
    transport::Started spend_copy(std::uint64_t, transport::Completion&) override { return transport::Started::failed; }
    transport::Started pass_moment(transport::Completion&) override { return transport::Started::failed; }
    Nanoseconds time = kVirtualSecond;
};

// Carries eager messages and puts to their targets' next progress(). The loss of a put is not reported.
class LossyNetwork {
  public:
    class End;
    using Link = std::pair<int, int>;  ///< From a rank to a rank.

    std::vector<std::unique_ptr<End>> ends;
    bool tells_of_puts = false;
    std::map<int, int> to_drop;  ///< By target: so many of the next puts are thrown away.
    int dropped = 0;
    std::set<Link> held_back;  ///< Puts that go this way wait for bring().
    std::set<Link> cut;        ///< Puts that go this way are thrown away, and sends fail.
    bool fails_late = false;   ///< Such a send seems to go, and the sender is told later that the peer is unreachable.
    int messages = 0;

    /// What was held back arrives now.
    void bring();

  private:
    struct Put {
        int to;
        std::uint64_t offset;
        std::vector<std::byte> bytes;
    };
    std::vector<Put> late_;
};

class LossyNetwork::End final : public transport::Transport {
  public:
    End(LossyNetwork& network, int rank, int ranks)
        : network_(network), rank_(rank), board_(board_bytes(static_cast<std::uint64_t>(ranks)) / 8) {}

    std::string_view name() const override { return "lossy"; }
    std::uint32_t version() const override { return 1; }
    std::string description() const override { return "a network that loses puts"; }
    std::vector<std::byte> address() const override { return {}; }
    void connect(const std::vector<std::span<const std::byte>>&, std::shared_ptr<const void>) override {}
    void attach(transport::Sink& sink) override { sink_ = &sink; }
    unsigned progress() override {
        for (Arrival& arrival : std::exchange(arrivals_, {})) {
            switch (arrival.kind) {
                case Arrival::Kind::message:
                    sink_->on_message(arrival.header, {arrival.payload.data(), arrival.payload.size()});
                    ++handled_;
                    break;
                case Arrival::Kind::put:
                    write(arrival.offset, arrival.payload);
                    if (network_.tells_of_puts) sink_->on_board_changed(arrival.offset, arrival.payload.size());
                    ++handled_;
                    break;
                case Arrival::Kind::end: sink_->on_peer_unreachable(arrival.from, "the connection was closed"); ++handled_;
            }
        }
        return std::exchange(handled_, 0);
    }
    transport::Started send(int peer, std::span<const std::byte> header, transport::ConstBytes payload, transport::Path path,
                            transport::Completion&) override {
        if (path != transport::Path::eager) return transport::Started::failed;
        if (network_.cut.contains({rank_, peer})) {
            if (!network_.fails_late) return transport::Started::failed;
            arrivals_.push_back({Arrival::Kind::end, peer, {}, {}, 0});
            return transport::Started::done;
        }
        Arrival arrival{Arrival::Kind::message, rank_, {header.begin(), header.end()}, {}, 0};
        const auto* const data = static_cast<const std::byte*>(payload.data);
        arrival.payload.assign(data, data + payload.size);
        network_.ends[static_cast<std::size_t>(peer)]->arrivals_.push_back(std::move(arrival));
        ++network_.messages;
        return transport::Started::done;
    }
    transport::Started fetch(const transport::Offer&, transport::Bytes, transport::Completion&) override {
        return transport::Started::failed;
    }
    void decline(const transport::Offer&) override {}
    bool release(int, transport::Completion&) override { return true; }
    void add_pending(std::vector<int>&) const override {}
    void disconnect(int peer) override {
        network_.cut.insert({rank_, peer});
        if (!network_.cut.insert({peer, rank_}).second) return;
        network_.ends[static_cast<std::size_t>(peer)]->arrivals_.push_back({Arrival::Kind::end, rank_, {}, {}, 0});
    }
    transport::Memory& memory() override { return memory_; }
    std::span<std::byte> board() override { return std::as_writable_bytes(std::span(board_)); }
    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override {
        int& drops_left = network_.to_drop[peer];
        if (drops_left > 0 || network_.cut.contains({rank_, peer})) {
            drops_left = std::max(drops_left - 1, 0);
            ++network_.dropped;
        } else if (network_.held_back.contains({rank_, peer})) {
            network_.late_.push_back({peer, offset, {bytes.begin(), bytes.end()}});
        } else {
            network_.ends[static_cast<std::size_t>(peer)]->arrive(offset, {bytes.begin(), bytes.end()});
        }
    }
    transport::PutWake put_wake(int) override { return transport::PutWake::wakes; }
    std::byte* peer_board(int) override { return nullptr; }
    bool shares_memory() const override { return false; }
    bool shares_memory_with(int) const override { return false; }
    bool uses_tcp() const override { return false; }
    bool tells_of_puts() const override { return network_.tells_of_puts; }
    int descriptor() const override { return -1; }
    bool arm() override { return arrivals_.empty(); }
    unsigned pieces_under_way() const override { return 1; }
    bool settled() const override { return true; }
    bool close() override { return true; }

    /// A put does.
    void arrive(std::uint64_t offset, std::vector<std::byte> bytes) {
        arrivals_.push_back({Arrival::Kind::put, -1, {}, std::move(bytes), offset});
    }

  private:
    struct Arrival {
        enum class Kind { message, put, end } kind;
        int from;
        std::vector<std::byte> header, payload;
        std::uint64_t offset;
    };
    void write(std::uint64_t offset, const std::vector<std::byte>& bytes) {
        std::memcpy(board().data() + offset, bytes.data(), bytes.size());
    }

    LossyNetwork& network_;
    int rank_;
    transport::PlainMemory memory_;
    std::vector<std::uint64_t> board_;
    transport::Sink* sink_ = nullptr;
    std::deque<Arrival> arrivals_;
    unsigned handled_ = 0;
};

void LossyNetwork::bring() {
    for (Put& put : std::exchange(late_, {})) ends[static_cast<std::size_t>(put.to)]->arrive(put.offset, std::move(put.bytes));
}

// Barriers on the world of a job.
class LossyJob {
  public:
    LossyJob(int ranks, const char* algorithm, bool tells_of_puts)
        : entry_(collectives::find_algorithm(OperationKind::barrier, algorithm)) {
        network.tells_of_puts = tells_of_puts;
        auto group = std::make_shared<Group>();
        group->id = 1;
        group->name = "world";
        group->size = ranks;
        for (int rank = 0; rank < ranks; ++rank) {
            network.ends.push_back(std::make_unique<LossyNetwork::End>(network, rank, ranks));
            ranks_.push_back(std::make_unique<Rank>(*network.ends.back(), machine_, group, rank));
        }
    }
    ~LossyJob() {
        for (const auto& rank : ranks_)
            for (const auto& operation : rank->operations)
                if (!operation->done()) operation->abandon(rank->engine, Error(ErrorCode::timeout, "the test is over"));
        for (const auto& rank : ranks_) rank->engine.remove(rank->world);
    }
    LossyJob(const LossyJob&) = delete;
    LossyJob& operator=(const LossyJob&) = delete;

    int size() const { return static_cast<int>(ranks_.size()); }
    /// This rank calls a barrier.
    Operation& begin(int rank) {
        Rank& here = *ranks_[static_cast<std::size_t>(rank)];
        here.operations.push_back(std::make_unique<Operation>(here.world, here.world.next_sequence++,
                                                              collectives::make_call(entry_, -1, 0, 0), entry_.algorithm, Arguments{}));
        here.operations.back()->begin(here.engine);
        return *here.operations.back();
    }
    /// All do.
    void begin_all() {
        for (int rank = 0; rank < size(); ++rank) begin(rank);
    }
    /// The last barrier of this rank.
    const Operation& last(int rank) const { return *ranks_[static_cast<std::size_t>(rank)]->operations.back(); }
    bool all_done() const {
        return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->operations.back()->done(); });
    }
    /// All that can happen without time going by.
    void settle() {
        for (unsigned happened = 1; happened;) {
            happened = 0;
            for (const auto& rank : ranks_) happened += rank->engine.progress();
        }
    }
    /// Time goes by until it is over, a minute at most. False: it is not.
    template <class Over>
    bool wait_until(Over over) {
        for (const Nanoseconds end = machine_.time + 60 * kVirtualSecond; settle(), !over() && machine_.time < end;) {
            Nanoseconds due = end;
            for (const auto& rank : ranks_) due = std::min(due, rank->engine.due());
            machine_.time = std::max(machine_.time, due) + 1;
            for (const auto& rank : ranks_)
                if (machine_.time >= rank->engine.due()) rank->engine.tick(machine_.time);
        }
        return over();
    }
    bool wait_for_all() {
        return wait_until([this] { return all_done(); });
    }
    Nanoseconds now() const { return machine_.time; }

    LossyNetwork network;

  private:
    struct Rank {
        Rank(transport::Transport& transport, transport::Machine& machine, const std::shared_ptr<const Group>& group, int rank)
            : world(group, rank), engine(transport, machine, arena, options(group->size, rank)) {
            engine.add(world);
        }
        static Engine::Options options(int ranks, int rank) {
            Engine::Options options;
            options.rank = rank;
            options.size = ranks;
            return options;
        }
        FrameArena arena;
        CommunicatorState world;
        Engine engine;
        std::vector<std::unique_ptr<Operation>> operations;
    };
    const collectives::AlgorithmEntry& entry_;
    VirtualMachine machine_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

// The first puts to one rank are thrown away, in one barrier or in several.
TEST(DroppedSignals, AreToldOfByTheirWriters) {
    for (const bool tells_of_puts : {false, true})
        for (const char* const algorithm : kBoardBarriers)
            for (const int n : {2, 3, 5, 40})
                for (const int target : {0, 1, n - 1})
                    for (const int puts : {1, n - 1, n, 2 * n}) {
                        SCOPED_TRACE(fmt::format("{}, {} ranks, {} puts to rank {}, {}", algorithm, n, puts, target, tells_of_puts));
                        LossyJob job(n, algorithm, tells_of_puts);
                        job.network.to_drop[target] = puts;
                        int barriers_with_loss = 0;
                        while (job.network.dropped < puts) {
                            const int before = job.network.dropped;
                            const Nanoseconds begun = job.now();
                            job.begin_all();
                            job.settle();
                            ASSERT_FALSE(job.last(target).done());
                            ASSERT_TRUE(job.wait_for_all()) << "barrier " << barriers_with_loss << " hangs";
                            ASSERT_GT(job.network.dropped, before);
                            ASSERT_LT(job.now() - begun, kVirtualSecond);
                            for (int rank = 0; rank < n; ++rank)
                                ASSERT_EQ(job.last(rank).error(), nullptr) << job.last(rank).error()->what();
                            ++barriers_with_loss;
                        }
                        // And nothing is left of it.
                        job.network.messages = 0;
                        for (int barrier = 0; barrier < 4; ++barrier) {
                            job.begin_all();
                            job.settle();
                            ASSERT_TRUE(job.all_done()) << "barrier " << barrier << " after the losses";
                        }
                        EXPECT_EQ(job.network.messages, 0);
                    }
}

// The rank that is asked may be one barrier ahead: it has signalled in both.
TEST(DroppedSignals, AreToldOfByWhoIsInTheNextBarrier) {
    LossyJob job(2, "board_all_to_all", false);
    job.network.to_drop[0] = 2;
    job.begin_all();
    job.settle();
    ASSERT_TRUE(job.last(1).done());
    job.begin(1);
    EXPECT_TRUE(job.wait_until([&] { return job.last(0).done(); }));
    EXPECT_FALSE(job.last(1).done());
    job.begin(0);
    EXPECT_TRUE(job.wait_for_all());
    for (const int rank : {0, 1}) EXPECT_EQ(job.last(rank).error(), nullptr);
}

// A rank that has not signalled does not say that it has.
TEST(DroppedSignals, DoNotLetABarrierEndBeforeAllHaveEntered) {
    for (const char* const algorithm : kBoardBarriers) {
        SCOPED_TRACE(algorithm);
        LossyJob job(3, algorithm, false);
        for (const int rank : {0, 1, 2}) job.network.to_drop[rank] = 1'000;  // all
        job.begin_all();
        ASSERT_TRUE(job.wait_for_all());
        const Operation& first = job.begin(0);
        const Operation& second = job.begin(1);
        EXPECT_FALSE(job.wait_until([&] { return first.done() || second.done(); }));
        job.begin(2);
        EXPECT_TRUE(job.wait_for_all());
        for (const int rank : {0, 1, 2}) EXPECT_EQ(job.last(rank).error(), nullptr);
    }
}

// A put that was so late that its writer had been asked comes two barriers later, and overwrites the signal that stands there by then.
TEST(DroppedSignals, MayBeOverwrittenByOlderOnes) {
    LossyJob job(2, "board_all_to_all", false);
    job.network.held_back.insert({1, 0});
    job.begin_all();
    ASSERT_TRUE(job.wait_for_all());
    job.network.held_back.clear();
    job.begin_all();
    job.settle();
    ASSERT_TRUE(job.all_done());
    job.begin(1);
    job.settle();
    job.network.bring();
    job.settle();
    const Operation& waiting = job.begin(0);
    job.settle();
    ASSERT_FALSE(waiting.done()) << "nothing was overwritten";
    ASSERT_TRUE(job.wait_for_all());
    EXPECT_EQ(waiting.error(), nullptr);
}

// No message passes either. The two ends of the link name each other, also where only one of them cannot send; ranks that wait for one of
// them are told of the other.
TEST(DroppedSignals, FailWithTheNameOfThePeerWhereNoMessagePasses) {
    for (const char* const algorithm : kBoardBarriers)
        for (const auto& [to_0, from_0, fails_late] : {std::tuple(true, false, false),
                                                       {false, true, false},
                                                       {true, true, false},
                                                       {true, false, true},
                                                       {false, true, true},
                                                       {true, true, true}}) {
            SCOPED_TRACE(fmt::format("{}, to rank 0 {}, from rank 0 {}, late {}", algorithm, to_0, from_0, fails_late));
            LossyJob job(4, algorithm, false);
            job.network.fails_late = fails_late;
            job.begin_all();
            job.settle();
            ASSERT_TRUE(job.all_done());
            if (to_0) job.network.cut.insert({1, 0});
            if (from_0) job.network.cut.insert({0, 1});
            job.begin_all();
            ASSERT_TRUE(job.wait_for_all()) << "a rank hangs";
            ASSERT_GT(job.network.dropped, 0);
            for (int rank = 0; rank < job.size(); ++rank) {
                const Error* const error = job.last(rank).error();
                // In the linear barrier all others wait for rank 0.
                const bool waits = rank == 0 ? to_0 : (rank == 1 && from_0) || (to_0 && algorithm == std::string("board_linear"));
                ASSERT_EQ(error != nullptr, waits) << "rank " << rank;
                if (!error) continue;
                EXPECT_EQ(error->code(), ErrorCode::peer_failed) << error->what();
                const int named = error->failed_rank();
                if (rank < 2)
                    EXPECT_EQ(named, 1 - rank) << error->what();
                else
                    EXPECT_TRUE(named == 0 || named == 1) << error->what();
                EXPECT_TRUE(contains(error->what(), fmt::format("rank {} ", named)));
            }
            // Both ends know it from then on, and neither waits for the other again.
            for (const int rank : {0, 1}) job.begin(rank);
            job.wait_for_all();
            for (const int rank : {0, 1}) {
                ASSERT_TRUE(job.last(rank).done());
                ASSERT_NE(job.last(rank).error(), nullptr);
                EXPECT_EQ(job.last(rank).error()->failed_rank(), 1 - rank);
            }
        }
}

}  // namespace
}  // namespace rollcall::runtime
