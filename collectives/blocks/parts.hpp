/// \file
/// Data that is cut into consecutive parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rollcall::collectives {

/// The bytes from position `begin` up to, but not including, position `end`.
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
    /// Parts of equal size; the first ones have one byte more where `bytes` is not a multiple of `count`.
    static Parts even(std::uint64_t bytes, int count) {
        Parts parts;
        const auto n = static_cast<std::uint64_t>(count);
        for (std::uint64_t i = 0; i < n; ++i) parts.add(bytes / n + (i < bytes % n));
        return parts;
    }
    /// Appends a part of this size.
    void add(std::uint64_t size) { bounds_.push_back(bounds_.back() + size); }

    int count() const { return static_cast<int>(bounds_.size()) - 1; }
    std::uint64_t total() const { return bounds_.back(); }
    Range operator[](int part) const { return from_to(part, part); }
    /// The parts first .. last together.
    Range from_to(int first, int last) const {
        return {bounds_[static_cast<std::size_t>(first)], bounds_[static_cast<std::size_t>(last) + 1]};
    }

  private:
    std::vector<std::uint64_t> bounds_;
};

}  // namespace rollcall::collectives
