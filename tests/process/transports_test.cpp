/// \file
/// Selects the transport by its name, and uses several transports in one process.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/process/harness.hpp"
#include "transports/catalogue.hpp"
#include "transports/transport.hpp"

#if defined(__SANITIZE_ADDRESS__)
// The suppressions that tests/lsan.supp gives to the ranks. Here the test itself has transports.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libucs.so\nleak:libuct.so\n"; }
#endif

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Started;

TEST(TransportName, IsReadByTheRanks) {
    expect_success(2, {"sizes", "typed"}, {.environment = {"ROLLCALL_TRANSPORT=ucx"}, .launcher = {}});
}

TEST(TransportName, ThatThereIsNotIsToldByEachRank) {
    const Ended ended = run_ranks(2, {"sizes"}, {.environment = {"ROLLCALL_TRANSPORT=carrier_pigeon"}, .launcher = {}});
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_FALSE(lines_with(ended.out, "ROLLCALL_TRANSPORT='carrier_pigeon' is not allowed; allowed: ucx, ofi, auto").empty())
        << ended.out << ended.error;
    EXPECT_TRUE(lines_with(ended.out, " done").empty()) << ended.out;
}

TEST(TransportName, AutoSaysWhyItDoesNotTakeTheFirst) {
    const auto all = transport::transport_catalogue();
    if (all.size() < 2 || !all[1].available()) GTEST_SKIP() << "there is no second transport in this build";
    const Ended ended = run_ranks(2, {"typed"}, {.environment = {"ROLLCALL_TRANSPORT=auto", "UCX_TLS=carrier_pigeon"}, .launcher = {}});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    const Words told = lines_with(ended.error, "ROLLCALL_TRANSPORT=auto takes ofi, because: UCX: initialisation failed");
    EXPECT_EQ(told.size(), 1u) << "rank 0 says it: " << ended.error;
}

TEST(WordsOfUcx, GoToStandardError) {
    // A thread that UCX starts when it is loaded, before the program can tell it where to write, may complain about its virtual files
    // (vfs).
    const auto words = [](const std::string& text) {
        Words lines = lines_with(text, "UCX");
        std::erase_if(lines, [](const std::string& line) { return has(line, "vfs_"); });
        return lines;
    };
    for (const char* more : {"UCX_LOG_LEVEL=info", "UCX_NET_DEVICES=lo,carrier_pigeon"}) {
        const Ended ended = run_ranks(2, {"typed"}, {.environment = {"ROLLCALL_TRANSPORT=ucx", more}, .launcher = {}});
        EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
        EXPECT_TRUE(words(ended.out).empty()) << ended.out;
        EXPECT_FALSE(words(ended.error).empty()) << more;
    }
}

/// Returns a job of so many ranks in which /dev/shm has this size. Root only: the file system is mounted for the job.
JobOptions with_shared_memory(const char* size, int ranks, Words environment = {"ROLLCALL_TRANSPORT=ucx", "UCX_TLS=posix,self"}) {
    return {.environment = std::move(environment),
            .launcher = {},
            .starter = {"unshare", "-m", "sh", "-c", fmt::format("mount -t tmpfs -o size={} tmpfs /dev/shm && exec \"$@\"", size), "sh",
                        ROLLCALL_COMMAND, "run", "-n", std::to_string(ranks)}};
}

TEST(SharedMemory, OfAContainersDefaultHoldsManyRanks) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may mount a /dev/shm";
    // For its size, that is as many ranks as 32 in the 64 MiB of a container.
    expect_success(8, {"typed"}, with_shared_memory("16m", 8));
}

TEST(SharedMemory, ThatIsTooSmallIsToldWithWhatIsNeeded) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may mount a /dev/shm";
    const Ended ended = run_ranks(4, {"typed"}, with_shared_memory("2m", 4));
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "/dev/shm is too small: the 4 ranks on this host need ")) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "it has 2.0 MiB")) << ended.out;
}

