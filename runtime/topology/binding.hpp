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

#include <sys/types.h>

namespace rollcall::runtime {

/// CPU numbers as the operating system counts them (hardware threads), ascending.
using Cpus = std::vector<int>;

/// The CPUs that a thread may run on; 0 is the calling thread. Empty when the thread does not exist.
Cpus cpus_of(pid_t thread = 0);

/// The CPU the calling thread runs on now, or -1.
int current_cpu() noexcept;

/// The CPUs of the core that `cpu` belongs to (its hardware threads); `cpu` alone when /sys does not tell.
Cpus cpus_of_core(int cpu);

/// Binds the calling thread to CPUs. Returns the error, none when it worked. An empty list is invalid_argument.
[[nodiscard]] std::error_code bind_this_thread(std::span<const int> cpus) noexcept;

/// Binds the calling thread to the CPUs that another thread of this host may run on now. Returns the error:
/// no_such_process when that thread does not exist.
[[nodiscard]] std::error_code bind_this_thread_to_cpus_of(pid_t thread);

/// Binds the calling thread to the core of a CPU, as far as the thread may use that core now. For a lane whose
/// application is not bound: bind to the core the application was seen on.
[[nodiscard]] std::error_code bind_this_thread_to_core_of(int cpu);

/// "0-3,8" and back: the kernel's own form of a list of CPUs. parse_cpus() throws Error{invalid_argument}.
std::string format_cpus(std::span<const int> cpus);
Cpus parse_cpus(std::string_view text);

/// Whether `local_size` ranks that may all use what this process may use have less than a CPU each. A process that is
/// bound to one core cannot know that its neighbours are bound to others: where the ranks have told each other their
/// CPUs, use the other form. CPUs (hardware threads), not cores, decide: two ranks that poll on the two threads of a
/// core slow each other down, but neither keeps the other from running.
bool oversubscribed(int local_size);

/// The same from the CPUs of each rank on this host: whether the ranks together, or those with the same CPUs among
/// them, have less than a CPU each.
bool oversubscribed(std::span<const Cpus> cpus_of_local_ranks);

}  // namespace rollcall::runtime
