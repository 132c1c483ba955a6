// Transports by name, what they are told, and the memory they give.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "foundation/settings.hpp"
#include "tests/unit/errors.hpp"
#include "transports/catalogue.hpp"
#include "transports/memory.hpp"
#include "transports/transport.hpp"
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
    EXPECT_NO_THROW(ucx::check_shared_memory(options, "/dev/shm", 4 * each, each));
    const auto said = [&](std::uint64_t size, std::uint64_t available) {
        return refusal(ErrorCode::transport, [&] { ucx::check_shared_memory(options, "/a/place", size, available); });
    };
    EXPECT_TRUE(contains(said(4 * each - 1, 4 * each - 1), "/a/place is too small: the 4 ranks on this host need "));
    EXPECT_TRUE(contains(said(2 << 20, 1 << 20), "it has 2.0 MiB, of which 1.0 MiB are free"));
    // Others have taken it.
    EXPECT_TRUE(contains(said(1 << 30, each - 1), "it has 1024.0 MiB, of which "));
    // What all ranks see alike is told in full by the first one.
    options.local_rank = 3;
    EXPECT_EQ(said(4 * each - 1, 4 * each - 1), "/a/place is too small for the 4 ranks on this host, as the first one of them says");
    EXPECT_TRUE(contains(said(1 << 30, each - 1), "it has 1024.0 MiB, of which "));
}

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
