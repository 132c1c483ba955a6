/// \file
/// The events that a provider of libfabric reports. Only this class reads completion queues, so it is the one place that handles what can
/// go wrong with them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <rdma/fi_eq.h>
#include <sys/types.h>

namespace rollcall::transport::ofi {

struct Packet;

/// Bytes that came in, a packet that has left or did not arrive, the end of a read, or a write of a peer (then there is no packet).
struct Event {
    Packet* packet;
    std::size_t size;
    bool failed;  ///< Completions::why() says why.
};

class Completions {
  public:
    /// The number of places of a queue. All packets that this process has under way find room, including those to peers that are gone.
    /// Peers' writes on the board take places, too, and nothing here limits their number. A provider holds them back, or makes room for
    /// them (FI_RM_ENABLED); a provider that does neither reports an overrun.
    static constexpr std::size_t kPlaces = 1024;

    /// Reads this queue from now on. `provider`: its name. `events`: where it reports errors that belong to no operation, or null.
    void open(fid_cq* queue, std::string provider, fid_eq* events = nullptr) {
        queue_ = queue;
        provider_ = std::move(provider);
        events_of_no_operation_ = events;
    }
    /// Asks the provider for events, unless some have not been handed out. Returns true if there are some, or if there is trouble.
    bool look();
    /// Gets the next event that look() has found. Returns false if there is none.
    bool next(Event& event) {
        if (first_ == last_) return false;
        event = events_[first_++];
        return true;
    }
    /// Why the last event that failed did so.
    const std::string& why() const { return why_; }

    /// An error that concerns no packet that this process has sent: look() has found one.
    bool is_troubled() const { return !trouble_.empty(); }
    /// Returns the sentence for users, and forgets it.
    std::string take_trouble() { return std::exchange(trouble_, {}); }
    /// Whether events were lost, so that it is not known any more what has become of packets. Others may still come.
    bool has_lost_events() const { return has_lost_events_; }
    /// Notes that events or messages are lost. `result`: what libfabric gave, a negative error; `what` has failed, for the sentence.
    void note_loss(ssize_t result, std::string_view what);

  private:
    void take_error();
    void take_error_of_no_operation();
    /// Notes an error that names no peer. `why`: what libfabric says.
    void note_error(std::string_view why);

    fid_cq* queue_ = nullptr;
    fid_eq* events_of_no_operation_ = nullptr;
    std::string provider_;
    std::array<Event, 32> events_;  ///< Of these, the events from `first_` to `last_` have not been handed out.
    std::size_t first_ = 0, last_ = 0;
    std::string why_, trouble_;
    bool has_lost_events_ = false;
};

}  // namespace rollcall::transport::ofi
