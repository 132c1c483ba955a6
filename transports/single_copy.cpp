#include "transports/single_copy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include <sys/random.h>
#include <unistd.h>

#include "foundation/copy.hpp"
#include "foundation/kernel.hpp"
#include "transports/process_memory.hpp"
#include "transports/single_copy_protocol.hpp"

namespace rollcall::transport {
namespace {

// The value of Offer::form for offers of this class. The forms of inner transports are small numbers.
constexpr std::uint8_t kForm = 0x80;

using namespace single_copy;

class Implementation final : public SingleCopy, private Sink {
  public:
    Implementation(std::unique_ptr<Transport> inner, int rank, int ranks, std::uint64_t longest_at_once)
        : rank_(rank),
          longest_at_once_(longest_at_once),
          peers_(static_cast<std::size_t>(ranks)),
          must_be_asked_(static_cast<std::size_t>(ranks)),
          inner_(std::move(inner)) {
        if (::getrandom(&cookie_, sizeof cookie_, 0) != sizeof cookie_) cookie_ = 0;
        readable_ = cookie_ != 0;
        if (readable_) let_memory_be_read();
    }

    SingleCopyHandle handle() const override {
        if (!readable_) return {};
        return {node_identity(), ::getpid(), address_of(&cookie_), cookie_};
    }

    void meet(std::span<const SingleCopyHandle> handles) override {
        const std::uint64_t domain = handle().domain;
        for (std::size_t peer = 0; peer < peers_.size() && peer < handles.size(); ++peer)
            if (domain != 0 && handles[peer].domain == domain && static_cast<int>(peer) != rank_) {
                peers_[peer] = {.handle = handles[peer]};
                must_be_asked_[peer] = true;
            }
    }

    // --- Transport ---------------------------------------------------------------------------------------------------------

    Started send(int peer, std::span<const std::byte> header, ConstBytes payload, Path path, Completion& completion) override {
        if (path == Path::large || must_be_asked_[static_cast<std::size_t>(peer)]) [[unlikely]]
            return send_with_control(peer, header, payload, path, completion);
        return inner_->send(peer, header, payload, path, completion);
    }

    Started fetch(const Offer& offer, Bytes into, Completion& completion) override {
        if (offer.form != kForm) return inner_->fetch(offer, into, completion);
        auto* const offered = static_cast<Offered*>(offer.handle);
        Fetch fetch{offered, into, offered->where.address, 0, &completion};
        if (peers_[static_cast<std::size_t>(fetch.from->source)].gone) {
            let_go(fetch.from);
            return Started::failed;
        }
        if (fetches_.empty()) {
            const auto outcome = go_on(fetch);
            if (outcome == Outcome::ok || outcome == Outcome::failed) {
                end(fetch);
                return outcome == Outcome::ok ? Started::done : Started::failed;
            }
        }
        fetches_.push_back(fetch);
        return Started::pending;
    }

    void decline(const Offer& offer) override {
        if (offer.form != kForm) return inner_->decline(offer);
        auto* const offered = static_cast<Offered*>(offer.handle);
        answer(*offered);
        let_go(offered);
    }

    bool release(int peer, Completion& completion) override {
        if (const auto fetch = std::ranges::find(fetches_, &completion, &Fetch::completion); fetch != fetches_.end()) {
            end(*fetch);
            fetches_.erase(fetch);
            return true;
        }
        for (Record& record : records_)
            if (record.completion == &completion) {
                record.completion = nullptr;
                record.state.stamp.store(0, std::memory_order_relaxed);
                // The fence comes before the program writes into its buffer. The reader checks the stamp after it has read the buffer.
                std::atomic_thread_fence(std::memory_order_seq_cst);
                return true;
            }
        return inner_->release(peer, completion);
    }