// All ranks have the limit, or one of them, or those of one node. 100 MiB (ulimit counts 512 bytes) is enough for what the transports make,
// and too little for the memory of two ranks.
TEST(SharedMemory, IsReplacedByMessagesWhereARankMayNotMakeItsFile) {
    const std::string number = a_seed();
    const Words scenarios = {"storm:20:" + number, "exchanges", "calls:allreduce:ring:" + number};
    const auto all = transport::transport_catalogue();
    for (const char* const transport : {"ucx", "ofi"}) {
        if (transport == std::string("ofi") && (all.size() < 2 || !all[1].available())) continue;
        for (const char* const limited : {"*", "3", "[23]"}) {
            if (kSanitized && (transport != std::string("ucx") || limited == std::string("*"))) continue;
            const bool is_one = limited == std::string("3"), are_nodes = limited == std::string("[23]");
            Words environment = {fmt::format("ROLLCALL_TRANSPORT={}", transport), "ROLLCALL_LOG=debug"};
            if (are_nodes) environment.push_back("ROLLCALL_NODE_RANKS=2");
            const std::string limit = fmt::format("case $ROLLCALL_BOOTSTRAP_RANK in {}) ulimit -f 204800;; esac; exec \"$@\"", limited);
            const int ranks = 8;
            const Ended ended = run_ranks(ranks, scenarios,
                                          {.environment = environment,
                                           .launcher = {},
                                           .starter = {ROLLCALL_COMMAND, "run", "-n", std::to_string(ranks), "sh", "-c", limit, "sh"}});
            SCOPED_TRACE(fmt::format("limited: {}, {}, {}\n{}{}", limited, transport, number, ended.out, ended.error));
            EXPECT_EQ(ended.code, 0);
            EXPECT_EQ(count(ended.out, " done\n"), ranks);
            // Ranks of one node agree.
            const std::size_t without = are_nodes ? 2 : 8;
            EXPECT_EQ(lines_with(ended.error, "node memory: none: a rank of this node may not make a file of the size").size(), without);
            EXPECT_EQ(lines_with(ended.error, "node memory: shared by 2 ranks").size(), 8 - without);
            const Words told = lines_with(ended.error, "warning: ");
            ASSERT_EQ(told.size(), 1u);
            EXPECT_TRUE(has(told[0], fmt::format("the {} ranks on the node of rank {} on host ", without, is_one ? 3 : are_nodes ? 2 : 0)));
            EXPECT_TRUE(has(told[0], is_one ? "rank 3 may only make files of " : "MiB, and rank "));
            EXPECT_TRUE(has(told[0], "MiB. Raise this limit (ulimit -f), or set ROLLCALL_NODE_MEMORY=no"));
        }
    }
}

TEST(SharedMemory, BelowTheLimitOfFileSizesIsNothingToWarnOf) {
    for (const char* const setting : {"ROLLCALL_NODE_MEMORY=no", "ROLLCALL_NODE_MEMORY=auto"}) {
        // Less landing memory takes a smaller file.
        const Words environment = {setting, "ROLLCALL_LANDING_BYTES=1Mi", "ROLLCALL_BOARD_SLOTS=64", "ROLLCALL_LOG=debug"};
        const bool is_shared = setting != std::string("ROLLCALL_NODE_MEMORY=no");
        const Ended ended =
            run_ranks(2, {"typed"},
                      {.environment = environment,
                       .launcher = {},
                       .starter = {"sh", "-c", "ulimit -f 204800 && exec \"$@\"", "sh", ROLLCALL_COMMAND, "run", "-n", "2"}});
        EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
        EXPECT_TRUE(lines_with(ended.error, "warning: ").empty()) << ended.error;
        EXPECT_EQ(lines_with(ended.error, "node memory: shared by 2 ranks").size(), is_shared ? 2u : 0u) << ended.error;
    }
}

// Two ranks in one container and one in another, which has the same host name.
TEST(SharedMemory, IsReplacedByMessagesBetweenPidNamespaces) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may make a PID namespace and mount its /proc";
    const std::string apart =
        "case $ROLLCALL_BOOTSTRAP_RANK in 2) exec unshare --pid --fork --mount-proc --kill-child \"$@\";; esac; exec \"$@\"";
    const Ended ended = run_ranks(
        3, {"exchanges", "splits", "storm:20:" + a_seed()},
        {.environment = {"ROLLCALL_LOG=debug"}, .launcher = {}, .starter = {ROLLCALL_COMMAND, "run", "-n", "3", "sh", "-c", apart, "sh"}});
    SCOPED_TRACE(ended.out + ended.error);
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(count(ended.out, " done\n"), 3);
    EXPECT_EQ(count(ended.error, "node memory: shared by 2 ranks"), 2);
    EXPECT_EQ(count(ended.error, "node memory: none, because rank 0 on this host is in another PID or user namespace, or belongs to"), 1);
}

