// Transports by name, what they are told, and the memory they give.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "foundation/settings.hpp"
#include "tests/unit/errors.hpp"
#include "transports/catalogue.hpp"
#include "transports/memory.hpp"
#ifdef ROLLCALL_HAS_OFI
#include "transports/ofi/shared_memory.hpp"
#endif
#include "transports/transport.hpp"
#include "transports/ucx/networks.hpp"
#include "transports/ucx/shared_memory.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace rollcall::transport {
namespace {

TEST(Transports, AnUnknownNameIsToldWithThoseThereAre) {
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [] { make_transport("tcp", {}); }),
              "there is no transport 'tcp' in this build; ROLLCALL_TRANSPORT can be: ucx, ofi, auto");
    for (const char* name : {"", "UCX", "ucx ", "simulated"})
        EXPECT_TRUE(contains(refusal(ErrorCode::invalid_setting, [&] { make_transport(name, {}); }), "can be: ucx")) << name;
}

TEST(Transports, AreInTheCatalogueByTheirNames) {
    const auto all = transport_catalogue();
    ASSERT_EQ(all.size(), kTransportNames.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].name, kTransportNames[i]);
}

Interface named(const char* name) {
    Interface interface;
    interface.name = name;
    return interface;
}

// UCX_NET_DEVICES for as long as this lives.
class DevicesOfTheUser {
  public:
    explicit DevicesOfTheUser(const char* value) {
        if (const char* before = std::getenv(kName)) before_ = before, had_ = true;
        value ? setenv(kName, value, 1) : unsetenv(kName);
    }
    ~DevicesOfTheUser() { had_ ? setenv(kName, before_.c_str(), 1) : unsetenv(kName); }
    DevicesOfTheUser(const DevicesOfTheUser&) = delete;
    DevicesOfTheUser& operator=(const DevicesOfTheUser&) = delete;

  private:
    static constexpr auto kName = "UCX_NET_DEVICES";
    std::string before_;
    bool had_ = false;
};

TEST(UcxTransport, MakesItsListOfTheInterfaces) {
    const DevicesOfTheUser none(nullptr);
    TransportOptions options;
    EXPECT_EQ(ucx_devices(options), "");
    options.interfaces = {named("eth0")};
    EXPECT_EQ(ucx_devices(options), "eth0");
    options.interfaces.push_back(named("mlx5_0:1"));
    EXPECT_EQ(ucx_devices(options), "eth0,mlx5_0:1");
}

TEST(UcxTransport, LeavesItsUsersOwnDevicesUnlessInterfacesAreNamed) {
    const DevicesOfTheUser own("eth1");
    TransportOptions options;
    options.interfaces = {named("eth0")};
    EXPECT_EQ(ucx_devices(options), "");
    options.interfaces_named = true;
    EXPECT_EQ(ucx_devices(options), "eth0");
}

TEST(UcxTransport, SaysHowMuchSharedMemoryItsRanksNeed) {
    TransportOptions options;
    options.local_size = 4;
    const std::uint64_t each = ucx::shared_memory_need(options);
    EXPECT_LT(each, 1u << 20);
    EXPECT_NO_THROW(ucx::check_shared_memory(options, {"/dev/shm", 4 * each, each}));
    const auto said = [&](std::uint64_t size, std::uint64_t available) {
        return refusal(ErrorCode::transport, [&] { ucx::check_shared_memory(options, {"/a/place", size, available}); });
    };
    EXPECT_TRUE(contains(said(4 * each - 1, 4 * each - 1), "/a/place is too small: the 4 ranks on this host need "));
    EXPECT_TRUE(contains(said(2 << 20, 1 << 20), "it has 2.0 MiB, of which 1.0 MiB are free"));
    // Others have taken it.
    EXPECT_TRUE(contains(said(1 << 30, each - 1), "/a/place is too full: the 4 ranks on this host need "));
    EXPECT_TRUE(contains(said(1 << 30, each - 1), "it has 1024.0 MiB, of which "));
    EXPECT_TRUE(contains(said(1 << 30, each - 1), "`ls -l /a/place` shows it"));
    // All ranks found enough for themselves, and then one of them took it.
    const Error failure(ErrorCode::transport, "UCX: creating a worker failed");
    EXPECT_NO_THROW(ucx::add_shortage(options, failure, {"/a/place", 1 << 30, 4 * each}));
    const auto added = [&](std::uint64_t available) {
        return refusal(ErrorCode::transport, [&] { ucx::add_shortage(options, failure, {"/a/place", 1 << 30, available}); });
    };
    EXPECT_TRUE(added(each - 1).starts_with("/a/place is too full: ")) << added(each - 1);
    EXPECT_TRUE(contains(added(each - 1), ". UCX: creating a worker failed")) << added(each - 1);
    // There is enough for this rank: other ranks of the job may have taken their part before, and UCX may have failed for another reason.
    EXPECT_TRUE(added(each).starts_with("UCX: creating a worker failed. ")) << added(each);
    EXPECT_TRUE(contains(added(each), "may be that /a/place was too full")) << added(each);
    // What all ranks see alike is told in full by the first one.
    options.local_rank = 3;
    EXPECT_EQ(said(4 * each - 1, 4 * each - 1), "/a/place is too small for the 4 ranks on this host, as the first one of them says");
    EXPECT_TRUE(contains(said(1 << 30, each - 1), "it has 1024.0 MiB, of which "));
}

