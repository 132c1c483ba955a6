/// \file
/// A Slurm of four nodes on this host, as long as the object lives; see cluster.sh.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace rollcall::test {

class SlurmCluster {
  public:
    /// Waits until all nodes are idle. What is missing is in failure().
    SlurmCluster();
    SlurmCluster(const SlurmCluster&) = delete;
    SlurmCluster& operator=(const SlurmCluster&) = delete;
    /// All its processes are gone afterwards.
    ~SlurmCluster();

    bool started() const { return failure_.empty(); }
    const std::string& failure() const { return failure_; }
    /// Whether it is this system that cannot have one: not root, or no Slurm.
    bool impossible() const { return impossible_; }

    /// What a command is to be preceded by to run there.
    std::vector<std::string> inside() const;
    /// Of its processes, as /proc/.../ns/pid shows it.
    const std::string& name_space() const { return name_space_; }
    /// All processes of the cluster.
    std::vector<pid_t> processes() const;

  private:
    pid_t process_ = -1;
    int input_ = -1;
    std::string name_space_;  ///< Of its processes.
    std::string failure_;
    bool impossible_ = false;
};

/// Living processes of this process name space, as /proc/.../ns/pid shows it.
std::vector<pid_t> processes_of(const std::string& name_space);

}  // namespace rollcall::test
