/// \file
/// The root's list of the ranks that have come to a rendezvous. It does no input or output.
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
    /// `size` 0: the size that the first rank was told.
    explicit Assembly(int size) : size_(size) {}

    int size() const { return size_; }
    /// A rank has come, at the node that is known by this number. Returns what is wrong with it, which all ranks are to be told.
    std::optional<Error> arrive(int node, const std::string& host, int rank, int size);
    bool complete() const { return size_ > 0 && seats_.size() == static_cast<std::size_t>(size_); }
    /// The ranks of each node, in rank order.
    std::map<int, std::vector<int>> nodes() const;
    /// Names the ranks that have not come: "ranks 3, 5 and 17 others".
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