    bool move_payload(int peer, Completion& completion, Bytes copy, Completion& heir) override {
        for (Record& record : records_)
            if (record.completion == &completion) {
                copy_bytes(copy.data, reinterpret_cast<const void*>(record.state.address.load(std::memory_order_relaxed)), copy.size);
                record.completion = &heir;
                record.state.address.store(address_of(copy.data), std::memory_order_release);
                // As in release(): a reader that has read the old buffer sees the new address afterwards, and reads again there.
                std::atomic_thread_fence(std::memory_order_seq_cst);
                return true;
            }
        return inner_->move_payload(peer, completion, copy, heir);
    }
    Started flush(int peer, Completion& completion) override { return inner_->flush(peer, completion); }
    void add_pending(std::vector<int>& peers) const override {
        inner_->add_pending(peers);
        for (const Record& record : records_)
            if (record.completion) peers.push_back(record.peer);
        for (const Fetch& fetch : fetches_) peers.push_back(fetch.from->source);
    }

    void disconnect(int peer) override {
        peers_[static_cast<std::size_t>(peer)].gone = true;
        peers_[static_cast<std::size_t>(peer)].reads = false;
        inner_->disconnect(peer);
        // A completion may release other messages and fetches, whose completions are then gone, and start new ones.
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (records_[i].peer == peer) fail(records_[i]);
        const auto is_from_it = [&](const Fetch& fetch) { return fetch.from->source == peer; };
        for (;;) {
            const auto fetch = std::find_if(fetches_.begin(), fetches_.end(), is_from_it);
            if (fetch == fetches_.end()) break;
            Completion& completion = *fetch->completion;
            let_go(fetch->from);
            fetches_.erase(fetch);
            completion.complete(Outcome::failed);
        }
    }

    unsigned progress() override { return fetches_.empty() ? inner_->progress() : progress_with_fetches(); }

    bool arm() override { return fetches_.empty() && inner_->arm(); }

    // A peer that knows where bytes are may still read them.
    bool settled() const override { return fetches_.empty() && pending_records_ == 0 && inner_->settled(); }

    bool close() override { return inner_->close(); }

    void attach(Sink& sink) override {
        sink_ = &sink;
        inner_->attach(*this);
    }

    std::string_view name() const override { return inner_->name(); }
    std::uint32_t version() const override { return inner_->version(); }
    std::string description() const override { return inner_->description() + (readable_ ? ", single copy within the node" : ""); }
    std::vector<std::byte> address() const override { return inner_->address(); }
    void connect(const std::vector<std::span<const std::byte>>& addresses, std::shared_ptr<const void> storage) override {
        inner_->connect(addresses, std::move(storage));
    }
    Memory& memory() override { return inner_->memory(); }
    std::span<std::byte> board() override { return inner_->board(); }
    void put(int peer, std::uint64_t offset, std::span<const std::byte> bytes) override { inner_->put(peer, offset, bytes); }
    PutWake put_wake(int peer) override { return inner_->put_wake(peer); }
    std::byte* peer_board(int peer) override { return inner_->peer_board(peer); }
    bool shares_memory() const override { return inner_->shares_memory(); }
    bool shares_memory_with(int peer) const override { return inner_->shares_memory_with(peer); }
    bool uses_tcp() const override { return inner_->uses_tcp(); }
    bool tells_of_puts() const override { return inner_->tells_of_puts(); }
    int descriptor() const override { return inner_->descriptor(); }
    unsigned pieces_under_way() const override { return inner_->pieces_under_way(); }

  private:
    /// A message whose bytes stay in this process until the receiver has read them.
    struct Record final : Completion {
        /// The inner transport no longer needs the announcement.
        void complete(Outcome) noexcept override {
            announced = true;
            owner->give_back(*this);
        }
        Implementation* owner = nullptr;
        std::uint64_t number = 0;
        int peer = -1;
        Completion* completion = nullptr;  ///< Null: no caller waits for it any more.
        OfferState state;
        std::uint64_t stamp = 0;
        bool announced = true;  ///< The inner transport no longer reads `announcement`.
        bool answered = true;   ///< The receiver no longer needs the bytes.
        std::array<std::byte, sizeof(Announcement) + kMaximumHeader> announcement{};
    };

    // --- sending -----------------------------------------------------------------------------------------------------------

