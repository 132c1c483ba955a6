#include "bench/peers/peer_plan.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <rollcall/error.hpp>

#include "foundation/descriptor.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::bench {
namespace {

/// A file that all ranks of a peer can read: in memory, or on a cluster, which has another /proc, in the cluster's directory. It is gone
/// at the end of this process, or with the cluster.
class PlanFile {
  public:
    PlanFile(const std::string& text, const EmulatedCluster* cluster) {
        if (cluster != nullptr) {
            path_ = cluster->directory() / "peer-plan";
        } else {
            memory_ = Descriptor(::memfd_create("peer-plan", MFD_CLOEXEC));
            if (!memory_) fail(errno);
            path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.get());
        }
        errno = 0;
        std::ofstream file(path_);
        file << text;
        file.close();
        if (!file) fail(errno);
    }
    const std::filesystem::path& path() const { return path_; }

  private:
    [[noreturn]] static void fail(int error) {
        throw Error(ErrorCode::state, fmt::format("the plan for a peer cannot be written: {}", error_text(error)));
    }
    Descriptor memory_;
    std::filesystem::path path_;
};

}  // namespace

void require_short_plan(std::size_t calls, int ranks, bool own_sizes) {
    const std::size_t numbers = calls * (2 + (own_sizes ? 2 : 1) * static_cast<std::size_t>(ranks));
    if (numbers > std::numeric_limits<int>::max())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--peer with {} calls of {} ranks; allowed: fewer --iterations", calls, ranks));
}

std::vector<double> run_peer_plan(const Peer& peer, int ranks, const std::string& plan, const EmulatedCluster* cluster, std::size_t count,
                                  Timeout limit) {
    const PlanFile file(plan, cluster);
    const std::vector<std::string> program = {peer_program(peer, kCollectiveProgram), file.path().string()};
    std::vector<double> numbers;
    for (const std::vector<double>& line : run_peer(peer, ranks, program, cluster, limit))
        numbers.insert(numbers.end(), line.begin(), line.end());
    if (numbers.size() != count)
        throw Error(ErrorCode::state, fmt::format("the peer {} printed {} numbers instead of {}", peer.name, numbers.size(), count));
    return numbers;
}

}  // namespace rollcall::bench
