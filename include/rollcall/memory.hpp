/// \file
/// Memory that the runtime gives to a program, from which other ranks can read where the data stands.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <rollcall/export.h>
#include <rollcall/buffer.hpp>

namespace rollcall {

/// Memory from Job::allocate(), which the destructor gives back. It may outlive the Job.
///
///     rollcall::Memory memory = job.allocate(count * sizeof(double));
///     const std::span<double> values = memory.as<double>();
///     ...
///     world.allreduce(values, rollcall::sum);
///
/// The other ranks of the node can read it. So ranks of one node need no copy of what a call sends out of it, where the call does not end
/// before the others have read anyway: in allreduce, reduce_scatter and alltoall, in allgather between two ranks, and with
/// CollectiveOptions::until_delivered also in broadcast, gather and reduce. Without that option a rank that only sends copies its data and
/// leaves at once, as from any other memory. Results and failures are the same from any memory.
///
/// Destroy it only when no call uses it. A child that the program forks shares it with its parent, and has no copy. It is used like any
/// other memory, also by calls on several communicators at a time. It does not count in ROLLCALL_LANDING_BYTES.
class ROLLCALL_EXPORT Memory {
  public:
    /// No memory.
    Memory() noexcept;
    /// Gives the memory back. Does nothing in a forked child.
    ~Memory();
    /// \{
    /// Moves the memory, which stays at its address. `other` has none afterwards.
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    /// \}

    /// The address, which is aligned for every type; null if size() is 0.
    void* data() const noexcept;
    /// The number of bytes that was asked for.
    std::uint64_t size() const noexcept;
    /// As many elements as there is room for.
    template <Transferable T>
    std::span<T> as() const noexcept {
        return {static_cast<T*>(data()), static_cast<std::size_t>(size() / sizeof(T))};
    }

    struct Implementation;

  private:
    friend class Job;
    explicit Memory(std::unique_ptr<Implementation> implementation) noexcept;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
