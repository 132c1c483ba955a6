/// \file
/// The launcher's side of exchange and barrier, without any I/O.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bootstrap/frames.hpp"

namespace rollcall::launcher {

/// Collects what the ranks bring to each exchange and barrier, and says whom to answer what.
class Rounds {
  public:
    enum class Kind { exchange, barrier };
    struct Answer {
        int rank;
        std::shared_ptr<const bootstrap::Blob> frame;
    };

    explicit Rounds(int ranks);
    int ranks() const { return ranks_; }

    /// `rank` calls its collective number `sequence`. Throws Error{bootstrap} for what no rank may send.
    std::vector<Answer> arrive(int rank, Kind kind, std::uint64_t sequence, bootstrap::Blob blob);
    /// `rank` will not call any more; `why` is a sentence about it for those who wait for it, now or later.
    std::vector<Answer> lose(int rank, std::string why);

  private:
    struct Round {
        Kind kind;
        int first;  // the rank that called first
        int arrived = 0;
        std::vector<std::optional<bootstrap::Blob>> blobs;
        std::shared_ptr<const bootstrap::Blob> answer;  // what everybody is told, once that is certain
    };
    /// A rank that is gone and has brought nothing to this round; -1 when there is none.
    int missing(const Round& round) const;
    /// True when nobody is left who could still call it.
    bool over(const Round& round) const;
    /// Answers all who have arrived, and those who come later.
    std::vector<Answer> conclude(Round& round, std::shared_ptr<const bootstrap::Blob> answer) const;

    int ranks_;
    std::map<std::uint64_t, Round> rounds_;
    std::map<int, std::string> lost_;
};

}  // namespace rollcall::launcher
