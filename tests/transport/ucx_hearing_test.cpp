// Tests what tells a process whether it still receives messages through shared memory after a neighbour has died.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include <ucp/api/ucp.h>

#include "foundation/clock.hpp"
#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/options.hpp"
#include "transports/ucx/configuration.hpp"
#include "transports/ucx/connecting.hpp"
#include "transports/ucx/hearing.hpp"
#include "transports/ucx/receiver.hpp"

namespace rollcall::test {
namespace {

using transport::ucx::Hearing;

constexpr int kDead = 3;
constexpr Nanoseconds kPatience = 30'000 * kMillisecond;

class UcxHearing : public testing::Test {
  protected:
    UcxHearing() {
        prepare({"", "ucx", {{"UCX_TLS", "posix,self"}}});
        transport::TransportOptions options;
        options.size = options.local_size = 2;
        context_ = transport::ucx::make_context(options);
        receiver_ = make_worker();
        sender_ = make_worker();
        ucp_am_handler_param_t handler{};
        handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
        handler.id = transport::ucx::kMessageId;
        handler.cb = [](void* arrived, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
            ++*static_cast<int*>(arrived);
            return UCS_OK;
        };
        handler.arg = &arrived_;
        EXPECT_EQ(ucp_worker_set_am_recv_handler(receiver_, &handler), UCS_OK);
        connect(receiver_, sender_);  // UCX looks at the queue only if the worker has a connection over shared memory
    }
    ~UcxHearing() override {
        hearing_.close();
        ucp_worker_destroy(sender_);
        ucp_worker_destroy(receiver_);
        ucp_cleanup(context_);
    }

    ucp_worker_h make_worker() {
        ucp_worker_params_t parameters{};
        ucp_worker_h worker = nullptr;
        EXPECT_EQ(ucp_worker_create(context_, &parameters, &worker), UCS_OK);
        return worker;
    }
    ucp_ep_h connect(ucp_worker_h from, ucp_worker_h to) {
        ucp_worker_attr_t attributes{};
        attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
        EXPECT_EQ(ucp_worker_query(to, &attributes), UCS_OK);
        const std::span address(reinterpret_cast<const std::byte*>(attributes.address), attributes.address_length);
        ucp_ep_h endpoint = nullptr;
        const auto on_error = [](void*, ucp_ep_h, ucs_status_t) {};
        EXPECT_EQ(transport::ucx::make_endpoint(from, address, on_error, nullptr, endpoint), UCS_OK);
        ucp_worker_release_address(to, attributes.address);
        return endpoint;
    }
    // The message stays in the queue of the receiver, as it does behind a place that a dead process has reserved.
    void send() {
        const ucp_ep_h endpoint = connect(sender_, receiver_);
        // UCX 1.23 sends the first message of an endpoint only when both workers have been driven.
        ASSERT_EQ(end_of(send(endpoint)), UCS_OK);
        ASSERT_EQ(arrived_, 1);
        arrived_ = 0;
        ASSERT_EQ(send(endpoint), nullptr);
    }
    static ucs_status_ptr_t send(ucp_ep_h endpoint) {
        ucp_request_param_t plain{};
        return ucp_am_send_nbx(endpoint, transport::ucx::kMessageId, nullptr, 0, &kDead, sizeof kDead, &plain);
    }
    // Drives both workers until the message has arrived and the request has ended. Returns how it has ended.
    ucs_status_t end_of(ucs_status_ptr_t request) {
        const Nanoseconds until = monotonic_now() + kPatience;
        const auto status = [&] { return UCS_PTR_IS_PTR(request) ? ucp_request_check_status(request) : UCS_PTR_STATUS(request); };
        while ((arrived_ == 0 || status() == UCS_INPROGRESS) && monotonic_now() < until) {
            ucp_worker_progress(sender_);
            ucp_worker_progress(receiver_);
        }
        const ucs_status_t ended = status();
        if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
        return ended;
    }
    template <class Condition>
    void look_until(Condition condition) {
        const Nanoseconds until = monotonic_now() + kPatience;
        while (!condition() && monotonic_now() < until) {
            const Hearing::Look look = hearing_.look(context_, receiver_, [] { return true; });
            if (look.dead >= 0) killer_ = look.dead;
        }
    }

    ucp_context_h context_ = nullptr;
    ucp_worker_h receiver_ = nullptr, sender_ = nullptr;
    int arrived_ = 0, killer_ = -1;
    Hearing hearing_;
};

TEST_F(UcxHearing, IsTrustedIfTheQueueIsEmpty) {
    EXPECT_FALSE(hearing_.in_doubt());
    hearing_.doubt(kDead);
    EXPECT_TRUE(hearing_.in_doubt());
    look_until([&] { return !hearing_.in_doubt(); });
    EXPECT_FALSE(hearing_.in_doubt());
    EXPECT_EQ(killer_, -1);
}

TEST_F(UcxHearing, IsTrustedIfAMessageToItselfArrives) {
    send();
    hearing_.doubt(kDead);
    look_until([&] { return hearing_.is_probing(); });
    ASSERT_TRUE(hearing_.is_probing());
    while (ucp_worker_progress(receiver_) != 0) continue;
    EXPECT_EQ(arrived_, 1);
    look_until([&] {
        ucp_worker_progress(receiver_);  // as a lane does between two looks
        return !hearing_.in_doubt();
    });
    EXPECT_FALSE(hearing_.in_doubt());
    EXPECT_FALSE(hearing_.is_probing());
    EXPECT_EQ(killer_, -1);
}

// The message to itself may have come before what the second neighbour has reserved.
TEST_F(UcxHearing, IsAskedAgainIfAnotherNeighbourDies) {
    send();
    hearing_.doubt(kDead);
    look_until([&] { return hearing_.is_probing(); });
    hearing_.doubt(kDead + 1);
    while (ucp_worker_progress(receiver_) != 0) continue;
    bool was_asked_again = false;
    look_until([&] {
        was_asked_again |= ucp_worker_arm(receiver_) != UCS_OK;
        return was_asked_again || !hearing_.in_doubt();
    });
    EXPECT_TRUE(was_asked_again);
    look_until([&] { return killer_ >= 0; });
    EXPECT_EQ(killer_, kDead) << "it was not read";
}

TEST_F(UcxHearing, IsLostIfNothingComesOutOfTheQueue) {
    send();
    hearing_.doubt(kDead);
    look_until([&] { return killer_ >= 0; });
    EXPECT_EQ(killer_, kDead);
    look_until([&] { return !hearing_.in_doubt(); });
    EXPECT_FALSE(hearing_.is_probing());
    EXPECT_EQ(arrived_, 0);
}

}  // namespace
}  // namespace rollcall::test
