/// \file
/// The types of data that calls read and write: an object, a range of elements, or bytes at an address.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace rollcall {
namespace detail {

/// Has the form of std::mdspan, which is no range.
template <class T>
concept HasDataHandle = requires {
    typename T::data_handle_type;
};
/// Has the form of std::coroutine_handle.
template <class T>
concept MadeFromAddress = requires {
    { T::from_address(static_cast<void*>(nullptr)) } -> std::same_as<T>;
};
/// True for types whose bytes can be copied, but which only refer to data elsewhere, such as pointers and views.
template <class T>
inline constexpr bool kRefersElsewhere = std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T> ||
                                         std::ranges::borrowed_range<T> || std::ranges::view<T> || HasDataHandle<T> || MadeFromAddress<T>;

template <class T>
inline constexpr bool kTransferable = std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !kRefersElsewhere<T>;
template <class T>
inline constexpr bool kTransferable<std::reference_wrapper<T>> = false;
template <class T>
inline constexpr bool kTransferable<std::initializer_list<T>> = false;
template <class T, std::size_t N>
inline constexpr bool kTransferable<std::array<T, N>> = kTransferable<T>;
// Pairs and tuples have assignment functions of their own, so they are not trivially copyable; but their bytes can be copied.
template <class First, class Second>
inline constexpr bool kTransferable<std::pair<First, Second>> =
    kTransferable<First>&& kTransferable<Second>&& std::is_trivially_copy_constructible_v<std::pair<First, Second>>;
template <class... Members>
inline constexpr bool kTransferable<std::tuple<Members...>> =
    (kTransferable<Members> && ...) && std::is_trivially_copy_constructible_v<std::tuple<Members...>>;
template <class T>
inline constexpr bool kTransferable<std::optional<T>> = kTransferable<T>&& std::is_trivially_copyable_v<std::optional<T>>;
template <class... Members>
inline constexpr bool kTransferable<std::variant<Members...>> =
    (kTransferable<Members> && ...) && std::is_trivially_copyable_v<std::variant<Members...>>;

// From C++26 on, a std::optional is a range of no or one element. It is sent as an object all the same, so that the size of a message does
// not depend on the standard that a program is compiled with.
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

}  // namespace detail

/// A type that can be sent byte by byte: any trivially copyable type, and pairs, tuples and std::arrays of such types. Types that only
/// refer to data elsewhere are excluded: pointers, std::reference_wrapper, std::initializer_list, spans, string views and other views,
/// std::mdspan, std::coroutine_handle, and std::optional and std::variant of these.
template <class T>
concept Transferable = detail::kTransferable<T>;

namespace detail {
template <class T>
concept TransferableOrConst = Transferable<std::remove_const_t<T>>;
/// The library makes an object of this type before it has its data.
template <class T>
concept TransferableObject = Transferable<T> && std::default_initializable<T>;
}  // namespace detail

/// A range of Transferable elements that lie one after another in memory: std::vector, std::array, std::span, std::string,
/// std::string_view, C arrays, ...
template <class R>
concept TransferableRange = !detail::kIsOptional<std::remove_cvref_t<R>> && std::ranges::contiguous_range<R> &&
                            std::ranges::sized_range<R> && Transferable<std::remove_cv_t<std::ranges::range_value_t<R>>>;

/// An argument `D&&` that a call can read: a range of elements, or one object.
template <class D>
concept Readable = TransferableRange<std::remove_reference_t<D>> || Transferable<std::remove_cvref_t<D>>;

/// An argument `D&&` whose data still exists after the call: no temporary, unless it is a view.
template <class D>
concept Lasting = std::is_lvalue_reference_v<D> || std::ranges::borrowed_range<D>;

namespace detail {

/// A span of the elements of a range, or of one object.
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

/// An argument `D&&` that a call can write: its data still exists after the call and is not const.
template <class D>
concept Writable = Readable<D> && Lasting<D> && !std::is_const_v<detail::ConstElement<D>>;

namespace detail {

template <class D>
concept LastingReadable = Readable<D> && Lasting<D>;

/// Not a C array. Calls with a tag refuse C arrays, because send(array, 8, 1) could mean 8 bytes to rank 1 or the array to rank 8 with tag
/// 1.
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

/// `D&&` has the blocks of all ranks, and `B&&` is one block: one element, or a range of elements of the same type.
template <class D, class B>
concept DataOf = TransferableRange<std::remove_reference_t<D>> &&
    (std::is_same_v<std::remove_cvref_t<B>, Element<D>> || std::is_same_v<Element<B>, Element<D>>);
template <class D, class B>
concept LastingDataOf = DataOf<D, B> && Lasting<D>;
template <class D, class B>
concept WritableDataOf = DataOf<D, B> && Writable<D>;

/// `D&&` can be written and has elements of the same type as `C&&`. The call checks that there are as many.
template <class D, class C>
concept WritableResultOf = Writable<D> && std::is_same_v<Element<D>, Element<C>>;

}  // namespace detail

/// The address of a buffer whose size in bytes is the next argument: a pointer to void, std::byte or characters. Pointers to other types do
/// not compile, because a number of elements could be taken for a number of bytes. It may be null if the size is 0.
template <class Void>
class BasicBytePointer {
  public:
    /// A buffer at this address.
    template <detail::Byte<Void> T>
    constexpr BasicBytePointer(T* address) noexcept : address_(address) {}
    template <detail::NoByte T>
    BasicBytePointer(T* elements) = delete;  // give std::span(elements, count), or a void* with the number of bytes
    /// No buffer.
    template <detail::NullPointer T>
    constexpr BasicBytePointer(T) noexcept {}

    /// The address.
    constexpr Void* get() const noexcept { return address_; }

  private:
    Void* address_ = nullptr;
};
/// The address of a buffer that a call writes, or reads and writes.
using BytePointer = BasicBytePointer<void>;
/// The address of a buffer that a call only reads.
using ConstBytePointer = BasicBytePointer<const void>;

}  // namespace rollcall
