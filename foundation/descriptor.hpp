/// \file
/// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace rollcall::inline foundation {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(Descriptor&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), is_private_(std::exchange(other.is_private_, false)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            reset(std::exchange(other.descriptor_, -1));
            is_private_ = std::exchange(other.is_private_, false);
        }
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return descriptor_; }
    explicit operator bool() const { return descriptor_ >= 0; }
    int release() {
        if (std::exchange(is_private_, false)) disclose();
        return std::exchange(descriptor_, -1);
    }
    void reset(int descriptor = -1) {
        if (std::exchange(is_private_, false))
            close_private();
        else if (descriptor_ >= 0)
            ::close(descriptor_);
        descriptor_ = descriptor;
    }
    /// From now on, the descriptor is closed in each child that this process forks. So the other side notices the end of this process, and
    /// an address becomes free again, even if a child outlives the process. Any thread may call it.
    void keep_from_children();

  private:
    /// From now on, children have it.
    void disclose() noexcept;
    /// Closes it, unless this process is such a child: the number may then belong to another descriptor.
    void close_private() noexcept;

    int descriptor_ = -1;
    bool is_private_ = false;
};

}  // namespace rollcall::inline foundation
