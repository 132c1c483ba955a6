/// \file
/// What processes of one node share beside libfabric: boards, and the bell of who sleeps. libfabric's shared memory wakes nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rollcall::transport::ofi {

/// How others reach it.
struct Door {
    std::uint64_t domain = 0;  ///< The same for processes that can reach each other; 0: nobody can.
    std::uint64_t board_bytes = 0;
    std::int32_t process = 0;
    std::int32_t memory = -1;
    std::int32_t bell = -1;
};

/// This process's memory: a word that says whether it sleeps, and its board, in a file without a name that others open through /proc.
/// Its bell is a pipe, opened in the same way.
class Home {
  public:
    /// Throws Error{transport}.
    explicit Home(std::uint64_t board_bytes);
    ~Home();
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

    const Door& door() const { return door_; }
    std::span<std::byte> board() const;
    /// Readable once somebody has rung.
    int descriptor() const { return listening_; }
    /// From now on who sends rings. Look for messages after this, and sleep only if there are none.
    void fall_asleep() noexcept;
    void wake_up() noexcept;

  private:
    void close() noexcept;
    Door door_;
    std::byte* memory_ = nullptr;
    int listening_ = -1;
};

/// Writes whole words on a board. What does not fit is let go.
void write_words(std::span<std::byte> board, std::uint64_t offset, std::span<const std::byte> words) noexcept;

/// That of another process of this node.
class Neighbour {
  public:
    Neighbour() = default;
    ~Neighbour();
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;

    /// False: it cannot be reached, as when it is gone.
    bool open(const Door& door) noexcept;
    std::byte* board() const noexcept;
    /// libfabric's shared memory of a process outlives one that was killed. `address`: its own name there.
    static void clear_away(const Door& door, std::string_view address) noexcept;
    /// After something was sent: wakes it if it sleeps.
    void ring() noexcept;

  private:
    std::byte* memory_ = nullptr;
    std::uint64_t length_ = 0;
    int bell_ = -1;
};

}  // namespace rollcall::transport::ofi