TEST(SharedMemory, IsSaidToBeDividedByTheSetting) {
    const Ended ended = run_ranks(3, {"typed"}, with({"ROLLCALL_NODE_RANKS=2", "ROLLCALL_LOG=debug"}));
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_EQ(count(ended.error, "node memory: shared by 2 ranks"), 2) << ended.error;
    EXPECT_EQ(count(ended.error, "node memory: none, because ROLLCALL_NODE_RANKS makes this rank a node of its own"), 1) << ended.error;
}

// What libfabric needs depends on the number of processors, so the size does, too.
TEST(SharedMemory, OfLibfabricThatIsTooSmallIsToldWithWhatIsNeeded) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may mount a /dev/shm";
    const auto all = transport::transport_catalogue();
    if (all.size() < 2 || !all[1].available()) GTEST_SKIP() << "there is no libfabric in this build";
    const long size = 16 * ::sysconf(_SC_NPROCESSORS_ONLN) + 32;
    const std::string mebibytes = fmt::format("{}m", size);
    const Words over_shm = {"ROLLCALL_TRANSPORT=ofi", "ROLLCALL_OFI_PROVIDER=shm"};
    const Ended ended = run_ranks(16, {"typed"}, with_shared_memory(mebibytes.c_str(), 16, over_shm));
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_EQ(lines_with(ended.out, "/dev/shm is too small: the 16 ranks on this host need ").size(), 1u) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, fmt::format("it has {}.0 MiB", size))) << ended.out;
    expect_success(4, {"typed"}, with_shared_memory(mebibytes.c_str(), 4, over_shm));
    expect_success(16, {"typed"}, with_shared_memory(mebibytes.c_str(), 16, {"ROLLCALL_TRANSPORT=ofi", "ROLLCALL_OFI_PROVIDER=tcp"}));
}

TEST(Ucx, WritesItsWarningsToStandardErrorOnly) {
    const Ended ended = run_ranks(2, {"typed"}, {.environment = {"ROLLCALL_TRANSPORT=ucx", "UCX_ROLLCALL_TEST_NOTHING=1"}, .launcher = {}});
    EXPECT_EQ(ended.code, 0) << ended.error;
    EXPECT_TRUE(has(ended.error, "UCX_ROLLCALL_TEST_NOTHING")) << ended.error;
    EXPECT_FALSE(has(ended.out, "UCX_ROLLCALL_TEST_NOTHING")) << ended.out;
}

TEST(Ucx, ThatFindsNoTransportIsToldWithTheChoiceOfTheUser) {
    const Ended ended = run_ranks(1, {"typed"}, {.environment = {"ROLLCALL_TRANSPORT=ucx", "UCX_TLS=nonsense"}, .launcher = {}});
    EXPECT_EQ(ended.code, 5) << ended.error;
    EXPECT_TRUE(has(ended.out, "with UCX_TLS=nonsense")) << ended.out;
}

// One end of a job of two ranks, both in this process.
struct End final : transport::Sink, transport::Completion {
    explicit End(int its_rank) : rank(its_rank) {
        transport::TransportOptions options;
        options.rank = rank;
        options.size = 2;
        transport = transport::make_transport("ucx", options);
        address = transport->address();
        transport->attach(*this);
    }
    void on_message(std::span<const std::byte> header, transport::ConstBytes payload) noexcept override {
        heard.assign(reinterpret_cast<const char*>(header.data()), header.size());
        heard.append(static_cast<const char*>(payload.data), payload.size);
    }
    void on_offer(std::span<const std::byte>, const transport::Offer& offer) noexcept override { offered = offer; }
    void on_peer_unreachable(int, std::string_view why) noexcept override { lost = why; }
    void on_deaf(int) noexcept override {}
    void on_board_changed(std::uint64_t, std::uint64_t) noexcept override {}
    void complete(Outcome outcome) noexcept override { ++(outcome == Outcome::ok ? completed : failed); }
    void note(Started started) {
        if (started != Started::pending) complete(started == Started::done ? Outcome::ok : Outcome::failed);
    }
    std::span<const std::byte> header() const { return std::as_bytes(std::span(text)); }

