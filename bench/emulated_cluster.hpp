/// \file
/// Emulated hosts on this machine for the time of a benchmark: namespaces and a link of limited rate each, made by
/// cluster.sh, which needs root.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/hosts.hpp"

namespace rollcall::bench {

/// Most hosts of a cluster: as many as a bridge of Linux takes.
inline constexpr int kMostClusterHosts = 1000;

/// The hosts of a job of so many ranks on a cluster of `size`, in blocks as equal as can be; a host without a rank is left out.
std::vector<launcher::Host> cluster_hosts(int size, int ranks);

/// Call it from one thread.
class EmulatedCluster {
  public:
    /// Makes nothing yet. \param rate as tc has it ("1gbit"), or "none".
    EmulatedCluster(int size, std::string rate);
    /// Takes it down. So does the end of this process, whatever ends it.
    ~EmulatedCluster();
    EmulatedCluster(const EmulatedCluster&) = delete;
    EmulatedCluster& operator=(const EmulatedCluster&) = delete;

    /// Makes it, unless it is there. Throws Error{invalid_argument, state} in the words of cluster.sh.
    void up();

    int size() const { return size_; }
    const std::string& name() const { return name_; }
    std::vector<launcher::Host> hosts(int ranks) const { return cluster_hosts(size_, ranks); }
    /// The remote shell, as LaunchOptions::agent takes it. It reaches hosts from this machine only, not from each other.
    std::string agent() const;
    /// A program that stands in for ssh, where EMULATED_CLUSTER is name().
    std::filesystem::path remote_shell() const;
    /// The words of a command that runs them where the hosts can be reached by the network.
    std::vector<std::string> at_head(const std::vector<std::string>& words) const;
    /// A directory with this name here and on all hosts, which goes with the cluster.
    std::filesystem::path directory() const;
    /// Of all its hosts: "10.77.0.0/16".
    static const char* network();

  private:
    int size_;
    std::string rate_, name_;
    std::filesystem::path script_;
    pid_t holder_ = -1;
    int input_ = -1;  ///< The cluster lasts until its end.
};

}  // namespace rollcall::bench
