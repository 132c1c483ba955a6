#include "runtime/node/mail.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/common.hpp"

namespace rollcall::runtime::node {
namespace {

using Header = std::array<std::byte, Letter::kHeader>;

Header header_of(std::uint64_t value) {
    Header header{};
    std::memcpy(header.data(), &value, sizeof value);
    return header;
}
std::uint64_t value_of(std::span<const std::byte> header) {
    std::uint64_t value = 0;
    std::memcpy(&value, header.data(), sizeof value);
    return value;
}
// The contents of a letter follow from its value.
std::string text_of(std::uint64_t value, std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(value * 31 + i);
    return text;
}

struct Mail : testing::Test {
    std::unique_ptr<Mailboxes> memory = std::make_unique<Mailboxes>();
    Inbox inbox{*memory};

    Outbox outbox() {
        Mailbox* const box = open_mailbox(*memory);
        if (!box) throw std::logic_error("there is no mailbox");
        return {*memory, *box};
    }
    static bool put(Outbox& outbox, std::uint64_t value, std::size_t size, std::uint16_t after = 0) {
        const std::string text = text_of(value, size);
        return outbox.put(header_of(value).data(), text.data(), size, after);
    }
    // `heard`: how many of the messages that letters must not overtake have come.
    std::vector<std::uint64_t> take(std::uint16_t heard = 0) {
        std::vector<std::uint64_t> values;
        const auto is_due = [&](std::span<const std::byte>, std::uint16_t after) { return after <= heard; };
        const unsigned taken = inbox.take(is_due, [&](std::span<const std::byte> header, std::span<const std::byte> data) {
            values.push_back(value_of(header));
            const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
            EXPECT_EQ(text, text_of(values.back(), data.size()));
        });
        EXPECT_EQ(taken, values.size());
        return values;
    }
};

TEST_F(Mail, IsDeliveredInOrderWithItsContents) {
    inbox.open();
    Outbox writer = outbox();
    EXPECT_TRUE(take().empty());
    std::uint64_t sent = 0;
    for (const std::size_t size : {0, 1, 8, 40, 41, 104, 8191, 8192}) ASSERT_TRUE(put(writer, ++sent, size));
    EXPECT_EQ(take(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_TRUE(take().empty());
}

TEST_F(Mail, AFullMailboxTakesNoMoreUntilItsOwnerHasRead) {
    inbox.open();
    Outbox writer = outbox();
    for (int round = 0; round < 5; ++round) {
        for (std::uint64_t value = 0; value < Mailbox::kLetters; ++value) ASSERT_TRUE(put(writer, value, 8));
        EXPECT_FALSE(put(writer, 99, 8));
        EXPECT_EQ(take().size(), Mailbox::kLetters);
    }
}

TEST_F(Mail, ALetterWaitsForWhatItMustNotOvertake) {
    inbox.open();
    Outbox one = outbox(), other = outbox();
    ASSERT_TRUE(put(one, 1, 8, 0));
    ASSERT_TRUE(put(one, 2, 8, 3));
    ASSERT_TRUE(put(one, 3, 8, 3));
    ASSERT_TRUE(put(other, 4, 8, 0));
    EXPECT_EQ(take(2), (std::vector<std::uint64_t>{1, 4}));
    EXPECT_TRUE(take(2).empty());
    EXPECT_EQ(take(3), (std::vector<std::uint64_t>{2, 3}));
}

TEST_F(Mail, EachWriterHasAMailboxAndThereAreFew) {
    EXPECT_EQ(open_mailbox(*memory), nullptr) << "the owner does not look at letters yet";
    inbox.open();
    std::vector<Outbox> writers;
    for (std::uint32_t i = 0; i < Mailboxes::kMost; ++i) writers.push_back(outbox());
    for (int again = 0; again < 3; ++again) EXPECT_EQ(open_mailbox(*memory), nullptr);
    for (std::uint32_t i = 0; i < Mailboxes::kMost; ++i) ASSERT_TRUE(put(writers[i], i, 5));
    EXPECT_EQ(take().size(), Mailboxes::kMost);
}

TEST_F(Mail, OneWriterWakesAnOwnerThatSleeps) {
    inbox.open();
    Outbox one = outbox(), other = outbox();
    ASSERT_TRUE(put(one, 1, 8));
    EXPECT_FALSE(one.is_to_wake());
    inbox.set_sleeping(true);
    EXPECT_EQ(take().size(), 1u) << "what was written before is found by the last look";
    ASSERT_TRUE(put(one, 2, 8));
    ASSERT_TRUE(put(other, 3, 8));
    EXPECT_TRUE(one.is_to_wake());
    EXPECT_FALSE(other.is_to_wake());
    inbox.set_sleeping(true);
    inbox.set_sleeping(false);
    EXPECT_FALSE(one.is_to_wake());
}

// A thread of each writer, and letters of random sizes.
TEST_F(Mail, WritersAndTheOwnerRunAtTheSameTime) {
    inbox.open();
    constexpr std::uint64_t kEach = 5000;
    constexpr std::size_t kWriters = 3;
    const std::uint64_t seed = test::seed();
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < kWriters; ++number)
        threads.emplace_back([&, number, box = outbox()]() mutable {
            std::mt19937_64 random(seed + number);
            for (std::uint64_t i = 0; i < kEach; ++i)
                while (!put(box, i * kWriters + number, random() % (Mailbox::kMostData + 1))) std::this_thread::yield();
        });
    std::vector<std::uint64_t> next(kWriters);
    for (std::uint64_t got = 0; got < kEach * kWriters;) {
        const auto values = take();
        for (const std::uint64_t value : values) EXPECT_EQ(value / kWriters, next[value % kWriters]++);
        if (values.empty()) std::this_thread::yield();
        got += values.size();
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rollcall::runtime::node
