/// \file
/// Emulated hosts on this machine for the duration of a benchmark. Each host consists of namespaces and a link of limited rate. cluster.sh
/// makes them and needs root.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "foundation/descriptor.hpp"
#include "launcher/hosts/hosts.hpp"

namespace rollcall::bench {

/// The largest number of hosts in a cluster: as many as a Linux bridge takes.
inline constexpr int kMostClusterHosts = 1000;

/// Returns the hosts of a job of `ranks` ranks on a cluster of `size` hosts. The ranks are divided into blocks that are as equal as
/// possible. A host without a rank is left out.
std::vector<launcher::Host> cluster_hosts(int size, int ranks);

/// All functions must be called from one thread.
class EmulatedCluster {
  public:
    /// Does not make the cluster yet. \param rate The rate of each link as tc writes it ("1gbit"), or "none".
    EmulatedCluster(int size, std::string rate);
    /// Removes the cluster. It is also removed at the end of this process, whatever the cause.
    ~EmulatedCluster();
    EmulatedCluster(const EmulatedCluster&) = delete;
    EmulatedCluster& operator=(const EmulatedCluster&) = delete;

    /// Makes the cluster, unless it exists. Throws Error{invalid_argument} or Error{state} with the message of cluster.sh.
    void up();

    int size() const { return size_; }
    const std::string& name() const { return name_; }
    std::vector<launcher::Host> hosts(int ranks) const { return cluster_hosts(size_, ranks); }
    /// The remote shell, in the form of LaunchOptions::agent. It reaches the hosts only from this machine, not from each other.
    std::string agent() const;
    /// A program that replaces ssh. It needs EMULATED_CLUSTER to be set to name().
    std::filesystem::path remote_shell() const;
    /// Returns a command that runs `words` where the hosts can be reached over the network.
    std::vector<std::string> at_head(const std::vector<std::string>& words) const;
    /// A directory that has the same name here and on all hosts. It is removed with the cluster.
    std::filesystem::path directory() const;
    /// The network of all its hosts: "10.77.0.0/16".
    static const char* network();

  private:
    int size_;
    std::string rate_, name_;
    std::filesystem::path script_;
    pid_t holder_ = -1;
    Descriptor input_;  ///< The cluster exists until this is closed.
};

}  // namespace rollcall::bench
