/// \file
/// Blocks of different sizes, for the forms of scatter, gather, allgather and alltoall that MPI names with a v (MPI_Scatterv, ...).
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

/// A list of integers of any integer type, one after another. It refers to the program's list.
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
    /// Number i. A negative number is converted to unsigned: see is_negative().
    std::uint64_t operator[](std::size_t i) const { return read_(data_, i); }
    bool is_negative(std::size_t i) const { return is_signed_ && static_cast<std::int64_t>(read_(data_, i)) < 0; }

  private:
    const void* data_ = nullptr;
    std::size_t size_ = 0;
    bool is_signed_ = false;
    std::uint64_t (*read_)(const void* data, std::size_t i) = nullptr;
};

}  // namespace detail

/// The length of each rank's block and the place where it begins in a buffer that holds the blocks of all ranks.
///
/// Numbers: `counts` and `offsets` have one number for each rank. Counts are lengths; offsets count from the start of the buffer. Both are
/// in elements if the buffer is given as elements, and in bytes if it is given by its address. Without offsets the blocks lie one behind
/// the other. Offsets may leave gaps and need not be in rank order. Blocks that are only read may overlap. All numbers are 0 or more; the
/// offset of an empty block may be any such number. The lists may be of any integer type (std::vector<int>, std::array<std::size_t, N>,
/// ...). They must be lvalues or views, and must stay until the function that is given the Blocks returns. A start_ or plan_ function does
/// not need them after it has returned.
///
/// Which rank gives numbers:
///   - scatter, gather: the root. The other ranks pass Blocks() and their own block, whose size must be what the root counts for it.
///   - allgather: all ranks give the same counts; offsets may differ. alltoall: each rank, for what it sends and for what it receives.
/// If ranks differ in the size of a block, all ranks get Error{mismatch}. It may come in this call, in the next collective call on the
/// communicator, or in finalize(), because the call of a rank may end before another rank finds the difference.
class Blocks {
  public:
    /// No blocks: for ranks that give no numbers.
    constexpr Blocks() = default;
    /// Blocks of these sizes, one behind the other.
    template <detail::LastingIntegers C>
    constexpr explicit Blocks(C&& counts) : counts_(counts) {}
    /// Blocks of these sizes at these places.
    template <detail::LastingIntegers C, detail::LastingIntegers O>
    constexpr Blocks(C&& counts, O&& offsets) : counts_(counts), offsets_(offsets) {}

    /// \cond
    // The functions below are for the library.
    /// The same blocks in a buffer of `elements` elements of `element_bytes` bytes each.
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
    /// \endcond

  private:
    detail::IntegerList counts_, offsets_;
    std::uint64_t room_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t unit_ = 1;
};

/// As `bytes` of Communicator::explain(): the blocks have different sizes.
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
