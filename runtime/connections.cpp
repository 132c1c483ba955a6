// The connections of a process to other jobs.
#include <exception>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "runtime/process.hpp"

namespace rollcall::runtime {

void TwoJobs::name_ranks(std::vector<std::string>& hosts) const {
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto first = static_cast<std::size_t>(in_first);
        const bool is_first = rank < first;
        hosts[rank] += fmt::format(" (rank {} of job {})", is_first ? rank : rank - first, names[is_first ? 0 : 1]);
    }
}

void Process::add_connection(const std::shared_ptr<Process>& connection) {
    const std::lock_guard lock(connecting_);
    std::erase_if(connections_, [](const std::weak_ptr<Process>& known) { return known.expired(); });
    connections_.push_back(connection);
}

std::vector<std::shared_ptr<Process>> Process::connections() const {
    const std::lock_guard lock(connecting_);
    std::vector<std::shared_ptr<Process>> left;
    for (const std::weak_ptr<Process>& known : connections_)
        if (auto connection = known.lock(); connection && !connection->finalized()) left.push_back(std::move(connection));
    return left;
}

void Process::end_connections() noexcept {
    for (const std::shared_ptr<Process>& connection : connections()) try {
            connection->finalize();
        } catch (const std::exception& error) {
            if (const auto logger = spdlog::get("rollcall")) logger->warn("{}", error.what());
        }
}

}  // namespace rollcall::runtime
