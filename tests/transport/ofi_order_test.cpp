// Tests what happens when a provider of libfabric reports packets in another order than they were sent in, as efa does. It is not here, so
// functions of a provider are replaced, and it gets another name.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/library.hpp"
#include "transports/ofi/packet_order.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::test {
namespace {

using transport::Path;
using namespace std::chrono_literals;

/// Holds back long packets that come in while it is told to. It must live longer than a World.
class LatePackets {
  public:
    LatePackets() {
        auto info = transport::ofi::ask("tcp");
        if (!info) info = transport::ofi::ask("tcp;ofi_rxm");  // libfabric 1.17
        EXPECT_EQ(transport::ofi::library().fabric(info->fabric_attr, &fabric_, nullptr), 0);
        open_domain_ = fabric_->ops->domain;
        fabric_->ops->domain = &open_domain;
        fi_cq_attr attributes{};
        attributes.format = FI_CQ_FORMAT_MSG;
        EXPECT_EQ(fi_domain(fabric_, info.get(), &domain_, nullptr), 0);
        infos_.clear();
        EXPECT_EQ(fi_cq_open(domain_, &attributes, &queue_, nullptr), 0);
        read_ = queue_->ops->read;
        queue_->ops->read = &read;
        self = this;
    }
    ~LatePackets() {
        self = nullptr;
        queue_->ops->read = read_;
        fabric_->ops->domain = open_domain_;
        for (fid* each : {&queue_->fid, &domain_->fid, &fabric_->fid}) fi_close(each);
    }
    LatePackets(const LatePackets&) = delete;
    LatePackets& operator=(const LatePackets&) = delete;

    /// To be called when the endpoints are open: from now on nobody knows their provider.
    void rename() {
        for (fi_info* info : infos_) std::strcpy(info->fabric_attr->prov_name, "odd");
    }
    bool holds = false;
    int held() const { return held_ ? 1 : 0; }

  private:
    static int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
        infos_.push_back(info);
        return open_domain_(fabric, info, domain, context);
    }
    static ssize_t read(fid_cq* queue, void* into, size_t) {
        if (self->held_ && !self->holds && self->held_of_ == queue) {
            *static_cast<fi_cq_msg_entry*>(into) = *self->held_;
            self->held_.reset();
            return 1;
        }
        const ssize_t count = self->read_(queue, into, 1);
        if (count != 1 || !self->holds || self->held_) return count;  // `into` may be null: the provider only makes progress then
        const auto& entry = *static_cast<fi_cq_msg_entry*>(into);
        if (entry.len < 1000) return count;
        if (!reinterpret_cast<transport::ofi::Packet*>(entry.op_context)->incoming) return count;
        self->held_ = entry;
        self->held_of_ = queue;
        return -FI_EAGAIN;
    }

    static LatePackets* self;
    static inline std::vector<fi_info*> infos_;
    static inline decltype(fi_ops_fabric::domain) open_domain_ = nullptr;
    fid_fabric* fabric_ = nullptr;
    fid_domain* domain_ = nullptr;
    fid_cq* queue_ = nullptr;
    fid_cq* held_of_ = nullptr;
    std::optional<fi_cq_msg_entry> held_;
    decltype(fi_ops_cq::read) read_ = nullptr;
};
LatePackets* LatePackets::self = nullptr;

class OfiOrder : public testing::Test {
  protected:
    OfiOrder() : world(*std::ranges::find(ways(), "ofi_tcp", &Way::name), 2) {
        EXPECT_TRUE(world.meet(0, 1));
        late.rename();
        for (int rank : {0, 1}) world[rank].heard.clear();
    }
    /// Sends a long message, which is late, and short ones.
    void send_late(std::uint32_t short_ones) {
        late.holds = true;
        sent_.resize(short_ones + 1);
        for (std::uint32_t i = 0; i <= short_ones; ++i)
            sent_[i].note(
                world[0].transport->send(1, header_of(0, i), {payload_.data(), i == 0 ? payload_.size() : 5}, Path::eager, sent_[i]));
    }

    LatePackets late;
    World world;

  private:
    const std::vector<std::byte> payload_ = pattern(8000, 1);
    std::vector<Told> sent_;
};

TEST_F(OfiOrder, OfMessagesIsThatOfTheirSender) {
    constexpr std::uint32_t kShort = 200;
    send_late(kShort);
    ASSERT_TRUE(world.until([&] { return late.held() == 1; }));
    for (int i = 0; i < 1000; ++i) world.progress();
    EXPECT_TRUE(world[1].heard.empty()) << "the first one is missing";
    late.holds = false;
    ASSERT_TRUE(world.until([&] { return world[1].heard.size() == kShort + 1; }));
    for (std::uint32_t i = 0; i <= kShort; ++i) EXPECT_EQ(number_of(world[1].heard[i]), i);
    EXPECT_EQ(world[1].heard.front().payload, pattern(8000, 1));
    EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
    ASSERT_TRUE(world.meet(0, 1));
    EXPECT_TRUE(world.until([&] { return world[1].transport->arm(); }));
    EXPECT_TRUE(world.close());
}

TEST_F(OfiOrder, WaitsForASenderThatMakesNoCall) {
    send_late(3);
    const auto end = std::chrono::steady_clock::now() + transport::ofi::PacketOrder::kPatience * 5 / 2;
    ASSERT_TRUE(world.until(1, [&] { return std::chrono::steady_clock::now() > end; }));
    EXPECT_TRUE(world[1].lost.empty());
    EXPECT_EQ(late.held(), 1);
    // It goes on, and answers. What is missing does not come.
    ASSERT_TRUE(world.until([&] { return !world[0].lost.empty() && !world[1].lost.empty(); }));
    EXPECT_TRUE(has(world[1].lost.front().second, "libfabric lost messages from it")) << world[1].lost.front().second;
    EXPECT_TRUE(has(world[0].lost.front().second, "it says that libfabric lost messages")) << world[0].lost.front().second;
    EXPECT_TRUE(world[1].heard.empty());
}

TEST(OfiProviders, OfOneStreamReportPacketsInOrder) {
    const auto in_order = [](const char* provider) {
        const transport::ofi::Info info(transport::ofi::library().dupinfo(nullptr));
        info->fabric_attr->prov_name = ::strdup(provider);
        return transport::ofi::completes_in_order(*info);
    };
    for (const char* const provider : {"shm", "tcp", "tcp;ofi_rxm", "net"}) EXPECT_TRUE(in_order(provider)) << provider;
    for (const char* const provider : {"efa", "psm2", "psm3", "cxi", "opx", "verbs;ofi_rxm"}) EXPECT_FALSE(in_order(provider)) << provider;
}

}  // namespace
}  // namespace rollcall::test
#endif
