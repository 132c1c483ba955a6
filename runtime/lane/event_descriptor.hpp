/// \file
/// An eventfd: a descriptor that one thread makes readable to wake another.
#pragma once

#include "foundation/descriptor.hpp"

namespace rollcall::runtime {

class EventDescriptor {
  public:
    EventDescriptor();  ///< Throws Error{state} when there are no descriptors left.

    int get() const noexcept { return descriptor_.get(); }
    void signal() noexcept;
    void clear() noexcept;

  private:
    Descriptor descriptor_;
};

}  // namespace rollcall::runtime
