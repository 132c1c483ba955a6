#include "transports/ofi/neighbour.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"
#include "foundation/hash.hpp"
#include "foundation/kernel.hpp"
#include "transports/ofi/shared_memory.hpp"

namespace rollcall::transport::ofi {
namespace {

constexpr std::uint64_t kMappedAt = 64, kBoardAt = 4096;

std::uint64_t slots_at(std::uint64_t board_bytes) { return (kBoardAt + board_bytes + 4095) / 4096 * 4096; }
std::uint64_t length_of(std::uint64_t board_bytes) { return slots_at(board_bytes) + kSlots * sizeof(Slot); }
Slot* slots_in(std::byte* memory, std::uint64_t board_bytes) { return reinterpret_cast<Slot*>(memory + slots_at(board_bytes)); }

std::string path_of(std::int32_t process, std::int32_t file) { return fmt::format("/proc/{}/fd/{}", process, file); }

std::byte* map(int file, std::uint64_t length) noexcept {
    void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

std::atomic_ref<std::uint32_t> sleeps(std::byte* memory) { return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(memory)); }

}  // namespace

std::uint64_t domain() {
    const std::uint64_t node = node_identity();
    struct stat shared {};
    if (node == 0 || ::stat("/dev/shm", &shared) != 0 || ::prctl(PR_GET_DUMPABLE) != 1) return 0;
    const std::array all = {node, std::uint64_t{shared.st_dev}};
    return hash_of(std::as_bytes(std::span(all))) | 1;
}

bool may_be_apart() { return namespace_number("user") != kFirstUserNamespace || namespace_number("pid") != kFirstProcessNamespace; }

Home::Home(std::uint64_t board_bytes) {
    check_length_of_file(length_of(board_bytes), "the memory of the arrivals board");
    int bell[2] = {-1, -1};
    file_.reset(::memfd_create("rollcall-board", MFD_CLOEXEC));
    if (file_ && ::ftruncate(file_.get(), static_cast<off_t>(length_of(board_bytes))) == 0 && ::pipe2(bell, O_CLOEXEC | O_NONBLOCK) == 0)
        memory_ = map(file_.get(), length_of(board_bytes));
    const int error = errno;
    listening_.reset(bell[0]);
    bell_.reset(bell[1]);
    node_handle_ = {.domain = domain(), .board_bytes = board_bytes, .process = ::getpid(), .memory = file_.get(), .bell = bell_.get()};
    if (memory_) return;
    throw Error(ErrorCode::transport, fmt::format("the memory of the arrivals board ({} bytes) and its pipe cannot be made: {}; raise the "
                                                  "limits of memory and open files (ulimit -v, ulimit -n)",
                                                  board_bytes, error_text(error)));
}

Home::~Home() { ::munmap(memory_, length_of(node_handle_.board_bytes)); }

std::span<std::byte> Home::board() const { return {memory_ + kBoardAt, node_handle_.board_bytes}; }

std::span<Slot> Home::slots() const { return {slots_in(memory_, node_handle_.board_bytes), kSlots}; }

void Home::fall_asleep() noexcept {
    sleeps(memory_).store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Home::wake_up() noexcept {
    sleeps(memory_).store(0, std::memory_order_relaxed);
    char rung[64];
    while (::read(listening_.get(), rung, sizeof rung) == static_cast<ssize_t>(sizeof rung)) {
    }
}

Neighbour::~Neighbour() {
    if (memory_) ::munmap(memory_, length_);
}

bool Neighbour::open(const NodeHandle& node_handle) noexcept {
    const Descriptor file(::open(path_of(node_handle.process, node_handle.memory).c_str(), O_RDWR | O_CLOEXEC));
    if (!file) return false;
    struct stat status {};
    length_ = length_of(node_handle.board_bytes);
    board_bytes_ = node_handle.board_bytes;
    // The process may be gone, and another one may have its number. The length of the file is checked for that reason.
    if (::fstat(file.get(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == length_) memory_ = map(file.get(), length_);
    // Opened for reading as well. Otherwise ringing at a process that is gone would raise SIGPIPE.
    if (memory_) bell_.reset(::open(path_of(node_handle.process, node_handle.bell).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    return static_cast<bool>(bell_);
}

std::byte* Neighbour::board() const noexcept { return memory_ ? memory_ + kBoardAt : nullptr; }

Slot* Neighbour::slot(std::uint64_t number) const noexcept {
    return memory_ && number < kSlots ? slots_in(memory_, board_bytes_) + number : nullptr;
}

void Neighbour::has_mapped(std::string_view address, unsigned sharers) noexcept {
    std::atomic_ref mapped(*reinterpret_cast<std::uint32_t*>(memory_ + kMappedAt));
    if (mapped.fetch_add(1, std::memory_order_acq_rel) + 1 != sharers) return;
    // The address is "fi_shm://PID:...". The file has that name without the scheme.
    address = address.substr(0, address.find('\0'));
    if (const auto scheme = address.find("://"); scheme != std::string_view::npos)
        ::shm_unlink(std::string(address.substr(scheme + 3)).c_str());
}

void Neighbour::ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeps(memory_).load(std::memory_order_relaxed) == 0 || sleeps(memory_).exchange(0, std::memory_order_relaxed) == 0) return;
    // If the pipe is full, the other process is woken anyway.
    [[maybe_unused]] const ssize_t written = ::write(bell_.get(), "", 1);
}

}  // namespace rollcall::transport::ofi
