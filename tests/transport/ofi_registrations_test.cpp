// Tests what happens when a provider of libfabric refuses to register memory, and when it wants registrations to belong to an endpoint.
// Providers that do so need networks that are not here, so functions of a provider are replaced.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rollcall/error.hpp>

#include "tests/transport/world.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/library.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;

/// While this lives, the provider wants more of registrations (FI_MR_...), and this sees and refuses them. It must live longer than a
/// World.
class Registrations {
  public:
    Registrations(const Way& way, int wanted) : wanted_(wanted) {
        auto info = transport::ofi::ask(way.reads ? "tcp;ofi_rxm" : "tcp", way.reads);
        if (!info) info = transport::ofi::ask("tcp;ofi_rxm");  // libfabric 1.17
        EXPECT_EQ(transport::ofi::library().fabric(info->fabric_attr, &fabric_, nullptr), 0);
        open_domain_ = fabric_->ops->domain;
        fabric_->ops->domain = &open_domain;
        self = this;
    }
    ~Registrations() {
        self = nullptr;
        fabric_->ops->domain = open_domain_;
        fi_close(&fabric_->fid);
    }
    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;

    std::uint64_t refused = 0;  ///< The access (FI_READ, ...) for which nothing is registered.
    int made = 0, bound = 0, enabled = 0, ended = 0;
    bool endpoint_closes = true;       ///< Whether the provider closes endpoints at all.
    int closed = 0, not_closed = 0;    ///< Endpoints that hold no registrations, and those that were to be closed all the same.
    std::map<fid*, fid*> endpoint_of;  ///< Of the registrations that are bound.

  private:
    static int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
        const int result = self->open_domain_(fabric, info, domain, context);
        if (result != 0) return result;
        info->domain_attr->mr_mode |= self->wanted_;
        self->before_ = *(*domain)->mr;
        self->instead_ = self->before_;
        self->instead_.reg = &make;
        (*domain)->mr = &self->instead_;
        return 0;
    }
    static int make(fid* domain, const void* memory, size_t size, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
                    fid_mr** registration, void* context) {
        if (access & self->refused) return -FI_ENOMEM;
        const int result = self->before_.reg(domain, memory, size, access, offset, key, flags, registration, context);
        if (result != 0) return result;
        ++self->made;
        self->of_registration_ = *(*registration)->fid.ops;
        self->end_ = self->of_registration_.close;
        self->of_registration_.close = &end;
        self->of_registration_.bind = &bind;
        self->of_registration_.control = &control;
        (*registration)->fid.ops = &self->of_registration_;
        return 0;
    }
    static int bind(fid* registration, fid* endpoint, uint64_t) {
        EXPECT_EQ(endpoint->fclass, size_t{FI_CLASS_EP});
        self->endpoint_of[registration] = endpoint;
        if (endpoint->ops != &self->of_endpoint_) {
            self->of_endpoint_ = *endpoint->ops;
            self->close_endpoint_ = std::exchange(self->of_endpoint_.close, &close_endpoint);
            endpoint->ops = &self->of_endpoint_;
        }
        EXPECT_EQ(self->bound++, self->enabled);
        return 0;
    }
    static int control(fid*, int command, void*) {
        EXPECT_EQ(command, int{FI_ENABLE});
        EXPECT_EQ(self->bound, ++self->enabled);
        return 0;
    }

    static int close_endpoint(fid* endpoint) {
        const bool is_held = std::ranges::any_of(self->endpoint_of, [&](const auto& each) { return each.second == endpoint; });
        if (is_held || !self->endpoint_closes) {
            ++self->not_closed;
            return -FI_EBUSY;
        }
        ++self->closed;
        return self->close_endpoint_(endpoint);
    }

    static int end(fid* registration) {
        ++self->ended;
        self->endpoint_of.erase(registration);
        return self->end_(registration);
    }

    static Registrations* self;
    const int wanted_;
    fid_fabric* fabric_ = nullptr;
    decltype(fi_ops_fabric::domain) open_domain_ = nullptr;
    fi_ops_mr before_{}, instead_{};
    fi_ops of_registration_{}, of_endpoint_{};
    decltype(fi_ops::close) end_ = nullptr, close_endpoint_ = nullptr;
};
Registrations* Registrations::self = nullptr;

const Way& way_of(const char* name) { return *std::ranges::find(ways(), name, &Way::name); }