    // Separate from send(), so that for short messages send() stays a jump into the inner transport.
    [[gnu::noinline]] Started send_with_control(int peer, std::span<const std::byte> header, ConstBytes payload, Path path,
                                                Completion& completion) {
        if (must_be_asked_[static_cast<std::size_t>(peer)]) {
            say(peer, {.kind = ControlKind::ask, .source = rank_});
            must_be_asked_[static_cast<std::size_t>(peer)] = false;
        }
        if (path == Path::large && peers_[static_cast<std::size_t>(peer)].reads && payload.data)
            return announce(peer, header, payload, completion);
        return inner_->send(peer, header, payload, path, completion);
    }

    void say(int peer, const ControlHeader& control) {
        // A failure is reported as the loss of the peer.
        inner_->send(peer, bytes_of(control), {}, Path::eager, ignored_);
    }

    Started announce(int peer, std::span<const std::byte> header, ConstBytes payload, Completion& completion) {
        Record& record = take();
        record.peer = peer;
        record.completion = &completion;
        record.stamp = ++stamps_;
        record.state.address.store(address_of(payload.data), std::memory_order_relaxed);
        record.state.stamp.store(record.stamp, std::memory_order_release);
        record.announced = record.answered = false;
        const Announcement where{address_of(payload.data), payload.size, address_of(&record.state)};
        std::memcpy(record.announcement.data(), &where, sizeof where);
        std::memcpy(record.announcement.data() + sizeof where, header.data(), header.size());
        const ControlHeader control{.kind = ControlKind::offer, .source = rank_, .record = record.number, .stamp = record.stamp};
        const ConstBytes announcement{record.announcement.data(), sizeof where + header.size()};
        Started started = Started::failed;
        try {
            started = inner_->send(peer, bytes_of(control), announcement, Path::eager, record);
        } catch (...) {
            take_back(record);
            throw;
        }
        if (started == Started::done) record.announced = true;
        if (started != Started::failed) return Started::pending;
        take_back(record);
        return Started::failed;
    }

    /// The announcement did not leave. The caller learns it otherwise.
    void take_back(Record& record) {
        record.announced = true;
        record.completion = nullptr;
        fail(record);
    }

    Record& take() {
        if (free_.empty()) {
            Record& record = records_.emplace_back();
            record.owner = this;
            record.number = records_.size() - 1;
            free_.push_back(&record);
        }
        Record& record = *free_.back();
        free_.pop_back();
        ++pending_records_;
        return record;
    }

    void give_back(Record& record) {
        if (!record.announced || !record.answered || record.peer < 0) return;
        record.peer = -1;
        --pending_records_;
        free_.push_back(&record);
    }

    void fail(Record& record) {
        record.state.stamp.store(0, std::memory_order_relaxed);
        Completion* const completion = std::exchange(record.completion, nullptr);
        record.answered = true;
        give_back(record);
        if (completion) completion->complete(Outcome::failed);
    }

    // --- receiving ---------------------------------------------------------------------------------------------------------

    [[gnu::noinline]] unsigned progress_with_fetches() {
        const unsigned happened = inner_->progress();
        Fetch fetch = fetches_.front();
        fetches_.pop_front();
        if (const auto outcome = go_on(fetch)) {
            Completion& completion = *fetch.completion;
            end(fetch);
            completion.complete(*outcome);
        } else {
            fetches_.push_back(fetch);
        }
        return happened + 1;
    }

    /// Reads the next bytes. Returns nothing if more bytes remain to be read. Anything but ok and failed is found again if it is called
    /// again.
    std::optional<Outcome> go_on(Fetch& fetch) {
        const Offered& from = *fetch.from;
        const std::int32_t process = peers_[static_cast<std::size_t>(from.source)].handle.process;
        const std::uint64_t size = std::min(longest_at_once_, fetch.into.size - fetch.read);
        const bool read = read_memory(process, fetch.address + fetch.read, static_cast<std::byte*>(fetch.into.data) + fetch.read, size);
        const Outcome outcome = read ? Outcome::ok : outcome_of_failed_read();
        if (read) fetch.read += size;
        if (read && fetch.read < fetch.into.size) return std::nullopt;
        std::atomic_thread_fence(std::memory_order_seq_cst);  // Reads the stamp after the bytes.
        const auto state = read_offer_state(process, from.where.state_address);
        if (!state) return outcome_of_failed_look();
        if (state->stamp != from.stamp) return Outcome::withdrawn;
        if (state->address != fetch.address) {
            fetch.address = state->address;  // the sender has moved the bytes: what was read may be wrong
            fetch.read = 0;
            return std::nullopt;
        }
        return outcome;
    }

