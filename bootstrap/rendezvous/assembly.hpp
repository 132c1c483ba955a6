/// \file
/// Who has come to a rendezvous: the root's list, without any I/O.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

namespace rollcall::bootstrap {

/// Not thread-safe.
class Assembly {
  public:
    /// `size` 0: that which the first rank was told.
    explicit Assembly(int size) : size_(size) {}

    int size() const { return size_; }
    /// A rank comes, at the node that is known by this number. Gives what is wrong with that, for all to know.
    std::optional<Error> arrive(int node, const std::string& host, int rank, int size);
    bool complete() const { return size_ > 0 && seats_.size() == static_cast<std::size_t>(size_); }
    /// The ranks of each node, in rank order.
    std::map<int, std::vector<int>> nodes() const;
    /// "ranks 3, 5 and 17 others": who has not come.
    std::string missing() const;

  private:
    struct Seat {
        int node;
        std::string host;
    };
    int size_;
    int first_ = -1;  ///< The rank that came first.
    std::map<int, Seat> seats_;
};

}  // namespace rollcall::bootstrap
