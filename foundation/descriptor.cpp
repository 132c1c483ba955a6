#include "foundation/descriptor.hpp"

#include <mutex>
#include <set>

#include <pthread.h>

namespace rollcall::inline foundation {
namespace {

/// The descriptors that forked children must not have. The mutex is held during a fork, so that each number in the set is an open
/// descriptor of this process at that moment.
class PrivateDescriptors {
  public:
    /// Never destroyed, because a thread that serves a rendezvous may still close descriptors while the process exits.
    static PrivateDescriptors& all() {
        static auto* const descriptors = new PrivateDescriptors;
        return *descriptors;
    }
    void add(int number) {
        const std::lock_guard lock(mutex_);
        numbers_.insert(number);
    }
    void remove(int number) {
        const std::lock_guard lock(mutex_);
        numbers_.erase(number);
    }
    /// Closes it with the mutex held. A child that is forked at that moment would otherwise have it, and nobody would close it there.
    void close(int number) {
        const std::lock_guard lock(mutex_);
        if (numbers_.erase(number) != 0) ::close(number);
    }

  private:
    PrivateDescriptors() {
        ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                         [] {
                             for (const int number : all().numbers_) ::close(number);
                             all().numbers_.clear();
                             all().mutex_.unlock();
                         });
    }

    std::mutex mutex_;
    std::set<int> numbers_;
};

}  // namespace

void Descriptor::keep_from_children() {
    if (descriptor_ < 0 || is_private_) return;
    PrivateDescriptors::all().add(descriptor_);
    is_private_ = true;
}

void Descriptor::disclose() noexcept { PrivateDescriptors::all().remove(descriptor_); }
void Descriptor::close_private() noexcept { PrivateDescriptors::all().close(descriptor_); }

}  // namespace rollcall::inline foundation
