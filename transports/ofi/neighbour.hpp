/// \file
/// What the processes of one node share in addition to libfabric: the boards, and a bell for each process that sleeps. libfabric's shared
/// memory cannot wake a process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "foundation/descriptor.hpp"
#include "transports/ofi/wire.hpp"

namespace rollcall::transport::ofi {

/// Identifies the node of this process and its /dev/shm, where libfabric keeps its shared memory. 0: other processes may not look into this
/// one, for example because it is not dumpable.
std::uint64_t domain();

/// Whether other processes of this host may be in other user or PID namespaces, where they share no memory with this one. All ranks of a
/// container may be in its namespaces: their domains show that, when they have met.
bool may_be_apart();

/// What other processes need in order to reach this one.
struct NodeHandle {
    std::uint64_t domain = 0;  ///< Equal for processes that can reach each other; 0: no process can reach this one.
    std::uint64_t board_bytes = 0;
    std::int32_t process = 0;
    std::int32_t memory = -1;
    std::int32_t bell = -1;
    std::int32_t unused = 0;
};
static_assert(sizeof(NodeHandle) == 32, "it travels: without padding");

/// Room for a packet in the shared memory of its sender. The receiver is told of it by a short message, and reads it where it is. This
/// takes one copy and one system call less than to send the packet through libfabric.
struct Slot {
    std::atomic<std::uint32_t> loan;  ///< Not 0: a packet is there that the receiver has not taken.
    std::byte unused[36];
    /// The headers of a packet with large data, and 16 KiB of data, which begin on a cache line.
    std::byte bytes[sizeof(Prefix) + sizeof(Numbers) + kPacketBytes];
};
static_assert((offsetof(Slot, bytes) + sizeof(Prefix) + sizeof(Numbers)) % 64 == 0 && sizeof(Slot) % 64 == 0);
inline constexpr std::size_t kSlots = 192;

/// The shared memory of this process: a word that says whether the process sleeps, the number of processes that have mapped libfabric's
/// file, its board, and slots. They are in a file without a name, which other processes open through /proc. The bell is a pipe, which they
/// open in the same way.
class Home {
  public:
    /// Throws Error{transport}.
    explicit Home(std::uint64_t board_bytes);
    ~Home();
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

    const NodeHandle& node_handle() const { return node_handle_; }
    std::span<std::byte> board() const;
    std::span<Slot> slots() const;
    /// Becomes readable when a process has rung.
    int descriptor() const { return listening_.get(); }
    /// From now on, processes that send also ring. After this call, look for messages, and sleep only if there are none.
    void fall_asleep() noexcept;
    void wake_up() noexcept;

  private:
    NodeHandle node_handle_;
    Descriptor file_, listening_, bell_;
    std::byte* memory_ = nullptr;
};

/// The Home of another process of this node.
class Neighbour {
  public:
    Neighbour() = default;
    ~Neighbour();
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;

    /// Returns false if the process cannot be reached, for example because it is gone.
    bool open(const NodeHandle& node_handle) noexcept;
    std::byte* board() const noexcept;
    /// Returns the slot with this number, or null if there is none.
    Slot* slot(std::uint64_t number) const noexcept;
    /// Says that this process has mapped the file in /dev/shm that libfabric has for the neighbour. When all processes that share memory
    /// have, this removes the name of the file, which libfabric would leave behind if the neighbour were killed. `address` is that of the
    /// neighbour in libfabric's shared memory.
    void has_mapped(std::string_view address, unsigned sharers) noexcept;
    /// Wakes the process if it sleeps. To be called after something was sent to it.
    void ring() noexcept;

  private:
    std::byte* memory_ = nullptr;
    std::uint64_t length_ = 0, board_bytes_ = 0;
    Descriptor bell_;
};

}  // namespace rollcall::transport::ofi
