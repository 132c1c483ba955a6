/// \file
/// Short messages from one rank of a node to another, without the network library.
///
/// Each rank has some mailboxes. A rank that sends another rank many short messages opens one of them, and from then on is its only writer.
/// It writes a letter and shows it with one store. The owner of the mailbox looks at the next letter of each open mailbox. So a message of
/// few bytes takes one cache line from one core to the other, and no queue that several writers share. A writer that dies while it writes
/// leaves a letter that is never shown, and harms no other writer.
///
/// There is no order between letters and messages of the transport, except that a letter says how many messages of some kinds its reader
/// must have handled before. The engine keeps the order of point-to-point messages.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rollcall::runtime::node {

/// One message, in one cache line if its data is short.
struct alignas(64) Letter {
    static constexpr std::size_t kHeader = 16;
    static constexpr std::size_t kInline = 40;
    /// The letters of a mailbox are numbered from 1 on; after 2^32 - 1 comes 0. Stored last.
    std::atomic<std::uint32_t> number;
    std::uint16_t size;   ///< Number of bytes of data.
    std::uint16_t after;  ///< How many messages of the writer (modulo 65536) this letter must not overtake.
    std::byte header[kHeader];
    std::byte data[kInline];
};
static_assert(sizeof(Letter) == 64);

/// The letters from one rank to another. Writer and reader use them in turn.
struct Mailbox {
    static constexpr std::uint32_t kLetters = 16;
    static constexpr std::size_t kMostData = 8192;  ///< The longest data of a letter, in bytes.

    alignas(64) std::atomic<std::uint32_t> read;  ///< The number of the last letter that its owner has read.
    std::array<Letter, kLetters> letters;
    /// The data that does not fit in a letter. A line lies between them, so that they do not all begin in the same set of a cache.
    std::byte long_data[kLetters][kMostData + 64];

    Letter& letter(std::uint32_t number) noexcept { return letters[number % kLetters]; }
    /// Where the data of a letter is. `size`: the number of its bytes.
    std::byte* data(std::uint32_t number, std::size_t size) noexcept {
        return size <= Letter::kInline ? letter(number).data : long_data[number % kLetters];
    }
};

/// All mailboxes of a rank. A rank looks at all that are open, so there are few. Memory that is never written takes no pages.
struct Mailboxes {
    static constexpr std::uint32_t kMost = 32;
    alignas(64) std::atomic<std::uint32_t> opened;  ///< How often a rank has asked for a mailbox. The first kMost of them got one.
    std::atomic<std::uint32_t> is_read;             ///< Whether the owner looks at letters.
    alignas(64) std::atomic<std::uint32_t> sleeps;  ///< Whether letters must wake the owner. (The byte of NodeMemory is for publications.)
    std::array<Mailbox, kMost> boxes;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// A rank opens a mailbox of another rank after this number of messages to it, because there are few mailboxes.
inline constexpr std::uint32_t kMessagesBeforeMail = 16;

/// The writer's view of a mailbox.
class Outbox {
  public:
    Outbox(Mailboxes& owner, Mailbox& box) noexcept : owner_(owner), box_(box) {}

    /// Writes a letter. Returns false, and does nothing, if the owner has not read the last Mailbox::kLetters letters. The header has
    /// Letter::kHeader bytes, and the data at most Mailbox::kMostData. Returns true when the letter is written: the message is then sent.
    bool put(const void* header, const void* data, std::size_t size, std::uint16_t after) noexcept {
        if (last_ - read_ >= Mailbox::kLetters) {
            // Acquire: this rank must write the letter after the owner has read its last use.
            read_ = box_.read.load(std::memory_order_acquire);
            if (last_ - read_ >= Mailbox::kLetters) return false;
        }
        Letter& letter = box_.letter(++last_);
        letter.size = static_cast<std::uint16_t>(size);
        letter.after = after;
        std::memcpy(letter.header, header, Letter::kHeader);
        if (size > 0) std::memcpy(box_.data(last_, size), data, size);
        // Sequentially consistent: the owner looks at its letters after it has said that it sleeps, and is_to_wake() comes after this
        // store. So at least one of the two sees what the other wrote.
        letter.number.exchange(last_, std::memory_order_seq_cst);
        return true;
    }
    /// Whether the owner sleeps and the caller must wake it. Of several ranks that ask, one gets true. Call it after put().
    bool is_to_wake() noexcept {
        return owner_.sleeps.load(std::memory_order_seq_cst) != 0 && owner_.sleeps.exchange(0, std::memory_order_seq_cst) != 0;
    }
    /// The caller could not wake it. (If it is awake by now, it is woken once in vain.)
    void owner_still_sleeps() noexcept { owner_.sleeps.store(1, std::memory_order_seq_cst); }

  private:
    Mailboxes& owner_;
    Mailbox& box_;
    std::uint32_t last_ = 0, read_ = 0;
};

/// A rank's view of its own mailboxes. Owner-only.
class Inbox {
  public:
    explicit Inbox(Mailboxes& own) noexcept : own_(own) {}

    /// From now on other ranks can open mailboxes, and this rank must call take() again and again.
    void open() noexcept { own_.is_read.store(1, std::memory_order_release); }
    /// Says whether this rank sleeps. It must call take() once more between set_sleeping(true) and its sleep.
    void set_sleeping(bool sleeps) noexcept {
        own_.sleeps.store(sleeps, std::memory_order_seq_cst);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    /// Calls `deliver(header, data)`, spans of bytes, for all letters that have come, in their order from each writer. The spans are valid
    /// during the call. A letter for which `is_due(header, after)` is false stays, with those behind it. Returns the number of letters: at
    /// most Mailbox::kLetters from each writer.
    template <class IsDue, class Deliver>
    unsigned take(IsDue&& is_due, Deliver&& deliver) {
        const std::uint32_t open = std::min(own_.opened.load(std::memory_order_acquire), Mailboxes::kMost);
        unsigned taken = 0;
        for (std::uint32_t which = 0; which < open; ++which) {
            Mailbox& box = own_.boxes[which];
            for (std::uint32_t here = 0; here < Mailbox::kLetters; ++here, ++taken) {
                const std::uint32_t next = read_[which] + 1;
                const Letter& letter = box.letter(next);
                if (letter.number.load(std::memory_order_acquire) != next) break;
                const std::span<const std::byte> header(letter.header);
                if (!is_due(header, letter.after)) break;
                read_[which] = next;
                deliver(header, std::span<const std::byte>(box.data(next, letter.size), letter.size));
                box.read.store(next, std::memory_order_release);
            }
        }
        return taken;
    }

    /// Call it after letters have come: whether what comes in other ways can wait until the next look. It must not wait forever where
    /// letters come again and again.
    bool others_can_wait() noexcept { return ++looks_ % kLooksAtMailOnly != 0; }

  private:
    static constexpr unsigned kLooksAtMailOnly = 8;
    unsigned looks_ = 0;
    Mailboxes& own_;
    std::array<std::uint32_t, Mailboxes::kMost> read_{};
};

/// Opens a mailbox of the rank that `owner` belongs to. Returns null if it has none left, or does not look at letters.
inline Mailbox* open_mailbox(Mailboxes& owner) noexcept {
    if (owner.is_read.load(std::memory_order_acquire) == 0 || owner.opened.load(std::memory_order_relaxed) >= Mailboxes::kMost)
        return nullptr;
    const std::uint32_t which = owner.opened.fetch_add(1, std::memory_order_acq_rel);
    return which < Mailboxes::kMost ? &owner.boxes[which] : nullptr;
}

}  // namespace rollcall::runtime::node
