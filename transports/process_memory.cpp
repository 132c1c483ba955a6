#include "transports/process_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "foundation/copy.hpp"
#include "foundation/error_text.hpp"
#include "foundation/kernel.hpp"

namespace rollcall::transport {
namespace {

// Returns 0 if Yama is not loaded.
int yama_scope() {
    std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
    int scope = 0;
    return file >> scope ? scope : 0;
}

constexpr int kDescendantsOnly = 1;

constexpr std::uint64_t kPage = 4096, kPiece = 8 * kPage, kShortestInPieces = kPage;

struct FreeMemory {
    void operator()(std::byte* memory) const { std::free(memory); }
};

bool read_straight(std::int32_t process, std::uint64_t address, void* into, std::uint64_t size) {
    auto* to = static_cast<std::byte*>(into);
    while (size > 0) {
        const iovec here{to, size}, there{reinterpret_cast<void*>(address), size};
        const ssize_t read = ::process_vm_readv(process, &here, 1, &there, 1, 0);
        if (read < 0 && errno == EINTR) continue;
        if (read <= 0) return false;
        to += read;
        address += static_cast<std::uint64_t>(read);
        size -= static_cast<std::uint64_t>(read);
    }
    return true;
}

}  // namespace

bool read_memory(std::int32_t process, std::uint64_t address, void* into, std::uint64_t size) {
    if (size < kShortestInPieces || !is_slow_for_copy_instruction(into, reinterpret_cast<const void*>(address)))
        return read_straight(process, address, into, size);
    // The kernel copies by that instruction: 2.4 GB/s. In pieces that lie in this process as they do in the other one it is three times
    // that.
    static thread_local std::unique_ptr<std::byte, FreeMemory> room;
    if (!room) room.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, kPiece + kPage)));
    if (!room) return read_straight(process, address, into, size);
    auto* to = static_cast<std::byte*>(into);
    while (size > 0) {
        const std::uint64_t piece = std::min(size, kPiece);
        std::byte* const between = room.get() + address % kPage;
        if (!read_straight(process, address, between, piece)) return false;
        copy_bytes(to, between, piece);
        to += piece;
        address += piece;
        size -= piece;
    }
    return true;
}

bool is_ending(std::int32_t process) noexcept {
    std::byte into{};
    const iovec here{&into, sizeof into}, there{&into, sizeof into};  // some address: nobody uses what is read there
    return ::process_vm_readv(process, &here, 1, &there, 1, 0) < 0 && errno == ESRCH;
}

std::string why_memory_cannot_be_read() {
    if (const int scope = yama_scope(); scope > kDescendantsOnly)
        return fmt::format("the kernel forbids it (kernel.yama.ptrace_scope is {})", scope);
    if (::prctl(PR_GET_DUMPABLE) != 1) return "other processes may not look into this one (it is not dumpable)";
    if (node_identity() == 0) return "/proc does not say which kernel and namespaces this process belongs to";
    // Tries to read this process's own memory. A container's filter of system calls refuses that as well, if it refuses the call.
    const std::uint64_t there = 1;
    std::uint64_t here = 0;
    if (!read_memory(::getpid(), reinterpret_cast<std::uint64_t>(&there), &here, sizeof here) || here != there)
        return fmt::format("process_vm_readv: {}", error_text(errno));
    return "";
}

void let_memory_be_read() {
    if (yama_scope() == kDescendantsOnly) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace rollcall::transport
