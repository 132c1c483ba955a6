/// \file
/// Which jobs the C interface has.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include <rollcall/rollcall.h>

#include <rollcall/error.hpp>

namespace rollcall::c {

/// The jobs that rollcall_finalize() has not freed, so that a second call is an error and touches no memory that is freed.
class LiveJobs {
  public:
    using Node = std::set<const rollcall_job*>::node_type;

    template <class... Arguments>
    rollcall_job* make(const Arguments&... arguments) {
        auto job = std::make_unique<rollcall_job>(arguments...);
        const std::lock_guard lock(mutex_);
        jobs_.insert(job.get());
        return job.release();
    }
    /// Throws Error{state} if the job is not there. Putting it back needs no memory.
    Node take(const rollcall_job* job) {
        const std::lock_guard lock(mutex_);
        Node node = jobs_.extract(job);
        if (node.empty())
            throw Error(ErrorCode::state,
                        "there is no such job; it was finalized before, or left, or no rollcall_init gave it");
        return node;
    }
    void put_back(Node node) {
        const std::lock_guard lock(mutex_);
        jobs_.insert(std::move(node));
    }

  private:
    std::mutex mutex_;
    std::set<const rollcall_job*> jobs_;
};

/// It is never destroyed, because a program may finalize in a destructor of a global object.
inline LiveJobs& live_jobs() {
    static auto* const jobs = new LiveJobs;
    return *jobs;
}

}  // namespace rollcall::c
