/// \file
/// An eventfd: a descriptor that one thread makes readable to wake another.
#pragma once

namespace rollcall::runtime {

class EventDescriptor {
  public:
    EventDescriptor();  ///< Throws Error{state} when there are no descriptors left.
    ~EventDescriptor();
    EventDescriptor(const EventDescriptor&) = delete;
    EventDescriptor& operator=(const EventDescriptor&) = delete;

    int get() const noexcept { return descriptor_; }
    void signal() noexcept;
    void clear() noexcept;

  private:
    int descriptor_;
};

}  // namespace rollcall::runtime
