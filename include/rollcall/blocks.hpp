/// \file
/// Blocks of own sizes: the v-forms of operations that move blocks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <type_traits>

#include <rollcall/buffer.hpp>

namespace rollcall {
namespace detail {

template <class R>
concept Integers = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::integral<std::ranges::range_value_t<R>> &&
    !std::same_as<std::ranges::range_value_t<R>, bool>;
template <class R>
concept LastingIntegers = Integers<std::remove_reference_t<R>> && Lasting<R>;

/// Integers of whatever type, one after another.
class IntegerList {
  public:
    constexpr IntegerList() = default;
    template <Integers R>
    constexpr explicit IntegerList(R& numbers)
        : data_(std::ranges::data(numbers)),
          size_(static_cast<std::size_t>(std::ranges::size(numbers))),
          is_signed_(std::is_signed_v<std::ranges::range_value_t<R>>),
          read_([](const void* data, std::size_t i) {
              return static_cast<std::uint64_t>(static_cast<const std::ranges::range_value_t<R>*>(data)[i]);
          }) {}

    constexpr std::size_t size() const noexcept { return size_; }
    constexpr explicit operator bool() const noexcept { return read_ != nullptr; }
    /// Where it is negative, as a signed number.
    std::uint64_t operator[](std::size_t i) const { return read_(data_, i); }
    bool is_negative(std::size_t i) const { return is_signed_ && static_cast<std::int64_t>(read_(data_, i)) < 0; }

  private:
    const void* data_ = nullptr;
    std::size_t size_ = 0;
    bool is_signed_ = false;
    std::uint64_t (*read_)(const void* data, std::size_t i) = nullptr;
};

}  // namespace detail

/// How long the block of each rank is, and where it begins in the data of who has all blocks: one number for each rank, in elements
/// where the data are elements, else in bytes. Without offsets the blocks stand one behind the other. Offsets may leave gaps and stand in
/// any order; blocks that are only read may overlap. The numbers (std::vector<int>, std::array<std::size_t, N>, ...) are looked at until
/// the call with them returns, and by start_ and plan_ functions no longer.
///
/// Only who has all blocks (the root of a scatter or gather) gives numbers. The others call with Blocks(), and with their own block,
/// whose size must be what the root counts for it: else Error{mismatch} on both. In an allgather all ranks have all blocks, and give the
/// same counts; offsets may differ. In an alltoall each rank gives the counts of what it sends and of what it receives.
class Blocks {
  public:
    constexpr Blocks() = default;
    template <detail::LastingIntegers C>
    constexpr explicit Blocks(C&& counts) : counts_(counts) {}
    template <detail::LastingIntegers C, detail::LastingIntegers O>
    constexpr Blocks(C&& counts, O&& offsets) : counts_(counts), offsets_(offsets) {}

    // For the library.
    /// Blocks among so many elements of so many bytes.
    constexpr Blocks among(std::uint64_t elements, std::uint64_t element_bytes) const {
        Blocks blocks = *this;
        blocks.room_ = elements;
        blocks.unit_ = element_bytes;
        return blocks;
    }
    const detail::IntegerList& counts() const noexcept { return counts_; }
    const detail::IntegerList& offsets() const noexcept { return offsets_; }
    std::uint64_t room() const noexcept { return room_; }
    std::uint64_t unit() const noexcept { return unit_; }

  private:
    detail::IntegerList counts_, offsets_;
    std::uint64_t room_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t unit_ = 1;
};

/// In the place of a size, for Communicator::explain(): blocks have sizes of their own.
inline constexpr std::uint64_t kOwnSizes = std::numeric_limits<std::uint64_t>::max();

namespace detail {
template <>
inline constexpr bool kTransferable<Blocks> = false;
template <class Elements>
constexpr Blocks among(const Blocks& blocks, const Elements& all) {
    return blocks.among(all.size(), sizeof(typename Elements::element_type));
}
}  // namespace detail

}  // namespace rollcall
