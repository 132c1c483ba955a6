/// \file
/// Data that is cut into parts, one behind the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rollcall::collectives {

/// Bytes from one position to before another one.
struct Range {
    std::uint64_t begin = 0, end = 0;
    constexpr std::uint64_t size() const { return end - begin; }
    constexpr bool empty() const { return begin >= end; }
};
constexpr Range common_part(const Range& one, const Range& other) {
    return {std::max(one.begin, other.begin), std::min(one.end, other.end)};
}

class Parts {
  public:
    Parts() : bounds_{0} {}
    /// As many bytes as the next one, or one more.
    static Parts even(std::uint64_t bytes, int count) {
        Parts parts;
        const auto n = static_cast<std::uint64_t>(count);
        for (std::uint64_t i = 0; i < n; ++i) parts.add(bytes / n + (i < bytes % n));
        return parts;
    }
    /// The size of one of them goes to the end.
    void add(std::uint64_t size) { bounds_.push_back(bounds_.back() + size); }

    int count() const { return static_cast<int>(bounds_.size()) - 1; }
    std::uint64_t total() const { return bounds_.back(); }
    Range operator[](int part) const { return from_to(part, part); }
    /// Of parts first .. last together.
    Range from_to(int first, int last) const {
        return {bounds_[static_cast<std::size_t>(first)], bounds_[static_cast<std::size_t>(last) + 1]};
    }

  private:
    std::vector<std::uint64_t> bounds_;
};

}  // namespace rollcall::collectives
