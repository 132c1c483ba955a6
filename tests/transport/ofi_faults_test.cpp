// Tests what happens when a provider of libfabric loses events or messages, or does not say what failed. No provider does this on demand,
// so the functions of a provider are replaced.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/ofi/completions.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/library.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;
using transport::ofi::Completions;
using transport::ofi::Event;
using transport::ofi::Packet;

/// What a queue answers, in this order. Then there is nothing.
struct Answer {
    ssize_t result;  ///< Of fi_cq_read. 1: the entry.
    fi_cq_msg_entry entry{};
    ssize_t error_result = 1;  ///< Of fi_cq_readerr, after -FI_EAVAIL.
    fi_cq_err_entry error{};
};
std::deque<Answer> answers;

ssize_t read_answer(fid_cq*, void* into, size_t) {
    if (answers.empty()) return -FI_EAGAIN;
    if (answers.front().result == -FI_EAVAIL) return -FI_EAVAIL;
    const Answer answer = answers.front();
    answers.pop_front();
    if (answer.result == 1) *static_cast<fi_cq_msg_entry*>(into) = answer.entry;
    return answer.result;
}
ssize_t read_error(fid_cq*, fi_cq_err_entry* into, uint64_t) {
    const Answer answer = answers.front();
    answers.pop_front();
    if (answer.error_result == 1) *into = answer.error;
    return answer.error_result;
}
const char* say_error(fid_cq*, int, const void*, char*, size_t) { return "as it was told"; }

Answer error_of(Packet* packet, int error) {
    Answer answer{.result = -FI_EAVAIL};
    answer.error.op_context = packet;
    answer.error.err = error;
    return answer;
}
Answer event_of(void* context, std::uint64_t flags) {
    Answer answer{.result = 1};
    answer.entry.op_context = context;
    answer.entry.flags = flags;
    answer.entry.len = 5;
    return answer;
}

class OfiCompletions : public testing::Test {
  protected:
    OfiCompletions() {
        answers.clear();
        functions_.read = read_answer;
        functions_.readerr = read_error;
        functions_.strerror = say_error;
        queue_.ops = &functions_;
        completions.open(&queue_, "carrier_pigeon");
        incoming.incoming = true;
    }
    Completions completions;
    Packet outgoing{}, incoming{};

  private:
    fi_ops_cq functions_{};
    fid_cq queue_{};
};

TEST_F(OfiCompletions, AreHandedOut) {
    answers = {event_of(&outgoing, FI_SEND), event_of(nullptr, FI_SEND), event_of(nullptr, FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)};
    Event event{};
    ASSERT_TRUE(completions.look());
    ASSERT_TRUE(completions.next(event));
    EXPECT_EQ(event.packet, &outgoing);
    EXPECT_EQ(event.size, 5u);
    EXPECT_FALSE(event.failed);
    EXPECT_FALSE(completions.next(event));
    EXPECT_FALSE(completions.look()) << "what was injected has no packet";
    ASSERT_TRUE(completions.look());
    ASSERT_TRUE(completions.next(event));
    EXPECT_EQ(event.packet, nullptr) << "a peer has written on the board";
    EXPECT_FALSE(completions.look());
    EXPECT_FALSE(completions.is_troubled());
}

TEST_F(OfiCompletions, SayThatSomeWereLost) {
    for (const int error : {int{FI_EOVERRUN}, FI_EIO}) {
        Completions queue = completions;
        answers = {{.result = -error}, event_of(&outgoing, FI_SEND)};
        ASSERT_TRUE(queue.look());
        EXPECT_TRUE(queue.is_troubled() && queue.has_lost_events());
        const std::string why = queue.take_trouble();
        EXPECT_TRUE(has(why, error == FI_EOVERRUN ? "the completion queue of the provider carrier_pigeon holds (1024), and some were lost"
                                                  : "reading the completion queue of the provider carrier_pigeon failed: "))
            << why;
        EXPECT_TRUE(has(why, "ROLLCALL_OFI_PROVIDER or ROLLCALL_TRANSPORT=ucx choose another way")) << why;
        EXPECT_FALSE(queue.is_troubled());
        EXPECT_TRUE(queue.look()) << "what was not lost still comes: reads must end";
    }
}

