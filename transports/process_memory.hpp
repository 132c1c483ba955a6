/// \file
/// Reading the memory of another process of this kernel (process_vm_readv of Linux, cross-memory attach).
#pragma once

#include <cstdint>
#include <string>

namespace rollcall::transport {

/// Copies `size` bytes from `address` in the process with this id. False: not all of them can be read (errno says why); what was copied
/// until then is of no use.
bool read_memory(std::int32_t process, std::uint64_t address, void* into, std::uint64_t size);

/// Why processes of one user cannot read each other's memory here, in a few words; empty: nothing is known to forbid it.
std::string why_memory_cannot_be_read();

/// Lets every process of this user read this one's memory. Yama, a module of the kernel that some distributions load, lets only ancestors
/// do so otherwise, and ranks are siblings.
void let_memory_be_read();

}  // namespace rollcall::transport