void transfer(World& world, std::size_t size) {
    const std::vector<std::byte> payload = pattern(size, 1);
    std::vector<std::byte> landed(size);
    Told sent, fetched;
    world[1].heard.clear();
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), size}, fetched));
    ASSERT_TRUE(world.until([&] { return sent.ended() && fetched.ended(); }));
    EXPECT_EQ(fetched.outcome, Outcome::ok);
    EXPECT_EQ(sent.outcome, Outcome::ok);
    EXPECT_TRUE(landed == payload);
}

TEST(OfiRegistrations, ThatTheReceiverIsRefusedLetTheDataComeInPackets) {
    Registrations registrations(way_of("ofi_tcp_reads"), FI_MR_LOCAL);
    World world(way_of("ofi_tcp_reads"), 2);
    transfer(world, 1'000'000);
    const int before = registrations.made;
    EXPECT_GT(before, 4) << "packets, and both buffers";
    registrations.refused = FI_READ;
    transfer(world, 1'000'000);
    EXPECT_EQ(registrations.made, before) << "the sender is not asked to register its own";
    for (int rank : {0, 1}) EXPECT_TRUE(world[rank].lost.empty());
    EXPECT_TRUE(world.close());
}

TEST(OfiRegistrations, OfAFetchEndWhenItIsGivenUp) {
    Registrations registrations(way_of("ofi_tcp_reads"), FI_MR_LOCAL);
    World world(way_of("ofi_tcp_reads"), 2);
    const std::vector<std::byte> payload = pattern(1'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    Told sent, fetched;
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
    EXPECT_EQ(registrations.ended, 0);
    EXPECT_TRUE(world[1].transport->release(0, fetched)) << "nothing has been read";
    EXPECT_EQ(registrations.ended, 1);
    landed = {};
    ASSERT_TRUE(world.until([&] { return sent.ended(); }));
    EXPECT_FALSE(fetched.ended());
    EXPECT_TRUE(world.close());
}

// Less is then under way at a time.
TEST(OfiRegistrations, OfPacketsThatAreRefusedLeaveThoseThereAre) {
    Registrations registrations(way_of("ofi_tcp"), FI_MR_LOCAL);
    World world(way_of("ofi_tcp"), 2);
    registrations.refused = ~std::uint64_t{0};
    ASSERT_TRUE(world.meet(0, 1));
    constexpr int kCount = 120;
    const std::vector<std::byte> payload = pattern(10'000, 1);
    std::vector<Told> sent(kCount);
    for (int i = 0; i < kCount; ++i)
        sent[static_cast<std::size_t>(i)].note(world[0].transport->send(1, header_of(0, static_cast<std::uint32_t>(i)),
                                                                        {payload.data(), payload.size()}, Path::eager,
                                                                        sent[static_cast<std::size_t>(i)]));
    ASSERT_TRUE(world.until([&] { return world[1].heard.size() == kCount; }));
    ASSERT_TRUE(world.until([&] { return std::ranges::all_of(sent, [](const Told& one) { return one.ended(); }); }));
    for (const Heard& heard : world[1].heard) EXPECT_TRUE(heard.payload == payload);
    for (int rank : {0, 1}) EXPECT_TRUE(world[rank].lost.empty());
    transfer(world, 9'000'000);
    EXPECT_TRUE(world.close());
}

TEST(OfiRegistrations, OfPacketsThatAreRefusedAtTheStartAreAnError) {
    Registrations registrations(way_of("ofi_tcp"), FI_MR_LOCAL);
    registrations.refused = ~std::uint64_t{0};
    EXPECT_THROW(World(way_of("ofi_tcp"), 2), Error);
}

TEST(OfiRegistrations, BelongToTheEndpointIfTheProviderWantsIt) {
    Registrations registrations(way_of("ofi_tcp_reads"), FI_MR_ENDPOINT);
    World world(way_of("ofi_tcp_reads"), 2);
    transfer(world, 1'000'000);
    EXPECT_GE(registrations.made, 3) << "two boards, and the buffer of the sender";
    EXPECT_EQ(registrations.bound, registrations.made);
    EXPECT_EQ(registrations.enabled, registrations.made);
    EXPECT_TRUE(world.close());
}

// Both ranks end in the middle of a transfer: one has exposed its data.
void end_in_a_transfer(Registrations& registrations, bool has_failed) {
    const std::vector<std::byte> payload = pattern(1'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    Told sent, fetched;
    World world(way_of("ofi_tcp_reads"), 2);
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
    const int before = registrations.bound;
    ASSERT_TRUE(world.until(0, [&] { return registrations.bound > before; }));
    if (has_failed) {
        registrations.endpoint_closes = false;
        world[0].transport->disconnect(1);
    }
    world[0].owned.reset();
}

TEST(OfiRegistrations, EndBeforeTheEndpointThatHoldsThem) {
    Registrations registrations(way_of("ofi_tcp_reads"), FI_MR_ENDPOINT);
    end_in_a_transfer(registrations, false);
    EXPECT_EQ(registrations.not_closed, 0);
    EXPECT_EQ(registrations.closed, 2);
    EXPECT_TRUE(registrations.endpoint_of.empty());
}

// Otherwise the network could go on to use memory that is free.
TEST(OfiRegistrations, OfAnEndpointThatCannotBeClosedAreLeftWithIt) {
    Registrations registrations(way_of("ofi_tcp_reads"), FI_MR_ENDPOINT);
    end_in_a_transfer(registrations, true);
    EXPECT_EQ(registrations.not_closed, 2) << "each is tried once";
    EXPECT_EQ(registrations.closed, 0);
}

// Where there are no connections, nothing is taken out of the table of addresses: that is forbidden while something is under way.
TEST(OfiEndpoints, PartOnlyWhereThereAreConnections) {
    EXPECT_TRUE(transport::ofi::ends_connections("tcp;ofi_rxm"));
    EXPECT_TRUE(transport::ofi::ends_connections("verbs;ofi_rxm"));
    for (const char* const provider : {"efa", "cxi", "psm3", "opx", "shm", "tcp"}) EXPECT_FALSE(transport::ofi::ends_connections(provider));
}

TEST(OfiProviders, ThatWouldAbortGetAnEventQueue) {
    const auto needs_it = [](const char* provider) {
        const transport::ofi::Info info(transport::ofi::library().dupinfo(nullptr));
        info->fabric_attr->prov_name = ::strdup(provider);
        return transport::ofi::needs_event_queue(*info);
    };
    EXPECT_TRUE(needs_it("efa"));
    EXPECT_FALSE(needs_it("psm2"));
}

// fi_efa(7) says that its FI_PROGRESS_AUTO is an error.
TEST(OfiReads, NeedNoHelpWhereTheProviderRightlySaysSo) {
    const auto alone = [](const char* provider, fi_progress progress) {
        const transport::ofi::Info info(transport::ofi::library().dupinfo(nullptr));
        info->fabric_attr->prov_name = ::strdup(provider);
        info->domain_attr->data_progress = progress;
        return transport::ofi::reads_alone(*info);
    };
    EXPECT_FALSE(alone("efa", FI_PROGRESS_AUTO));
    EXPECT_FALSE(alone("tcp;ofi_rxm", FI_PROGRESS_MANUAL));
    EXPECT_TRUE(alone("psm2", FI_PROGRESS_AUTO));
    EXPECT_TRUE(alone("verbs;ofi_rxm", FI_PROGRESS_MANUAL));
}

// psm2 and psm3 make no progress while nobody waits in libfabric.
TEST(OfiDescriptors, AreUsedOnlyWhereTheyAreRung) {
    const auto used = [](const char* provider) {
        const transport::ofi::Info info(transport::ofi::library().dupinfo(nullptr));
        info->fabric_attr->prov_name = ::strdup(provider);
        return transport::ofi::has_descriptor(*info);
    };
    EXPECT_TRUE(used("verbs;ofi_rxm"));
    EXPECT_TRUE(used("tcp"));
    EXPECT_FALSE(used("psm2"));
    EXPECT_FALSE(used("psm3"));
}

TEST(OfiProviders, MoreRanksThanSharedMemoryConnectsUseTheNetwork) {
    transport::TransportOptions options;
    options.size = options.local_size = 256;
    EXPECT_TRUE(transport::ofi::choose(options).shared_memory);
    options.size = options.local_size = 257;
    const transport::ofi::Providers many = transport::ofi::choose(options);
    EXPECT_FALSE(many.shared_memory);
    EXPECT_TRUE(many.network);
    options.ofi_provider = "shm";
    EXPECT_THROW(transport::ofi::choose(options), Error);
}

}  // namespace
}  // namespace rollcall::test
#endif
