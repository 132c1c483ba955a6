// Tests what happens when a provider of libfabric loses events or messages, or does not say what failed. No provider does this on demand,
// so the functions of a provider are replaced.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/library.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;

/// Replaces functions of a provider, for all of its queues and endpoints in this process, while this lives.
class Faults {
  public:
    explicit Faults(const Way& way) {
        auto info = transport::ofi::ask(way.name == "ofi_shm" ? "shm" : way.reads ? "tcp;ofi_rxm" : "tcp", way.reads);
        if (!info) info = transport::ofi::ask("tcp;ofi_rxm");  // libfabric 1.17
        provider = info->fabric_attr->prov_name;
        fi_cq_attr attributes{};
        attributes.format = FI_CQ_FORMAT_MSG;
        fi_av_attr vector{};
        vector.type = info->domain_attr->av_type;
        EXPECT_EQ(transport::ofi::library().fabric(info->fabric_attr, &fabric_, nullptr), 0);
        EXPECT_EQ(fi_domain(fabric_, info.get(), &domain_, nullptr), 0);
        EXPECT_EQ(fi_cq_open(domain_, &attributes, &queue_, nullptr), 0);
        EXPECT_EQ(fi_endpoint(domain_, info.get(), &endpoint_, nullptr), 0);
        EXPECT_EQ(fi_av_open(domain_, &vector, &addresses_, nullptr), 0);
        EXPECT_EQ(fi_ep_bind(endpoint_, &addresses_->fid, 0), 0);
        EXPECT_EQ(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), 0);
        EXPECT_EQ(fi_enable(endpoint_), 0);
        before_ = *queue_->ops;
        queue_->ops->read = &read;
        queue_->ops->readerr = &read_its_error;
        inject_ = endpoint_->msg->inject;
        endpoint_->msg->inject = &inject;
        receive_ = endpoint_->msg->recv;
        endpoint_->msg->recv = &receive;
        self = this;
    }
    ~Faults() {
        self = nullptr;
        queue_->ops->read = before_.read;
        queue_->ops->readerr = before_.readerr;
        endpoint_->msg->inject = inject_;
        endpoint_->msg->recv = receive_;
        for (fid* each : {&endpoint_->fid, &addresses_->fid, &queue_->fid, &domain_->fid, &fabric_->fid}) fi_close(each);
    }
    Faults(const Faults&) = delete;
    Faults& operator=(const Faults&) = delete;

    std::string provider;
    int next_result = 0;     ///< Not 0: what the next look at a queue gives.
    int every_result = 0;    ///< Not 0: what all looks at queues give.
    int receive_result = 0;  ///< Not 0: what the provider says to buffers for messages.
    int drops = 0;           ///< The number of messages that are to be lost.
    int injected = 0;        ///< The number of short messages sent.

  private:
    static ssize_t read(fid_cq* queue, void* into, size_t count) {
        if (self->every_result != 0) return self->every_result;
        if (self->next_result != 0) {
            const int result = self->next_result;
            if (result != -FI_EAVAIL) self->next_result = 0;
            return result;
        }
        return self->before_.read(queue, into, count);
    }
    static ssize_t read_its_error(fid_cq* queue, fi_cq_err_entry* into, uint64_t flags) {
        if (self->next_result == 0) return self->before_.readerr(queue, into, flags);
        self->next_result = 0;
        *into = {};
        into->err = FI_EOTHER;
        return 1;
    }
    static ssize_t inject(fid_ep* endpoint, const void* bytes, size_t size, fi_addr_t to) {
        const ssize_t result = self->drops > 0 ? 0 : self->inject_(endpoint, bytes, size, to);
        if (self->drops > 0) --self->drops;
        if (result == 0) ++self->injected;
        return result;
    }

    static ssize_t receive(fid_ep* endpoint, void* into, size_t size, void* descriptor, fi_addr_t from, void* context) {
        if (self->receive_result != 0) return self->receive_result;
        return self->receive_(endpoint, into, size, descriptor, from, context);
    }

    static Faults* self;
    fid_fabric* fabric_ = nullptr;
    fid_domain* domain_ = nullptr;
    fid_cq* queue_ = nullptr;
    fid_ep* endpoint_ = nullptr;
    fid_av* addresses_ = nullptr;
    fi_ops_cq before_{};
    decltype(fi_ops_msg::inject) inject_ = nullptr;
    decltype(fi_ops_msg::recv) receive_ = nullptr;
};
Faults* Faults::self = nullptr;

std::vector<Way> ways_of_ofi() {
    std::vector<Way> all;
    for (const Way& way : ways())
        if (way.transport == "ofi") all.push_back(way);
    return all;
}

class OfiFaults : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Transport, OfiFaults, testing::ValuesIn(ways_of_ofi()), &name_of_way);

