/// \file
/// What a call reads and writes: an object, elements one after another, or bytes at an address.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rollcall {
namespace detail {

/// Bytes of it can be copied, but what counts lies elsewhere.
template <class T>
inline constexpr bool kRefersElsewhere = std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T> ||
                                         std::ranges::borrowed_range<T> || std::ranges::view<T>;

template <class T>
inline constexpr bool kTransferable = std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !kRefersElsewhere<T>;
template <class T>
inline constexpr bool kTransferable<std::reference_wrapper<T>> = false;
template <class T>
inline constexpr bool kTransferable<std::initializer_list<T>> = false;
template <class T, std::size_t N>
inline constexpr bool kTransferable<std::array<T, N>> = kTransferable<T>;
// These are assigned by functions of their own, and copied as they lie in memory.
template <class First, class Second>
inline constexpr bool kTransferable<std::pair<First, Second>> =
    kTransferable<First>&& kTransferable<Second>&& std::is_trivially_copy_constructible_v<std::pair<First, Second>>;
template <class... Members>
inline constexpr bool kTransferable<std::tuple<Members...>> =
    (kTransferable<Members> && ...) && std::is_trivially_copy_constructible_v<std::tuple<Members...>>;

}  // namespace detail

/// What can be sent as it lies in memory; also pairs, tuples and arrays of such. Not what only refers to data elsewhere: pointers,
/// std::reference_wrapper, spans, string views and other views.
template <class T>
concept Transferable = detail::kTransferable<T>;

/// Elements one after another: std::vector, std::array, std::span, std::string, std::string_view, C arrays, ...
template <class R>
concept TransferableRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Transferable<std::remove_cv_t<std::ranges::range_value_t<R>>>;

/// A parameter `D&&` that is read: a range of elements, or one object.
template <class D>
concept Readable = TransferableRange<std::remove_reference_t<D>> || Transferable<std::remove_cvref_t<D>>;

/// A parameter `D&&` whose data is there after the call, too: not a temporary, unless it is a view.
template <class D>
concept Lasting = std::is_lvalue_reference_v<D> || std::ranges::borrowed_range<D>;

namespace detail {

/// The elements of a range, or the one object, as a span.
template <class D>
constexpr auto elements_of(D& data) {
    if constexpr (TransferableRange<D>)
        return std::span(std::ranges::data(data), static_cast<std::size_t>(std::ranges::size(data)));
    else
        return std::span(std::addressof(data), 1);
}
template <class D>
using ConstElement = typename decltype(elements_of(std::declval<std::remove_reference_t<D>&>()))::element_type;
template <class D>
using Element = std::remove_cv_t<ConstElement<D>>;

template <class D, class B>
constexpr auto block_of(B& block) {
    if constexpr (std::is_same_v<std::remove_cv_t<B>, Element<D>>)
        return std::span(std::addressof(block), 1);
    else
        return elements_of(block);
}

template <class T, std::size_t N>
constexpr auto memory(std::span<T, N> elements) noexcept -> std::conditional_t<std::is_const_v<T>, const void*, void*> {
    return elements.data();
}

template <class T>
inline constexpr bool kIsByte = std::is_void_v<T> || std::is_same_v<T, std::byte> || std::is_same_v<T, char> ||
                                std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char> || std::is_same_v<T, char8_t>;
template <class T, class Void>
concept Byte = kIsByte<std::remove_const_t<T>> && std::is_convertible_v<T*, Void*>;
template <class T>
concept NoByte = !kIsByte<std::remove_const_t<T>>;
template <class T>
concept NullPointer = std::is_null_pointer_v<T>;

}  // namespace detail

/// A parameter `D&&` that is written: there after the call, and not const.
template <class D>
concept Writable = Readable<D> && Lasting<D> && !std::is_const_v<detail::ConstElement<D>>;

namespace detail {

template <class D>
concept LastingReadable = Readable<D> && Lasting<D>;

/// What goes with a tag: send(array, 8, 1) could mean 8 bytes to rank 1, or the array to rank 8 with tag 1.
template <class D>
concept NoArray = !std::is_array_v<std::remove_reference_t<D>>;
template <class D>
concept Message = Readable<D> && NoArray<D>;
template <class D>
concept LastingMessage = LastingReadable<D> && NoArray<D>;
template <class D>
concept WritableMessage = Writable<D> && NoArray<D>;

template <class D>
concept Resizable = Writable<D&> && requires(D& data) {
    data.resize(std::size_t{1});
};

/// `D&&` has the blocks of all ranks, of which `B&&` is one: an element of it, or a range of elements.
template <class D, class B>
concept DataOf = TransferableRange<std::remove_reference_t<D>> &&
    (std::is_same_v<std::remove_cvref_t<B>, Element<D>> || std::is_same_v<Element<B>, Element<D>>);
template <class D, class B>
concept LastingDataOf = DataOf<D, B> && Lasting<D>;
template <class D, class B>
concept WritableDataOf = DataOf<D, B> && Writable<D>;

/// `D&&` takes the elements that are made of those of `C&&`: as many, of the same type.
template <class D, class C>
concept WritableResultOf = Writable<D> && std::is_same_v<Element<D>, Element<C>>;

}  // namespace detail

/// Where bytes lie whose number is given beside it: a pointer to void, std::byte or characters. A pointer to elements is refused,
/// because the number of elements would be taken for that of bytes.
template <class Void>
class BasicBytePointer {
  public:
    template <detail::Byte<Void> T>
    constexpr BasicBytePointer(T* address) noexcept : address_(address) {}
    template <detail::NoByte T>
    BasicBytePointer(T* elements) = delete;  // give std::span(elements, count), or a void* with the number of bytes
    template <detail::NullPointer T>
    constexpr BasicBytePointer(T) noexcept {}

    constexpr Void* get() const noexcept { return address_; }

  private:
    Void* address_ = nullptr;
};
using BytePointer = BasicBytePointer<void>;
using ConstBytePointer = BasicBytePointer<const void>;

}  // namespace rollcall
