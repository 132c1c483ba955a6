/// \file
/// The failures of ranks that a job outlives (--max-failures).
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "launcher/launch.hpp"

namespace rollcall::launcher {

/// Counts the ranks that have failed, and decides whether there are too many of them.
class Failures {
  public:
    /// `allowed`: so many ranks may fail without ending the job.
    explicit Failures(int allowed) : allowed_(allowed) {}

    /// These ranks have failed, with this exit code. A rank counts once: its host may be lost after it has failed.
    void count(const std::vector<int>& ranks, int code) {
        if (ranks_.empty()) code_ = code;
        ranks_.insert(ranks.begin(), ranks.end());
    }
    bool has(int rank) const { return ranks_.contains(rank); }
    bool any() const { return !ranks_.empty(); }
    bool too_many() const { return ranks_.size() > static_cast<std::size_t>(allowed_); }

    /// A rank has ended with code 0.
    void ended_well() { any_ended_well_ = true; }
    /// The exit code of a job that no failure has ended: 0 if a rank has ended well, otherwise that of the first failure.
    int code() const { return any_ended_well_ ? 0 : code_; }
    int first_code() const { return code_; }

    /// Why a job goes on: "--max-failures allows 2 failures (1 so far)".
    std::string excuse() const {
        const std::string most = allowed_ == kAllMayFail ? "all ranks to fail"
                                 : allowed_ == 1         ? "1 failure"
                                                         : fmt::format("{} failures", allowed_);
        return fmt::format("--max-failures allows {} ({} so far)", most, ranks_.size());
    }

  private:
    const int allowed_;
    std::set<int> ranks_;
    int code_ = 0;  // of the first failure
    bool any_ended_well_ = false;
};

}  // namespace rollcall::launcher
