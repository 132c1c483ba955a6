/// \file
/// The CPUs that this process may use, and binding threads to CPUs. All functions use only system calls and small files of /sys, and take a
/// few microseconds, because every process start and every lane needs them. (topology.hpp describes the whole machine, which takes
/// milliseconds.)
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rollcall::runtime {

/// Numbers of CPUs (hardware threads) as the operating system counts them, in ascending order.
using Cpus = std::vector<int>;

/// Returns the CPUs on which the calling thread may run. Empty if the kernel does not tell.
Cpus cpus_of();

/// Returns the CPUs (hardware threads) of the core that `cpu` belongs to, or only `cpu` if /sys does not tell.
Cpus cpus_of_core(int cpu);

/// Binds the calling thread to CPUs. Returns the error, or an empty code on success. An empty list gives invalid_argument.
[[nodiscard]] std::error_code bind_this_thread(std::span<const int> cpus) noexcept;

/// Writes and reads a list of CPUs in the kernel's format, for example "0-3,8". parse_cpus() throws Error{invalid_argument}.
std::string format_cpus(std::span<const int> cpus);
Cpus parse_cpus(std::string_view text);

/// Takes the CPUs of each rank on this host. Returns whether there are fewer CPUs than ranks: either for all ranks together, or for the
/// ranks that have the same CPUs. It counts CPUs (hardware threads), not cores. Two ranks that poll on the two threads of a core slow each
/// other down, but neither prevents the other from running.
bool oversubscribed(std::span<const Cpus> cpus_of_local_ranks);

}  // namespace rollcall::runtime
