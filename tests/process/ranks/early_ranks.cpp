/// \file
/// A scenario of exchanges in which half of the ranks come late: those that have come exchange their blocks among themselves first.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

long element(int from, int to, std::size_t at) { return from * 1'000'000'000L + to * 10'000'000L + static_cast<long>(at); }

/// Reads memory of this process into which the engine may be writing at the same time. To the sanitizers a system call is no access to it,
/// and it never sees a byte that another thread has not written.
class OwnMemory {
  public:
    OwnMemory() : file_(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) { check(file_ >= 0, "/proc/self/mem cannot be opened"); }
    ~OwnMemory() { ::close(file_); }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

    std::vector<long> read(std::span<const long> from) const {
        std::vector<long> copy(from.size());
        const auto got = ::pread(file_, copy.data(), from.size_bytes(), static_cast<off_t>(reinterpret_cast<std::uintptr_t>(from.data())));
        check(got == static_cast<ssize_t>(from.size_bytes()), "{} bytes could be read instead of {}", got, from.size_bytes());
        return copy;
    }

  private:
    int file_;
};

}  // namespace

// The late ranks call only when all early ranks have reported that they have each other's blocks. If an early rank had to wait for a late
// one before it has them, the scenario would fail. Words: the operation, its algorithm, the ranks of a node (every other node is late), how
// many elements a block has, and every how many-th rank is asked.
ROLLCALL_SCENARIO(early_ranks_exchange) {
    const bool is_alltoall = scene.word(0) == "alltoall";
    const int of_node = scene.number(2, 1), asked = scene.number(4, 1);
    const auto count = static_cast<std::size_t>(scene.number(3, 20'000)), ranks = static_cast<std::size_t>(scene.size);
    const std::string algorithm = scene.word(1);
    const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
    const auto is_late = [&](int rank) { return rank / of_node % 2 == 1; };
    const auto expected = [&](int from) {
        std::vector<long> block(count);
        for (std::size_t i = 0; i < count; ++i) block[i] = element(from, is_alltoall ? scene.rank : 0, i);
        return block;
    };
    std::vector<long> from, into(ranks * count, -1);
    for (int to = 0; to < (is_alltoall ? scene.size : 1); ++to)
        for (std::size_t i = 0; i < count; ++i) from.push_back(element(scene.rank, to, i));
    const auto block_of = [&](int rank) { return std::span<const long>(into).subspan(static_cast<std::size_t>(rank) * count, count); };
    std::uint64_t early = 0;
    for (int rank = 0; rank < scene.size; ++rank) early += !is_late(rank) && rank % asked == 0;

    scene.world.barrier();
    if (is_late(scene.rank)) scene.await(0, early);
    Request request = is_alltoall ? scene.world.start_alltoall(from, into, options) : scene.world.start_allgather(from, into, options);
    if (!is_late(scene.rank) && scene.rank % asked == 0) {
        const OwnMemory memory;
        const auto until = std::chrono::steady_clock::now() + kPatience;
        for (int other = 0; other < scene.size; ++other) {
            if (is_late(other) || other == scene.rank) continue;
            while (memory.read(block_of(other)) != expected(other)) {
                check(std::chrono::steady_clock::now() < until, "the block of rank {}, which has come, did not come before late ranks",
                      other);
                sleep_us(1000);
            }
        }
        scene.at(0).fetch_add(1);
    }
    request.wait();
    for (int other = 0; other < scene.size; ++other) {
        const std::span<const long> block = block_of(other);
        check(std::vector<long>(block.begin(), block.end()) == expected(other), "the block of rank {} is wrong", other);
    }
    scene.world.barrier();
}

}  // namespace rollcall::test