    int rank;
    char text[5] = {'f', 'r', 'o', 'm', ' '};
    std::unique_ptr<transport::Transport> transport;
    std::vector<std::byte> address;
    std::string heard, lost;
    transport::Offer offered;
    int completed = 0, failed = 0;
};

// Two ends that know each other.
struct Two {
    Two() {
        const std::vector<std::span<const std::byte>> addresses = {ends[0].address, ends[1].address};
        for (End& end : ends) end.transport->connect(addresses, nullptr);
    }
    // Lets all ends progress until the condition holds.
    template <class Condition>
    static bool until(std::vector<Two*> all, Condition condition) {
        for (const auto begin = std::chrono::steady_clock::now(); !condition();) {
            for (Two* two : all)
                for (End& end : two->ends) end.transport->progress();
            if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
        }
        return true;
    }
    End ends[2] = {End(0), End(1)};
};

TEST(Transports, SeveralInOneProcessDoNotMeet) {
    Two one, other;
    const std::vector<Two*> all = {&one, &other};
    const std::string first = "the first", second = "the second";
    std::string large(1 << 20, 'x'), landed(large.size(), ' ');
    large.back() = 'y';
    one.ends[0].note(
        one.ends[0].transport->send(1, one.ends[0].header(), {first.data(), first.size()}, transport::Path::eager, one.ends[0]));
    other.ends[0].note(
        other.ends[0].transport->send(1, other.ends[0].header(), {second.data(), second.size()}, transport::Path::eager, other.ends[0]));
    ASSERT_TRUE(Two::until(all, [&] { return !one.ends[1].heard.empty() && !other.ends[1].heard.empty(); }));
    EXPECT_EQ(one.ends[1].heard, "from the first");
    EXPECT_EQ(other.ends[1].heard, "from the second");

    // A large message goes through one transport. The other one gets nothing of it.
    one.ends[1].note(
        one.ends[1].transport->send(0, one.ends[1].header(), {large.data(), large.size()}, transport::Path::large, one.ends[1]));
    ASSERT_TRUE(Two::until(all, [&] { return one.ends[0].offered.size == large.size(); }));
    one.ends[0].note(one.ends[0].transport->fetch(one.ends[0].offered, {landed.data(), landed.size()}, one.ends[0]));
    ASSERT_TRUE(Two::until(all, [&] { return one.ends[0].completed == 2 && one.ends[1].completed == 1; }));
    EXPECT_EQ(landed, large);
    EXPECT_EQ(other.ends[0].offered.size, 0u);

    // Each transport has a board of its own.
    const std::uint64_t word = 42;
    other.ends[0].transport->put(1, 64, std::as_bytes(std::span(&word, 1)));
    const auto at = [](End& end) {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(end.transport->board().data() + 64)).load(std::memory_order_acquire);
    };
    ASSERT_TRUE(Two::until(all, [&] { return at(other.ends[1]) == word; }));
    EXPECT_EQ(at(one.ends[1]), 0u);

    ASSERT_TRUE(Two::until(all, [&] {
        bool closed = true;
        for (Two* two : all)
            for (End& end : two->ends) closed = end.transport->close() && closed;
        return closed;
    }));
    for (Two* two : all)
        for (End& end : two->ends) EXPECT_EQ(end.lost, "");
}

// What was not closed is left, each transport by itself.
TEST(Transports, CanBeDroppedWhileOthersGoOn) {
    Two stays;
    {
        Two goes;
        const std::string text = "one that goes";
        goes.ends[0].note(
            goes.ends[0].transport->send(1, goes.ends[0].header(), {text.data(), text.size()}, transport::Path::eager, goes.ends[0]));
        ASSERT_TRUE(Two::until({&goes}, [&] { return !goes.ends[1].heard.empty(); }));
    }
    const std::string text = "one that stays";
    stays.ends[0].note(
        stays.ends[0].transport->send(1, stays.ends[0].header(), {text.data(), text.size()}, transport::Path::eager, stays.ends[0]));
    ASSERT_TRUE(Two::until({&stays}, [&] { return !stays.ends[1].heard.empty(); }));
    EXPECT_EQ(stays.ends[1].heard, "from one that stays");
    ASSERT_TRUE(Two::until({&stays}, [&] {
        const bool first = stays.ends[0].transport->close();
        return stays.ends[1].transport->close() && first;
    }));
}

}  // namespace
}  // namespace rollcall::test