    /// Called when a fetch has ended or is given up.
    void end(const Fetch& fetch) {
        answer(*fetch.from);
        let_go(fetch.from);
    }

    void answer(const Offered& offered) {
        if (!peers_[static_cast<std::size_t>(offered.source)].gone)
            say(offered.source, {.kind = ControlKind::taken, .source = rank_, .record = offered.record, .stamp = offered.stamp});
    }

    void let_go(Offered* offered) { unused_.push_back(offered); }

    // --- Sink --------------------------------------------------------------------------------------------------------------

    void on_message(std::span<const std::byte> header, ConstBytes payload) noexcept override {
        if (header[0] != kSingleCopyMark) [[likely]]
            return sink_->on_message(header, payload);
        take_control(header, payload);
    }

    [[gnu::noinline]] void take_control(std::span<const std::byte> header, ConstBytes payload) noexcept {
        ControlHeader control;
        std::memcpy(&control, header.data(), sizeof control);
        Peer& peer = peers_[static_cast<std::size_t>(control.source)];
        switch (control.kind) {
            case ControlKind::offer: {
                if (unused_.empty()) unused_.push_back(&offered_.emplace_back());
                Offered* const offered = unused_.back();
                unused_.pop_back();
                *offered = {control.source, control.record, control.stamp, {}};
                std::memcpy(&offered->where, payload.data, sizeof offered->where);
                const auto* const its_header = static_cast<const std::byte*>(payload.data) + sizeof offered->where;
                return sink_->on_offer({its_header, payload.size - sizeof offered->where},
                                       {.handle = offered, .size = offered->where.size, .form = kForm});
            }
            case ControlKind::taken: {
                if (control.record >= records_.size()) return;
                Record& record = records_[control.record];
                if (record.stamp != control.stamp || record.answered) return;
                record.answered = true;
                Completion* const completion = std::exchange(record.completion, nullptr);
                record.state.stamp.store(0, std::memory_order_relaxed);
                give_back(record);
                if (completion) completion->complete(Outcome::ok);
                return;
            }
            case ControlKind::ask:
                if (can_read(peer.handle)) say(control.source, {.kind = ControlKind::can, .source = rank_});
                return;
            case ControlKind::can: peer.reads = !peer.gone; return;
        }
    }

    void on_offer(std::span<const std::byte> header, const Offer& offer) noexcept override { sink_->on_offer(header, offer); }
    void on_peer_unreachable(int peer, std::string_view why) noexcept override { sink_->on_peer_unreachable(peer, why); }
    void on_deaf(int peer) noexcept override { sink_->on_deaf(peer); }
    void on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept override { sink_->on_board_changed(offset, size); }

    const int rank_;
    const std::uint64_t longest_at_once_;
    std::uint64_t cookie_ = 0, stamps_ = 0;
    bool readable_ = false;
    Sink* sink_ = nullptr;
    std::vector<Peer> peers_;
    std::vector<char> must_be_asked_;  ///< For each peer: whether to ask it if it can read this process's memory. For short messages, too.
    std::deque<Record> records_;       ///< A deque, because the records must not move: other processes read their stamps.
    std::vector<Record*> free_;
    std::size_t pending_records_ = 0;
    std::deque<Offered> offered_;
    std::vector<Offered*> unused_;
    std::deque<Fetch> fetches_;
    Ignored ignored_;
    std::unique_ptr<Transport> inner_;  ///< Destroyed first, because its destructor may still complete records.
};

}  // namespace

bool can_read(const SingleCopyHandle& handle) {
    std::uint64_t cookie = 0;
    return handle.domain != 0 && read_memory(handle.process, handle.witness, &cookie, sizeof cookie) && cookie == handle.cookie;
}

std::unique_ptr<SingleCopy> with_single_copy(std::unique_ptr<Transport> inner, int rank, int ranks, std::uint64_t longest_at_once) {
    return std::make_unique<Implementation>(std::move(inner), rank, ranks, longest_at_once);
}

}  // namespace rollcall::transport