TEST_P(OfiFaults, ThatLoseEventsLoseThePeersOfThisRank) {
    for (const int error : {int{FI_EOVERRUN}, FI_EIO}) {
        World world(GetParam(), 3);
        Faults faults(GetParam());
        ASSERT_TRUE(world.meet(0, 1) && world.meet(0, 2) && world.meet(1, 2));
        constexpr std::size_t kSize = 4 << 20;
        const auto payload = pattern(kSize, 1);
        std::vector<std::byte> landed(kSize);
        Told sent, offered, fetched;
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), kSize}, Path::large, sent));
        offered.note(world[1].transport->send(0, header_of(1, 1), {payload.data(), kSize}, Path::large, offered));
        ASSERT_TRUE(world.until([&] { return !world[0].heard.empty() && !world[1].heard.empty(); }));
        fetched.note(world[0].transport->fetch(world[0].heard.front().offer, {landed.data(), kSize}, fetched));
        ASSERT_TRUE(world.until([&] { return fetched.ended() || landed.front() == payload.front(); })) << "it has begun";
        ASSERT_FALSE(GetParam().reads && fetched.ended()) << "the reads have ended before the fault";
        faults.next_result = -error;
        world[0].transport->progress();
        ASSERT_EQ(world[0].lost.size(), 2u);
        for (const auto& [peer, why] : world[0].lost) {
            EXPECT_TRUE(peer == 1 || peer == 2);
            EXPECT_TRUE(has(why, "the provider " + faults.provider)) << why;
        }
        EXPECT_EQ(sent.times, 1);
        EXPECT_EQ(sent.outcome, Outcome::failed);
        // Where the network writes into the buffer, this takes until it has ended.
        ASSERT_TRUE(world.until([&] { return fetched.ended(); }));
        Told later;
        later.note(world[0].transport->send(2, header_of(0, 2), {}, Path::eager, later));
        EXPECT_TRUE(later.ended() && later.outcome == Outcome::failed);
        // A buffer that was given back is not written any more.
        std::fill(landed.begin(), landed.end(), std::byte{0x11});
        for (int i = 0; i < 200; ++i) world.progress();
        EXPECT_EQ(std::count(landed.begin(), landed.end(), std::byte{0x11}), static_cast<std::ptrdiff_t>(kSize));
        EXPECT_TRUE(world.meet(1, 2)) << "other ranks go on";
        EXPECT_EQ(world[0].lost.size(), 2u);
        EXPECT_EQ(fetched.times, 1);
        EXPECT_TRUE(world[0].transport->arm()) << "there is nothing left to do";
    }
}

TEST_P(OfiFaults, OfNoPacketLoseNobodyUnlessMessagesWereLost) {
    World world(GetParam(), 3);
    Faults faults(GetParam());
    ASSERT_TRUE(world.meet(0, 1) && world.meet(0, 2));
    faults.next_result = -FI_EAVAIL;
    world[0].transport->progress();
    EXPECT_EQ(faults.next_result, 0);
    for (int i = 0; i < 200; ++i) world.progress();
    ASSERT_TRUE(world.meet(0, 1) && world.meet(0, 2));
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(world[rank].lost.empty());

    // The sender was told that its message has left, and it sends no other one to this peer.
    Told sent;
    faults.drops = 1;
    sent.note(world[0].transport->send(1, header_of(0, 7), {}, Path::eager, sent));
    EXPECT_EQ(faults.drops, 0);
    EXPECT_TRUE(sent.ended() && sent.outcome == Outcome::ok);
    faults.next_result = -FI_EAVAIL;
    world[0].transport->progress();
    ASSERT_TRUE(world.until([&] { return !world[1].lost.empty(); }));
    EXPECT_EQ(world[1].lost.front().first, 0);
    EXPECT_TRUE(has(world[1].lost.front().second, "lost messages")) << world[1].lost.front().second;
    ASSERT_TRUE(world.until([&] { return !world[0].lost.empty(); })) << "the sender is told: it may wait for an answer";
    EXPECT_EQ(world[0].lost.front().first, 1);
    EXPECT_TRUE(has(world[0].lost.front().second, "it says that libfabric lost messages")) << world[0].lost.front().second;
    EXPECT_TRUE(world[2].lost.empty());
    EXPECT_TRUE(world.meet(0, 2));
}

TEST_P(OfiFaults, OfNoPacketMakeARankAskThoseThatHaveOnlySent) {
    World world(GetParam(), 2);
    Faults faults(GetParam());
    Told sent;
    faults.drops = 1;
    sent.note(world[1].transport->send(0, header_of(1, 7), {}, Path::eager, sent));
    EXPECT_EQ(faults.drops, 0);
    EXPECT_TRUE(sent.ended() && sent.outcome == Outcome::ok);
    faults.next_result = -FI_EAVAIL;
    // It does not matter which look has found the error.
    EXPECT_FALSE(world[0].transport->arm());
    EXPECT_EQ(faults.next_result, 0);
    ASSERT_TRUE(world.until([&] { return !world[0].lost.empty() && !world[1].lost.empty(); }));
    EXPECT_EQ(world[0].lost.front().first, 1);
    EXPECT_TRUE(has(world[0].lost.front().second, "lost messages")) << world[0].lost.front().second;
}

