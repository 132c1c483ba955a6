// What UCX asks for and hands out, piece by piece, when a buffer is given back at any time. No worker is needed for that.
#include "transports/ucx/requests.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace rollcall::transport::ucx {
namespace {

struct Told final : Completion {
    void complete(Outcome outcome) noexcept override {
        ++times;
        how = outcome;
    }
    int times = 0;
    Outcome how = Outcome::ok;
};

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
    return bytes;
}

// UCX has it under way: the pointer is never looked into.
void give_to_ucx(Requests& requests, Requests::Request& request) {
    static int ucx_request;
    ASSERT_EQ(requests.result_of(&ucx_request, &request), Started::pending);
}

Requests::Request& by_pieces(Requests& requests, Told& told, int peer, std::vector<std::byte>& bytes, Payload payload) {
    Requests::Request& request = *requests.take(told, peer, {bytes.data(), bytes.size()});
    request.payload = payload;
    ucp_request_param_t parameters{};
    requests.move_by_pieces(request, parameters);
    EXPECT_TRUE(parameters.op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE);
    give_to_ucx(requests, request);
    return request;
}

// Moves [from, to) of what the send packs, in pieces of random lengths.
void move(Requests::Request& send, Requests::Request& fetch, std::size_t from, std::size_t to, std::mt19937& random) {
    while (from < to) {
        std::vector<std::byte> piece(1 + random() % (to - from));
        ASSERT_EQ(Requests::pack(&send, from, piece.data(), piece.size()), piece.size());
        ASSERT_EQ(Requests::unpack(&fetch, from, piece.data(), piece.size()), UCS_OK);
        from += piece.size();
    }
}

