// The connections of a process to other jobs.
#include <algorithm>
#include <exception>
#include <optional>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/log.hpp"
#include "runtime/process.hpp"

namespace rollcall::runtime {

void TwoJobs::name_ranks(std::vector<std::string>& hosts) const {
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto first = static_cast<std::size_t>(in_first);
        const bool is_first = rank < first;
        hosts[rank] += fmt::format(" (rank {} of job {})", is_first ? rank : rank - first, names[is_first ? 0 : 1]);
    }
}

void Process::add_connection(Process& connection) {
    const std::lock_guard lock(connecting_);
    connections_.push_back(&connection);
}

void Process::remove_connection(Process& connection) {
    const std::lock_guard lock(connecting_);
    std::erase(connections_, &connection);
}

std::vector<std::shared_ptr<Process>> Process::connections() const {
    // Any of these may become the last handle, because another thread may drop its own at any time. The end of a connection takes the
    // mutex, so all handles must outlive the lock. That holds for those of finalized connections, too.
    std::vector<std::shared_ptr<Process>> known, left;
    {
        const std::lock_guard lock(connecting_);
        known.reserve(connections_.size());
        for (Process* connection : connections_) known.push_back(connection->weak_from_this().lock());
    }
    for (std::shared_ptr<Process>& connection : known)
        if (connection && !connection->finalized()) left.push_back(std::move(connection));
    return left;
}

// It owns no connection, because the owner of the last handle waits for the other job.
bool Process::progress() {
    bool moved = lane_->progress();
    const std::unique_lock lock(connecting_, std::try_to_lock);
    if (!lock) return moved;  // another thread drives them
    for (Process* connection : connections_)
        if (!connection->finalized()) moved = connection->progress() || moved;
    return moved;
}

// The lane of the job comes first: it takes back earlier wake-ups. What ended on a connection before its end counts, too.
bool Process::prepare_to_sleep() {
    const std::lock_guard lock(connecting_);
    return lane_->prepare_to_sleep() &&
           std::ranges::all_of(connections_, [](Process* connection) { return connection->prepare_to_sleep(); });
}

std::optional<Error> Process::end_connections() {
    std::optional<Error> first;
    const auto log = [&](const std::exception& error) { log_message(LogLevel::warn, "{}{}", in_log(), error.what()); };
    for (const std::shared_ptr<Process>& connection : connections()) try {
            connection->finalize();
        } catch (const Error& error) {
            if (first)
                log(error);
            else
                first = error;
        } catch (const std::exception& error) {
            log(error);
        }
    return first;
}

}  // namespace rollcall::runtime