TEST_P(OfiFaults, OfNoPacketMakeARankAskAllOthersOnlyNowAndThen) {
    World world(GetParam(), 3);
    Faults faults(GetParam());
    ASSERT_TRUE(world.meet(0, 1) && world.meet(0, 2) && world.meet(1, 2));
    const auto begin = std::chrono::steady_clock::now();
    faults.injected = 0;
    for (int i = 0; i < 20; ++i) {
        faults.next_result = -FI_EAVAIL;
        world[0].transport->progress();
    }
    const auto half_seconds = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(500);
    EXPECT_GE(faults.injected, 2);
    EXPECT_LE(faults.injected, world.size() * (half_seconds + 1)) << "over shared memory it also asks itself";
    const int before = faults.injected;
    // The last errors came after the first questions.
    EXPECT_TRUE(half_seconds > 0 || world.until(0, [&] { return faults.injected > before; }));
    for (int i = 0; i < 200; ++i) world.progress();
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(world[rank].lost.empty());
}

TEST_P(OfiFaults, ThatNeverEndLetReadsEnd) {
    World world(GetParam(), 2);
    Faults faults(GetParam());
    ASSERT_TRUE(world.meet(0, 1));
    constexpr std::size_t kSize = 8 << 20;
    const auto payload = pattern(kSize, 1);
    std::vector<std::byte> landed(kSize);
    Told offered, fetched;
    offered.note(world[1].transport->send(0, header_of(1, 1), {payload.data(), kSize}, Path::large, offered));
    ASSERT_TRUE(world.until([&] { return !world[0].heard.empty(); }));
    fetched.note(world[0].transport->fetch(world[0].heard.front().offer, {landed.data(), kSize}, fetched));
    ASSERT_TRUE(world.until([&] { return fetched.ended() || landed.front() == payload.front(); })) << "it has begun";
    ASSERT_FALSE(fetched.ended());
    faults.every_result = -FI_EIO;
    ASSERT_TRUE(world.until(0, [&] { return fetched.ended(); }));
    EXPECT_EQ(fetched.times, 1);
    EXPECT_EQ(fetched.outcome, Outcome::failed);
    EXPECT_EQ(world[0].lost.size(), 1u);
    EXPECT_TRUE(world[0].transport->release(1, fetched));
    EXPECT_TRUE(world[0].transport->arm()) << "there is nothing left to do";
    faults.every_result = 0;
    // Nothing writes into a buffer that was given back.
    std::fill(landed.begin(), landed.end(), std::byte{0x11});
    for (int i = 0; i < 200; ++i) world.progress();
    EXPECT_EQ(std::count(landed.begin(), landed.end(), std::byte{0x11}), static_cast<std::ptrdiff_t>(kSize));
}

TEST_P(OfiFaults, InTakingBuffersForMessagesAreReported) {
    World world(GetParam(), 2);
    Faults faults(GetParam());
    ASSERT_TRUE(world.meet(0, 1));
    ASSERT_TRUE(world.until([&] { return world[0].transport->arm(); }));
    // The provider has no room: the buffer is offered again.
    faults.receive_result = -FI_EAGAIN;
    Told sent[2];
    const auto send = [&](int i) { sent[i].note(world[1].transport->send(0, header_of(1, 7), {}, Path::eager, sent[i])); };
    world[0].heard.clear();
    send(0);
    ASSERT_TRUE(world.until([&] { return world[0].heard.size() == 1; }));
    for (int i = 0; i < 20; ++i) world[0].transport->progress();
    EXPECT_TRUE(world[0].lost.empty());
    faults.receive_result = -FI_EINVAL;
    ASSERT_TRUE(world.until(0, [&] { return !world[0].lost.empty(); }));
    EXPECT_TRUE(has(world[0].lost.front().second, "giving a buffer for messages to an endpoint of the provider"))
        << world[0].lost.front().second;
    ASSERT_TRUE(world.until(0, [&] { return world[0].transport->arm(); })) << "it does not try forever";
}

TEST_P(OfiFaults, ThatLoseAMessageAreNoticedAtTheNextOne) {
    World world(GetParam(), 2);
    Faults faults(GetParam());
    ASSERT_TRUE(world.meet(0, 1));
    Told sent[3];
    faults.drops = 1;
    for (std::uint32_t i = 0; i < 3; ++i) sent[i].note(world[0].transport->send(1, header_of(0, i), {}, Path::eager, sent[i]));
    ASSERT_TRUE(world.until([&] { return !world[1].lost.empty(); }));
    EXPECT_EQ(world[1].lost.size(), 1u);
    EXPECT_EQ(world[1].lost.front().first, 0);
    EXPECT_TRUE(world[1].heard.empty()) << "nothing is taken for something else";
}

}  // namespace
}  // namespace rollcall::test
#endif
