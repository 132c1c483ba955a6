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

/// An epoll set with a handler for each descriptor. Handlers get the epoll events and may add and remove descriptors.
/// A handler may be called without cause. If a handler removes a descriptor, events of it that are still pending
/// reach no handler, even if its number has been added again.
class Poller {
  public:
    using Handler = std::function<void(std::uint32_t events)>;

    Poller();
    /// Keeps the epoll set itself from children, as Descriptor::keep_from_children() does: a child that changed the
    /// set would change that of its parent.
    void keep_from_children() { set_.keep_from_children(); }
    /// Adds a descriptor. Returns false when it cannot be polled because it is always ready (a regular file).
    bool add(int descriptor, std::uint32_t events, Handler handler);
    void change(int descriptor, std::uint32_t events);
    void remove(int descriptor);
    /// Waits until the time `until` at most, and calls the handlers of the descriptors that are ready.
    void wait(Nanoseconds until);

  private:
    struct Entry {
        std::shared_ptr<Handler> handler;
        std::uint32_t generation = 0;  ///< Distinguishes it from earlier descriptors with its number.
    };
    Descriptor set_;
    std::unordered_map<int, Entry> entries_;
    std::uint32_t generation_ = 0;
};

}  // namespace rollcall::bootstrap
