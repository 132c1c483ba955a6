// Which domains of providers belong to the interfaces of a job. No such networks are here, so the descriptions are made by hand.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "transports/ofi/domains.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/library.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::test {
namespace {

using transport::ofi::Info;
using transport::ofi::Place;
using transport::ofi::place_of;
using transport::ofi::Places;

constexpr std::nullopt_t kNever = std::nullopt;

// What a provider says of a domain.
class Domain {
  public:
    explicit Domain(const char* name) : info_(transport::ofi::library().dupinfo(nullptr)) { info_->domain_attr->name = ::strdup(name); }
    ~Domain() { info_->nic = nullptr; }
    Domain(const Domain&) = delete;
    Domain& operator=(const Domain&) = delete;

    /// The provider also says what device it is.
    Domain& on(const char* device, std::uint8_t bus = 0) {
        device_.name = const_cast<char*>(device);
        bus_.bus_type = bus ? FI_BUS_PCI : FI_BUS_UNKNOWN;
        bus_.attr.pci = {.domain_id = 0, .bus_id = bus, .device_id = 0, .function_id = 1};
        nic_.device_attr = &device_;
        nic_.bus_attr = &bus_;
        info_->nic = &nic_;
        return *this;
    }
    /// The provider says how fast it is, too.
    Domain& at(std::size_t speed_bits) {
        link_.speed = speed_bits;
        nic_.link_attr = &link_;
        info_->nic = &nic_;
        return *this;
    }
    Domain& of(const char* provider, const char* fabric = "a") {
        info_->fabric_attr->prov_name = ::strdup(provider);
        info_->fabric_attr->name = ::strdup(fabric);
        return *this;
    }
    operator const fi_info&() const { return *info_; }

