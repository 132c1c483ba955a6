/// \file
/// Reads the memory of another process that runs on the same kernel (process_vm_readv of Linux, cross-memory attach).
#pragma once

#include <cstdint>
#include <string>

namespace rollcall::transport {

/// Copies `size` bytes from `address` in the process with this id. Returns false when not all of them can be read (errno gives the reason).
/// What was copied until then is of no use.
bool read_memory(std::int32_t process, std::uint64_t address, void* into, std::uint64_t size);

/// Whether the process has no memory any more: it is ending, or is gone. False where that cannot be found out.
bool is_ending(std::int32_t process) noexcept;

/// Why processes of one user cannot read each other's memory here, in a few words. Empty: nothing is known to forbid it.
std::string why_memory_cannot_be_read();

/// Lets every process of this user read the memory of this process. Without it, Yama, a kernel module that some distributions load, lets
/// only ancestors do so, and ranks are siblings.
void let_memory_be_read();

}  // namespace rollcall::transport
