/// \file
/// Memory that the runtime gives to a program, and that other ranks can read in place.
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
/// The other ranks of the node can read this memory, so a call need not copy what it sends from it. That is so for data, or blocks, of more
/// than 4 KiB, in calls that end only after the others have read:
///   - If all ranks are on one node: in allreduce, reduce_scatter and alltoall, in allgather between two ranks, and with
///     CollectiveOptions::until_delivered also in broadcast, gather and reduce. In a scatter, ranks that have come read blocks of more than
///     64 KiB in place; the root copies the blocks of the others and, without until_delivered, does not wait for them. (The same holds
///     between two groups, but for an allreduce.)
///   - If they are on several nodes: in allreduce and reduce_scatter by `two_level`. In a reduce by `two_level`, for the root, and with
///     until_delivered for all. Where ROLLCALL_DECOUPLE is `no`, also for ranks that combine a share.
///
/// In all other calls a rank that sends copies its data, as it does with any other memory. Short data is copied in all calls. So a program
/// must not take the end of a call for a sign that others have read the data. Results and failures are the same with any memory. For ranks
/// of other hosts it is memory like any other: the transport registers it with the network when it sends from it, if it must.
///
/// Use it like any other memory, also in calls on several communicators at a time. Destroy it only when no call uses it. A child that the
/// program forks shares the memory with its parent if the ranks of the node share memory, and otherwise has a copy. It does not count in
/// ROLLCALL_LANDING_BYTES. Any thread may destroy or move it; one thread at a time may use the same object.
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