  private:
    Info info_;
    fi_device_attr device_{};
    fi_bus_attr bus_{};
    fi_link_attr link_{};
    fid_nic nic_{};
};

TEST(OfiDomains, AreThoseOfTheirDevices) {
    const Places places{{{"ens5", "", false}, {"rdmap0s6:1", "", true}}, {{"ens6", "", false}, {"mlx5_1:1", "", true}}, false};
    EXPECT_EQ(place_of(Domain("ens5"), places), 0u);
    EXPECT_EQ(place_of(Domain("rdmap0s6-rdm"), places), 1u);
    EXPECT_EQ(place_of(Domain("rdmap0s6-dgrm"), places), 1u);
    EXPECT_EQ(place_of(Domain("efa_0").on("rdmap0s6"), places), 1u);
    EXPECT_EQ(place_of(Domain("ens6"), places), kNever) << "this host has it, and the job does not use it";
    EXPECT_EQ(place_of(Domain("mlx5_1"), places), kNever);
    EXPECT_EQ(place_of(Domain("lo"), {places.wanted, {{"lo", "", false}}, false}), kNever);
}

TEST(OfiDomains, ThatNoInterfaceIsNamedAfterAreUsedUnlessInterfacesAreNamed) {
    const Places automatic{{{"hsn0", "", false}}, {{"eth0", "", false}}, false};
    EXPECT_EQ(place_of(Domain("cxi0"), automatic), 1u) << "after all interfaces";
    EXPECT_EQ(place_of(Domain("cxi0"), {automatic.wanted, automatic.others, true}), kNever);
}

TEST(OfiDomains, AreWhereTheirDevicesAre) {
    const Place first{"hsn0", "/sys/devices/pci0000:20/0000:20:01.0/0000:21:00.1", false};
    const Place second{"hsn1", "/sys/devices/pci0000:30/0000:30:01.0/0000:31:00.1", false};
    const Place ethernet{"mlx5_0:1", "/sys/devices/pci0000:40/0000:41:00.1", true};
    for (const bool named : {false, true}) {
        EXPECT_EQ(place_of(Domain("cxi0").on("cxi0", 0x21), {{second, first}, {}, named}), 1u);
        EXPECT_EQ(place_of(Domain("cxi0").on("cxi0", 0x21), {{second}, {first}, named}), named ? std::optional<std::size_t>() : 1u);
        // The name says more: the network interface is the same device.
        const Place network{"eth0", ethernet.device, false};
        EXPECT_EQ(place_of(Domain("mlx5_0").on("mlx5_0", 0x41), {{network}, {ethernet}, named}), kNever);
        EXPECT_EQ(place_of(Domain("mlx5_0").on("mlx5_0", 0x41), {{network, ethernet}, {}, named}), 1u);
    }
}

TEST(OfiDomains, HaveTheSpeedOfTheirDevices) {
    const Places places{{{"eth0", "", false, 10'000}, {"mlx5_0:1", "", true, 25'000}, {"mlx5_2:1", "", true, 200'000}}, {}, false};
    EXPECT_EQ(speed_of(Domain("mlx5_2").of("verbs;ofi_rxm"), places), 200'000u);
    EXPECT_EQ(speed_of(Domain("mlx5_0").of("verbs;ofi_rxm").at(50'000'000'000), places), 50'000u) << "the provider knows it";
    EXPECT_EQ(speed_of(Domain("cxi1").of("cxi").at(200'000'000'000), places), 200'000u);
    EXPECT_EQ(speed_of(Domain("cxi1").of("cxi"), places), 0u);
    EXPECT_EQ(speed_of(Domain("eth0").of("tcp;ofi_rxm").at(1'000'000'000), places), 0u) << "the order of the interfaces decides";
}

TEST(OfiDomains, OfTheFastestDevicesAreTakenInTurn) {
    const Domain slow("a"), fast("b"), again("c"), same("b"), elsewhere("d");
    for (const Domain* each : {&slow, &fast, &again, &same}) const_cast<Domain*>(each)->of("cxi");
    const_cast<Domain&>(elsewhere).of("cxi", "another fabric");
    const auto best = [&](int turn) -> const fi_info* {
        const auto at = [](const Domain& domain) { return &static_cast<const fi_info&>(domain); };
        return transport::ofi::best_of(
            {{at(slow), 0, 25}, {at(again), 4, 200}, {at(fast), 2, 200}, {at(same), 2, 200}, {at(elsewhere), 5, 200}}, turn);
    };
    EXPECT_EQ(best(0), &static_cast<const fi_info&>(fast));
    EXPECT_EQ(best(1), &static_cast<const fi_info&>(again));
    EXPECT_EQ(best(2), best(0)) << "each device once, and no other fabric";
}

// A buffer that is given back must not be read any more.
TEST(OfiDomains, OfCxiHaveNoReads) {
    using transport::ofi::reads_end;
    for (const char* provider : {"cxi", "tcp", "net"}) EXPECT_FALSE(reads_end(Domain("x").of(provider))) << provider;
    for (const char* provider : {"verbs;ofi_rxm", "tcp;ofi_rxm"}) EXPECT_TRUE(reads_end(Domain("x").of(provider))) << provider;
}

TEST(OfiDomains, OfRdmaAreNamedAfterItsDevices) {
    const Places places{{{"eth0", "", false}, {"mlx5_0:1", "", true}}, {{"hfi1_0:1", "", true}}, false};
    EXPECT_FALSE(is_on_rdma(Domain("eth0"), places));
    EXPECT_FALSE(is_on_rdma(Domain("autoselect_one;eth0;eth1"), places));
    EXPECT_TRUE(is_on_rdma(Domain("mlx5_0"), places));
    EXPECT_TRUE(is_on_rdma(Domain("hfi1_0"), places));
}

TEST(OfiDomains, OfNativeNetworksComeFirst) {
    const auto place = [](std::string_view provider) {
        const auto found = std::ranges::find(transport::ofi::kBetweenHosts, provider);
        EXPECT_NE(found, std::end(transport::ofi::kBetweenHosts)) << provider;
        return found - std::begin(transport::ofi::kBetweenHosts);
    };
    for (const std::string_view native : {"cxi", "efa", "opx", "psm2"}) EXPECT_LT(place(native), place("verbs;ofi_rxm")) << native;
    EXPECT_LT(place("verbs;ofi_rxm"), place("tcp"));
}

}  // namespace
}  // namespace rollcall::test
#endif
