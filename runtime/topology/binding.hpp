/// \file
/// The CPUs this process may use, and moving threads between them. All of it is system calls and small files of /sys, a
/// few microseconds: every process start and every lane pays it. (topology.hpp has the whole picture, for
/// milliseconds.)
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rollcall::runtime {

/// CPU numbers as the operating system counts them (hardware threads), ascending.
using Cpus = std::vector<int>;

/// The CPUs that the calling thread may run on. Empty when the kernel does not tell.
Cpus cpus_of();

/// The CPUs of the core that `cpu` belongs to (its hardware threads); `cpu` alone when /sys does not tell.
Cpus cpus_of_core(int cpu);

/// Binds the calling thread to CPUs. Returns the error, none when it worked. An empty list is invalid_argument.
[[nodiscard]] std::error_code bind_this_thread(std::span<const int> cpus) noexcept;

/// "0-3,8" and back: the kernel's own form of a list of CPUs. parse_cpus() throws Error{invalid_argument}.
std::string format_cpus(std::span<const int> cpus);
Cpus parse_cpus(std::string_view text);

/// From the CPUs of each rank on this host: whether the ranks together, or those with the same CPUs among them, have less
/// than a CPU each. CPUs (hardware threads), not cores, decide: two ranks that poll on the two threads of a core slow
/// each other down, but neither keeps the other from running.
bool oversubscribed(std::span<const Cpus> cpus_of_local_ranks);

}  // namespace rollcall::runtime
