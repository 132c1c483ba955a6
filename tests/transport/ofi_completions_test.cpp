// Tests how completion queues of libfabric are read: events, errors, and lost events. The queue answers what the test says.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include "tests/common.hpp"
#include "transports/ofi/completions.hpp"
#include "transports/ofi/endpoint.hpp"

namespace rollcall::test {
namespace {

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

/// What an event queue answers, in this order: 0 is an error, and other numbers are results of fi_eq_read. Then there is nothing.
std::deque<ssize_t> events;

ssize_t read_event(fid_eq*, uint32_t*, void*, size_t, uint64_t) {
    if (events.empty()) return -FI_EAGAIN;
    if (events.front() == 0) return -FI_EAVAIL;
    const ssize_t result = events.front();
    events.pop_front();
    return result;
}
ssize_t read_event_error(fid_eq*, fi_eq_err_entry* into, uint64_t) {
    events.pop_front();
    into->err = FI_EIO;
    return sizeof *into;
}
const char* say_event_error(fid_eq*, int, const void*, char*, size_t) { return "as the event says"; }

class OfiCompletions : public testing::Test {
  protected:
    OfiCompletions() {
        answers.clear();
        events.clear();
        of_events_.read = read_event;
        of_events_.readerr = read_event_error;
        of_events_.strerror = say_event_error;
        event_queue.ops = &of_events_;
        functions_.read = read_answer;
        functions_.readerr = read_error;
        functions_.strerror = say_error;
        queue.ops = &functions_;
        completions.open(&queue, "carrier_pigeon");
        incoming.incoming = true;
    }
    Completions completions;
    Packet outgoing{}, incoming{};
    fid_cq queue{};
    fid_eq event_queue{};

  private:
    fi_ops_cq functions_{};
    fi_ops_eq of_events_{};
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

// As efa reports them.
TEST_F(OfiCompletions, TakeAnErrorOfNoOperationForTrouble) {
    events = {0};
    EXPECT_FALSE(completions.look()) << "this provider has no event queue";
    completions.open(&queue, "carrier_pigeon", &event_queue);
    answers = {event_of(&outgoing, FI_SEND)};
    Event event{};
    ASSERT_TRUE(completions.look());
    ASSERT_TRUE(completions.next(event));
    EXPECT_FALSE(completions.is_troubled()) << "events of packets come first";
    ASSERT_TRUE(completions.look());
    EXPECT_FALSE(completions.next(event));
    EXPECT_FALSE(completions.has_lost_events());
    const std::string why = completions.take_trouble();
    EXPECT_TRUE(has(why, "the provider carrier_pigeon reports an error, and does not say of which peer")) << why;
    EXPECT_TRUE(has(why, "(as the event says)")) << why;
    events = {sizeof(fi_eq_entry), -FI_EINTR};
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(completions.look()) << "an event that is no error";
    EXPECT_TRUE(events.empty());
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

}  // namespace
}  // namespace rollcall::test
#endif
