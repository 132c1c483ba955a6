/// \file
/// Waits for many descriptors at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

/// An epoll set with a handler for each descriptor. Handlers get the epoll events, may add and remove descriptors, and
/// must bear a call without cause. An event of a descriptor that a handler before it removed reaches nobody, also where its number has been
/// added again.
class Poller {
  public:
    using Handler = std::function<void(std::uint32_t events)>;

    Poller();
    /// As Descriptor says, of the set itself: a child that changed it would change that of its parent.
    void keep_from_children() { set_.keep_from_children(); }
    /// False when the descriptor cannot be polled because it is always ready (a regular file).
    bool add(int descriptor, std::uint32_t events, Handler handler);
    void change(int descriptor, std::uint32_t events);
    void remove(int descriptor);
    /// Waits until the moment `until`, at most, and calls the handlers of what is ready.
    void wait(Nanoseconds until);

  private:
    struct Entry {
        std::shared_ptr<Handler> handler;
        std::uint32_t generation = 0;  ///< Tells it from what had its number before.
    };
    Descriptor set_;
    std::unordered_map<int, Entry> entries_;
    std::uint32_t generation_ = 0;
};

}  // namespace rollcall::bootstrap