TEST(Requests, RegisterWhatUcxGetsAndMoveTheRestByPieces) {
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = UCP_FEATURE_AM;
    ucp_context_h context = nullptr;
    ASSERT_EQ(ucp_init(&wanted, nullptr, &context), UCS_OK);
    {
        Requests requests(1);
        requests.set_context(context);
        Told told;
        std::vector<std::byte> bytes(100'000);
        Requests::Request& known = *requests.take(told, 0, {bytes.data(), bytes.size()});
        ucp_request_param_t parameters{};
        EXPECT_EQ(requests.buffer_of_fetch(known, parameters), bytes.data());
        EXPECT_FALSE(known.revocable);
        EXPECT_EQ(parameters.op_attr_mask, std::uint32_t{UCP_OP_ATTR_FIELD_MEMH});
        EXPECT_EQ(parameters.memh, known.registration);
        EXPECT_NE(known.registration, nullptr);
        EXPECT_EQ(requests.result_of(nullptr, &known), Started::done);
        EXPECT_EQ(known.registration, nullptr) << "it has ended";

        // UCX refuses to register it, as it refuses memory that must not be written.
        Requests::Request& refused = *requests.take(told, 0, {nullptr, bytes.size()});
        parameters = {};
        EXPECT_EQ(requests.buffer_of_fetch(refused, parameters), &refused);
        EXPECT_TRUE(refused.revocable);
        EXPECT_EQ(parameters.op_attr_mask, std::uint32_t{UCP_OP_ATTR_FIELD_DATATYPE});
        EXPECT_EQ(requests.result_of(nullptr, &refused), Started::done);
    }
    ucp_cleanup(context);
}

TEST(Requests, PiecesMakeTheWhole) {
    std::mt19937 random(1);
    for (const std::size_t size : {1, 2, 100, 5000}) {
        Requests requests(2);
        Told told;
        auto out = pattern(size), in = std::vector<std::byte>(size);
        auto& send = by_pieces(requests, told, 1, out, Payload::verdict);
        auto& fetch = by_pieces(requests, told, 1, in, Payload::verdict);
        const std::size_t packed = Requests::packed_size(&send);
        ASSERT_EQ(packed, size + 1);
        ASSERT_EQ(Requests::packed_size(&fetch), packed);
        move(send, fetch, 0, packed, random);
        EXPECT_EQ(in, out);
        EXPECT_FALSE(fetch.withdrawn);
    }
}

TEST(Requests, PlainPiecesHaveNoVerdict) {
    std::mt19937 random(2);
    Requests requests(1);
    Told told;
    auto out = pattern(300), in = std::vector<std::byte>(300);
    auto& send = by_pieces(requests, told, 0, out, Payload::plain);
    auto& fetch = by_pieces(requests, told, 0, in, Payload::plain);
    ASSERT_EQ(Requests::packed_size(&send), 300u);
    move(send, fetch, 0, 300, random);
    EXPECT_EQ(in, out);
    EXPECT_FALSE(fetch.withdrawn);
    std::byte more[4];
    EXPECT_EQ(Requests::pack(&send, 300, more, sizeof more), 0u);
}

// At any point of the way: what is given back later is not read, and the receiver is told unless all had left.
TEST(Requests, ASendGivenBackOnItsWayIsKnownAtTheOtherEnd) {
    std::mt19937 random(3);
    constexpr std::size_t kSize = 200;
    for (std::size_t left = 0; left <= kSize + 1; ++left) {
        Requests requests(3);
        Told told;
        auto in = std::vector<std::byte>(kSize);
        const auto content = pattern(kSize);
        auto out = std::make_unique<std::vector<std::byte>>(content);
        auto& send = by_pieces(requests, told, 2, *out, Payload::verdict);
        auto& fetch = by_pieces(requests, told, 1, in, Payload::verdict);
        move(send, fetch, 0, left, random);
        ASSERT_TRUE(requests.release(2, told));
        out.reset();  // a checker of memory would see a read
        move(send, fetch, left, kSize + 1, random);
        EXPECT_EQ(fetch.withdrawn, left <= kSize) << left;
        if (left > kSize) {
            EXPECT_EQ(in, content);
        }
        EXPECT_EQ(requests.pending(), 2u) << "UCX has not ended them";
        requests.disconnect(2);
        EXPECT_EQ(told.times, 0) << "who gave it back is not told";
    }
}

TEST(Requests, AFetchGivenBackIsNotWritten) {
    std::mt19937 random(4);
    constexpr std::size_t kSize = 200;
    for (const std::size_t come : {0, 1, 100, 199, 200}) {
        Requests requests(1);
        Told sender, receiver;
        auto out = pattern(kSize), in = std::vector<std::byte>(kSize);
        auto& send = by_pieces(requests, sender, 0, out, Payload::verdict);
        auto& fetch = by_pieces(requests, receiver, 0, in, Payload::verdict);
        move(send, fetch, 0, come, random);
        ASSERT_TRUE(requests.release(0, receiver));
        const auto before = in;
        move(send, fetch, come, kSize + 1, random);
        EXPECT_EQ(in, before);
        requests.disconnect(0);
        EXPECT_EQ(receiver.times, 0);
        EXPECT_EQ(sender.times, 1);
        EXPECT_EQ(sender.how, Outcome::failed);
    }
}

TEST(Requests, AnEagerSendGivenBackStillArrives) {
    std::mt19937 random(5);
    Requests requests(1);
    Told told;
    const auto content = pattern(500);
    auto out = std::make_unique<std::vector<std::byte>>(content);
    auto in = std::vector<std::byte>(content.size());
    auto& send = by_pieces(requests, told, 0, *out, Payload::plain);
    send.is_eager = true;
    auto& fetch = by_pieces(requests, told, 0, in, Payload::plain);
    move(send, fetch, 0, 123, random);
    // (It is the latest with this completion that is found first; so the fetch is given back here, too.)
    ASSERT_TRUE(requests.release(0, told));
    ASSERT_TRUE(requests.release(0, told));
    out.reset();
    std::vector<std::byte> rest(content.size() - 123);
    ASSERT_EQ(Requests::pack(&send, 123, rest.data(), rest.size()), rest.size());
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), content.begin() + 123));
}

TEST(Requests, WhatUcxKnowsIsNotGivenBack) {
    Requests requests(2);
    Told direct, other, unknown;
    auto bytes = pattern(10);
    auto& request = *requests.take(direct, 1, {bytes.data(), bytes.size()});
    give_to_ucx(requests, request);
    by_pieces(requests, other, 1, bytes, Payload::verdict);
    EXPECT_FALSE(requests.release(1, direct));
    EXPECT_TRUE(requests.release(1, unknown)) << "it has ended already";
    requests.disconnect(1);
    EXPECT_EQ(direct.times, 0) << "UCX ends it, soon";
    EXPECT_EQ(other.times, 1);
    EXPECT_EQ(request.bytes, bytes.data());
}

TEST(Requests, ADisconnectConcernsOnePeer) {
    Requests requests(3);
    Told told[3];
    auto bytes = pattern(10);
    for (int round = 0; round < 100; ++round)
        for (int peer = 0; peer < 3; ++peer) by_pieces(requests, told[peer], peer, bytes, Payload::verdict);
    requests.disconnect(1);
    EXPECT_EQ(told[0].times, 0);
    EXPECT_EQ(told[1].times, 100);
    EXPECT_EQ(told[2].times, 0);
    requests.disconnect(1);
    EXPECT_EQ(told[1].times, 100) << "once";
    requests.silence();
    requests.disconnect(2);
    EXPECT_EQ(told[2].times, 0);
    EXPECT_EQ(requests.pending(), 300u);
}

}  // namespace
}  // namespace rollcall::transport::ucx