TEST(UcxTransport, HasTheNetworksThatItsContextNames) {
    const std::string begin = "#\n# UCP context\n#\n#     component 4  :  ib\n#            md 4  :  component 4  rc_0 \n#\n";
    const std::string tcp =
        "#      resource 0  :  md 0  dev 0  flags -- self/memory0\n#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n";
    const auto with = [&](const std::string& flags, const std::string& name) {
        return begin + tcp + "#      resource 12 :  md 4  dev 3  flags " + flags + " " + name + "\n#\n";
    };
    EXPECT_FALSE(ucx::networks_in("").move_memory);
    EXPECT_FALSE(ucx::networks_in("").are_tcp);
    EXPECT_FALSE(ucx::networks_in(begin + tcp + "#\n").move_memory) << "a component need not have a device";
    EXPECT_TRUE(ucx::networks_in(begin + tcp + "#\n").are_tcp);
    for (const char* name : {"rc_verbs/mlx5_0:1", "rc_mlx5/mlx5_0:1", "dc_mlx5/mlx5_0:1", "gga_mlx5/mlx5_0:1", "srd/rdmap0s6:1"})
        for (const char* flags : {"--", "a-", "-s"})
            EXPECT_TRUE(ucx::networks_in(with(flags, name)).move_memory && !ucx::networks_in(with(flags, name)).are_tcp) << name;
    for (const char* name : {"ud_verbs/mlx5_0:1", "rdmacm/sockaddr", "cma/memory", "cuda_ipc/cuda", "tcp/rc_0"})
        EXPECT_FALSE(ucx::networks_in(with("--", name)).move_memory) << name;
    for (const char* name : {"ud_verbs/mlx5_0:1", "ugni_udt/gni"}) EXPECT_FALSE(ucx::networks_in(with("--", name)).are_tcp) << name;
    for (const char* name : {"rdmacm/sockaddr", "cma/memory", "cuda_ipc/cuda", "tcp/eth1"})
        EXPECT_TRUE(ucx::networks_in(with("--", name)).are_tcp) << name;
    EXPECT_FALSE(ucx::networks_in("").are_plain);
    for (const char* name : {"posix/memory", "sysv/memory", "cma/memory", "tcp/eth1"})
        EXPECT_TRUE(ucx::networks_in(with("--", name)).are_plain) << name;
    for (const char* name : {"rc_verbs/mlx5_0:1", "ud_verbs/mlx5_0:1", "srd/rdmap0s6:1", "ugni_udt/gni", "cuda_ipc/cuda", "xpmem/memory"})
        EXPECT_FALSE(ucx::networks_in(with("a-", name)).are_plain) << name;
    EXPECT_TRUE(ucx::networks_in("#      resource 2  :  md 4  dev 3  flags -- rc_mlx5/mlx5_0:1").move_memory) << "the last line";
    // In a large job UCX prefers datagrams to rc, and dc to both.
    const std::string rc = with("--", "rc_verbs/bnxt_re0:1"), ud = with("--", "ud_verbs/bnxt_re0:1"), dc = with("--", "dc_mlx5/mlx5_0:1");
    EXPECT_TRUE(ucx::networks_in(rc + ud, true).move_memory);
    EXPECT_FALSE(ucx::networks_in(rc + ud, false).move_memory);
    EXPECT_TRUE(ucx::networks_in(rc + with("a-", "ud_verbs/bnxt_re0:1"), false).move_memory) << "UCX_TLS=rc";
    EXPECT_TRUE(ucx::networks_in(rc, false).move_memory) << "it has nothing else";
    EXPECT_TRUE(ucx::networks_in(rc + ud + dc, false).move_memory);
}

