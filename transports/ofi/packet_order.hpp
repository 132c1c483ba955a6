/// \file
/// The order of the packets that come from one peer. A provider may report them in another order than they were sent in: FI_ORDER_SAS is
/// about which receive gets which message, not about when a receive is reported (fi_endpoint(3)). A packet that efa sends in several
/// datagrams is whole after the next one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::transport::ofi {

/// Says which packet is next, keeps copies of those that came early, and decides when one that does not come is lost. Takes no memory while
/// the packets come in order.
class PacketOrder {
  public:
    using Time = std::chrono::steady_clock::time_point;
    /// What to do about a packet that has not come although later ones have.
    enum class Doubt : std::uint8_t {
        wait,  ///< It may still come.
        ask,   ///< Ask the peer for an answer. A peer that was stopped may still have to send the packet.
        lost
    };
    /// How far ahead of its turn a packet may be. A fast network brings this many short packets, or 256 MiB of long ones, in the
    /// milliseconds in which a datagram is sent again. At half of the numbers there are, early and late could not be told apart.
    static constexpr std::size_t kMostAhead = 16384;
    /// How long a packet may be late before the peer is asked, and again after its answer. Late datagrams are sent again much sooner.
    static constexpr std::chrono::milliseconds kPatience{500};
    static constexpr std::chrono::seconds kUntilNextQuestion{5};
    /// And the number of looks in that time: what has come is not read at once, and a process may make no call for a long time.
    static constexpr unsigned kLeastLooks = 64;

    /// Whether a packet with this number is the next one. Then it counts as taken: handle it, and after it those that next_early() gives.
    bool take(std::uint16_t number) {
        if (number != next_) return false;
        ++next_;
        if (early_) [[unlikely]]
            pass();
        return true;
    }
    /// Whether a packet has come. (Numbers come round again, so once in a while this is wrong.)
    bool has_begun() const { return next_ != 0 || early_ != nullptr; }
    /// Whether packets have come early, so that one is missing.
    bool has_early() const { return early_ != nullptr; }
    /// Keeps a copy of a packet, which is not empty, for its turn. Returns false if packets are lost: the number is too far ahead, or it
    /// was there before (no provider sends a packet twice, so it is a number of the next round), or there is no memory.
    bool keep(std::uint16_t number, std::span<const std::byte> packet) noexcept {
        const auto ahead = static_cast<std::uint16_t>(number - next_);
        if (ahead == 0 || ahead > kMostAhead) return false;
        try {
            std::vector<std::byte> copy(packet.begin(), packet.end());
            if (!early_) early_ = std::make_unique<Early>();
            std::deque<std::vector<std::byte>>& packets = early_->packets;
            if (packets.size() <= ahead) packets.resize(std::size_t{ahead} + 1);
            if (!packets[ahead].empty()) return false;
            packets[ahead] = std::move(copy);
            return true;
        } catch (const std::bad_alloc&) {
            if (early_ && early_->packets.empty()) early_.reset();
            return false;
        }
    }
    /// Hands out the next packet if it is one that came early. Empty: it is not.
    std::vector<std::byte> next_early() {
        if (!early_ || early_->packets.front().empty()) return {};
        std::vector<std::byte> packet = std::move(early_->packets.front());
        ++next_;
        pass();
        return packet;
    }

    /// To be called again and again while a packet is missing, after the queue was read.
    Doubt look(Time now) {
        Early& early = *early_;
        if (!early.since) early.since = now;
        // The peer may be stopped. If it has lost the question, it gets another one.
        if (early.is_asked && !early.is_answered) return now - *early.since < kUntilNextQuestion ? Doubt::wait : Doubt::ask;
        if (++early.looks < kLeastLooks || now - *early.since < kPatience) return Doubt::wait;
        return early.is_answered ? Doubt::lost : Doubt::ask;
    }
    /// The question has been sent.
    void note_question(Time now) {
        early_->is_asked = true;
        early_->since = now;
    }
    /// The peer has answered. It sends what it had to send again before it answers, or soon after.
    void note_answer() {
        if (!early_ || !early_->is_asked || early_->is_answered) return;
        early_->is_answered = true;
        early_->since.reset();
        early_->looks = 0;
    }
    /// Drops what is kept, because nobody wants packets of this peer any more.
    void forget() { early_.reset(); }

  private:
    struct Early {
        /// The place of a packet is the number of packets before it. An empty one has not come. The last one has.
        std::deque<std::vector<std::byte>> packets;
        std::optional<Time> since;  ///< The first look at this gap, or at the answer.
        unsigned looks = 0;
        bool is_asked = false, is_answered = false;
    };
    /// The next packet was taken. The gap is closed, or the one after it is a gap of its own.
    void pass() {
        early_->packets.pop_front();
        if (early_->packets.empty()) return early_.reset();
        early_->since.reset();
        early_->looks = 0;
        early_->is_asked = early_->is_answered = false;
    }

    std::unique_ptr<Early> early_;
    std::uint16_t next_ = 0;
};

}  // namespace rollcall::transport::ofi