TEST_F(OfiCompletions, GoOnAfterAnErrorOfNoPacket) {
    answers = {error_of(nullptr, FI_EOTHER), event_of(&outgoing, FI_SEND)};
    Event event{};
    ASSERT_TRUE(completions.look());
    EXPECT_FALSE(completions.next(event));
    EXPECT_FALSE(completions.has_lost_events());
    const std::deque<Answer> rest = std::exchange(answers, {});
    EXPECT_TRUE(completions.look()) << "nobody has taken the trouble yet";
    answers = rest;
    const std::string why = completions.take_trouble();
    EXPECT_TRUE(has(why, "the provider carrier_pigeon reports an error, and does not say of which peer")) << why;
    EXPECT_TRUE(has(why, "(as it was told)")) << why;
    ASSERT_TRUE(completions.look());
    EXPECT_TRUE(completions.next(event));
}

TEST_F(OfiCompletions, TakeACancelledPacketOfNobodyForTrouble) {
    answers = {error_of(nullptr, FI_ECANCELED)};
    EXPECT_TRUE(completions.look());
    EXPECT_TRUE(completions.is_troubled()) << "only what waits for messages is cancelled in good order";
}

TEST_F(OfiCompletions, KeepTheSentenceThatSaysThatEventsWereLost) {
    answers = {{.result = -FI_EOVERRUN}, error_of(nullptr, FI_EOTHER)};
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(completions.look());
    EXPECT_TRUE(has(completions.take_trouble(), "some were lost"));
    EXPECT_TRUE(completions.has_lost_events());
}

TEST_F(OfiCompletions, SayWhichPacketFailed) {
    answers = {error_of(&outgoing, FI_ECONNRESET), error_of(&incoming, FI_ECONNRESET), error_of(&incoming, FI_ECANCELED)};
    Event event{};
    for (Packet* const packet : {&outgoing, &incoming, &incoming}) {
        const bool is_known = answers.size() != 2;
        ASSERT_TRUE(completions.look());
        ASSERT_TRUE(completions.next(event));
        EXPECT_EQ(event.packet, packet);
        EXPECT_TRUE(event.failed);
        EXPECT_TRUE(has(completions.why(), "as it was told")) << completions.why();
        EXPECT_EQ(completions.is_troubled(), !is_known) << "no packet that comes in says who sent it";
        completions.take_trouble();
    }
}

TEST_F(OfiCompletions, AreReadAgainWhenNothingWasWrong) {
    Answer gone{.result = -FI_EAVAIL};
    gone.error_result = -FI_EAGAIN;
    answers = {{.result = -FI_EAGAIN}, {.result = -FI_EINTR}, gone};
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(completions.look());
    EXPECT_TRUE(answers.empty());
    EXPECT_FALSE(completions.is_troubled());
    gone.error_result = -FI_EIO;
    answers = {gone};
    EXPECT_TRUE(completions.look());
    EXPECT_TRUE(completions.has_lost_events());
}

/// Replaces functions of a provider, for all of its queues and endpoints in this process, while this lives.
class Faults {
  public:
    explicit Faults(const Way& way) {
        const bool shared = way.name == "ofi_shm";
        const auto info = transport::ofi::ask(shared ? "shm" : "tcp;ofi_rxm", way.reads);
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

    int next_result = 0;     ///< Not 0: what the next look at a queue gives.
    int every_result = 0;    ///< Not 0: what all looks at queues give.
    int receive_result = 0;  ///< Not 0: what the provider says to buffers for messages.
    int drops = 0;           ///< The number of messages that are to be lost.

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
        if (self->drops == 0) return self->inject_(endpoint, bytes, size, to);
        --self->drops;
        return 0;
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
            EXPECT_TRUE(has(why, GetParam().name == "ofi_shm" ? "the provider shm" : "the provider tcp;ofi_rxm")) << why;
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
    ASSERT_TRUE(world.until(0, [&] { return world[0].transport->arm(); })) << "it does not try for ever";
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