TEST(UcxTransport, KnowsForHowManyRanksUcxTakesRc) {
    const char* const variables[] = {"UCX_NUM_EPS", "UCX_RC_MAX_NUM_EPS", "UCX_RC_MLX5_MAX_NUM_EPS", "UCX_RC_VERBS_MAX_NUM_EPS"};
    for (const char* variable : variables)
        if (std::getenv(variable)) GTEST_SKIP() << variable << " is set";
    EXPECT_TRUE(ucx::takes_rc_for(256));
    EXPECT_FALSE(ucx::takes_rc_for(257));
    ::setenv("UCX_RC_MAX_NUM_EPS", "inf", 1);
    EXPECT_TRUE(ucx::takes_rc_for(100'000));
    ::setenv("UCX_RC_MAX_NUM_EPS", "100", 1);
    EXPECT_FALSE(ucx::takes_rc_for(101));
    ::setenv("UCX_NUM_EPS", "50", 1);
    EXPECT_TRUE(ucx::takes_rc_for(101));
    for (const char* variable : variables) ::unsetenv(variable);
}

#ifdef ROLLCALL_HAS_OFI
TEST(OfiTransport, SaysHowMuchSharedMemoryItsRanksNeed) {
    constexpr std::uint64_t kMebibyte = 1 << 20;
    TransportOptions options;
    options.local_size = 16;
    const std::uint64_t need = ofi::shared_memory_need(16, 2);
    EXPECT_EQ(need, (15 * 8 + 2 * 16) * kMebibyte);
    const auto check = [&](std::uint64_t size, std::uint64_t available, bool must_have_it = false) {
        ofi::check_shared_memory(options, must_have_it, {"/a/place", size, available}, 2);
    };
    const auto said = [&](std::uint64_t size, std::uint64_t available, bool must_have_it = false) {
        return refusal(ErrorCode::transport, [&] { check(size, available, must_have_it); });
    };
    EXPECT_NO_THROW(check(need, need));
    EXPECT_NO_THROW(check(0, 0)) << "there is no limit";
    EXPECT_TRUE(contains(said(64 * kMebibyte, 50 * kMebibyte), "/a/place is too small: the 16 ranks on this host need 152.0 MiB "));
    EXPECT_TRUE(contains(said(64 * kMebibyte, 50 * kMebibyte), "it has 64.0 MiB, of which 50.0 MiB are free"));
    // Other programs use the place.
    EXPECT_TRUE(contains(said(1024 * kMebibyte, 31 * kMebibyte), "it has 1024.0 MiB, of which 31.0 MiB are free"));
    // libfabric offers it to no rank, so all use the network, unless the user wants shared memory.
    EXPECT_NO_THROW(check(31 * kMebibyte, 31 * kMebibyte));
    EXPECT_TRUE(contains(said(31 * kMebibyte, 31 * kMebibyte, true), "it has 31.0 MiB"));
    options.local_rank = 3;
    EXPECT_EQ(said(need - 1, need - 1), "/a/place is too small for the 16 ranks on this host, as the first one of them says");
    options.local_size = 1;
    options.local_rank = 0;
    EXPECT_NO_THROW(check(40 * kMebibyte, kMebibyte));
}

// The provider shm installs handlers when an endpoint is made.
TEST(OfiTransport, LeavesTheHandlersOfTheProgram) {
    constexpr int kCaught[] = {SIGBUS, SIGSEGV, SIGTERM};
    struct sigaction mine {
    }, before[NSIG];
    void (*const handler)(int) = [](int) {};
    mine.sa_handler = handler;
    for (const int signal : kCaught) ASSERT_EQ(::sigaction(signal, &mine, &before[signal]), 0);
    mine.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGINT, &mine, &before[SIGINT]), 0);
    TransportOptions options;
    options.size = options.local_size = 2;
    options.ofi_provider = "shm";
    { const auto transport = make_transport("ofi", options); }
    struct sigaction now {};
    ASSERT_EQ(::sigaction(SIGINT, &before[SIGINT], &now), 0);
    EXPECT_TRUE(now.sa_handler == SIG_IGN);
    for (const int signal : kCaught) {
        ASSERT_EQ(::sigaction(signal, &before[signal], &now), 0);
        EXPECT_TRUE(now.sa_handler == handler) << signal;
    }
}

TEST(OfiTransport, AsksForALargerLimitOfFileSizes) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit low{1 << 20, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
    TransportOptions options;  // also of a job of one rank
    const auto network = refusal(ErrorCode::transport, [] { ofi::check_length_of_file((1 << 20) + 1, "it"); });
    const auto shared_memory = refusal(ErrorCode::transport, [&] { ofi::check_shared_memory(options, false); });
    EXPECT_NO_THROW(ofi::check_length_of_file(1 << 20, "it"));
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(network,
              "it is a file of 1.0 MiB, and this process may write files of up to 1.0 MiB; raise the limit of file sizes "
              "(ulimit -f unlimited)");
    EXPECT_TRUE(contains(shared_memory, "libfabric's shared memory of this rank is a file of 16.0 MiB")) << shared_memory;
}
#endif

// Sizes at which pieces change from the heap to mapped memory, and to huge pages: every byte can be written.
TEST(PlainMemory, CanBeWrittenInFull) {
    PlainMemory memory;
    constexpr std::uint64_t kHuge = 2 << 20;
    for (const std::uint64_t size : {std::uint64_t{1}, PlainMemory::kMapped - 1, PlainMemory::kMapped, PlainMemory::kMapped + 1, kHuge - 1,
                                     kHuge, kHuge + 1, 5 * kHuge}) {
        void* const piece = memory.allocate(size);
        ASSERT_NE(piece, nullptr) << size;
        std::memset(piece, 1, size);
        memory.release(piece, size);
    }
}

TEST(PlainMemory, SaysWhenThereIsNone) {
    PlainMemory memory;
    EXPECT_EQ(memory.allocate(std::uint64_t{1} << 60), nullptr);
    memory.release(nullptr, 1);
    memory.release(nullptr, PlainMemory::kMapped);
}

}  // namespace
}  // namespace rollcall::transport
