// What counts as data, and what of it is sent. What does not compile at all is in tests/misuse.
#include <rollcall/buffer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rollcall {
namespace {

struct Plain {
    int number;
    double value;
};
struct Own {
    std::string text;
};
enum class Color : int { red };

TEST(Buffers, ObjectsThatLieInMemoryAreTransferable) {
    EXPECT_TRUE((Transferable<int> && Transferable<const double> && Transferable<bool> && Transferable<Color> && Transferable<std::byte>));
    EXPECT_TRUE((Transferable<Plain> && Transferable<std::array<Plain, 3>> && Transferable<std::array<std::array<int, 2>, 2>>));
    EXPECT_TRUE((Transferable<std::pair<int, double>> && Transferable<std::tuple<char, Plain>> && Transferable<std::tuple<>>));
    EXPECT_TRUE((Transferable<std::pair<std::pair<int, char>, std::array<std::pair<int, int>, 2>>>));
    EXPECT_TRUE((Transferable<std::map<int, double>::value_type>));
}

TEST(Buffers, WhatRefersElsewhereIsNot) {
    EXPECT_FALSE((Transferable<int*> || Transferable<const void*> || Transferable<std::nullptr_t> || Transferable<int Plain::*>));
    EXPECT_FALSE((Transferable<std::reference_wrapper<int>> || Transferable<int&> || Transferable<std::unique_ptr<int>>));
    EXPECT_FALSE((Transferable<std::span<int>> || Transferable<std::string_view> || Transferable<std::initializer_list<int>>));
    EXPECT_FALSE((Transferable<std::array<int*, 2>> || Transferable<std::pair<int, int*>> || Transferable<std::pair<int, int&>>));
    EXPECT_FALSE((Transferable<std::tuple<int, std::string_view>> || Transferable<std::pair<int, std::reference_wrapper<int>>>));
    EXPECT_FALSE((Transferable<std::string> || Transferable<Own> || Transferable<std::vector<int>> || Transferable<int[3]>));
}

// As std::mdspan has it.
struct View {
    using data_handle_type = int*;
    data_handle_type data;
};

TEST(Buffers, HandlesOfDataAndOfCoroutinesReferElsewhere) {
    EXPECT_TRUE(std::is_trivially_copyable_v<View> && std::is_trivially_copyable_v<std::coroutine_handle<>>);
    EXPECT_FALSE((Transferable<View> || Transferable<std::optional<View>> || Transferable<std::array<View, 2>>));
    EXPECT_FALSE((Transferable<std::coroutine_handle<>> || Transferable<std::pair<int, std::coroutine_handle<int>>>));
}

TEST(Buffers, AnOptionalIsAnObjectInEveryStandard) {
    EXPECT_TRUE((Transferable<std::optional<int>> && !TransferableRange<std::optional<int>> && !TransferableRange<std::optional<int>&>));
    std::optional<int> empty;
    EXPECT_EQ(detail::elements_of(empty).size_bytes(), sizeof empty);
}

TEST(Buffers, RangesAreReadAndWrittenWhereTheyLast) {
    using Vector = std::vector<int>;
    EXPECT_TRUE((Readable<Vector&> && Readable<const Vector&> && Readable<Vector> && Readable<std::string_view> && Readable<int(&)[3]>));
    EXPECT_TRUE((Writable<Vector&> && Writable<std::span<int>> && Writable<std::string&> && Writable<int(&)[3]> && Writable<Plain&>));
    EXPECT_FALSE((Writable<Vector> || Writable<const Vector&> || Writable<std::span<const int>> || Writable<std::string_view>));
    EXPECT_FALSE((Writable<const int&> || Writable<int> || Writable<const int(&)[3]>));
    EXPECT_TRUE((Lasting<Vector&> && Lasting<const Vector&> && Lasting<std::span<const int>> && Lasting<std::string_view>));
    EXPECT_FALSE((Lasting<Vector> || Lasting<int> || Lasting<std::string> || Lasting<std::array<int, 2>>));
    EXPECT_FALSE((Readable<std::vector<bool>&> || Readable<std::vector<std::string>&> || Readable<std::map<int, int>&>));
}

TEST(Buffers, TheNumberOfBytesStandsBesidePointersToBytesOnly) {
    using std::is_constructible_v;
    EXPECT_TRUE((is_constructible_v<BytePointer, void*> && is_constructible_v<BytePointer, std::byte*> &&
                 is_constructible_v<BytePointer, char*> && is_constructible_v<BytePointer, std::uint8_t*> &&
                 is_constructible_v<BytePointer, std::nullptr_t>));
    EXPECT_TRUE((is_constructible_v<ConstBytePointer, const void*> && is_constructible_v<ConstBytePointer, void*> &&
                 is_constructible_v<ConstBytePointer, const char*> && is_constructible_v<ConstBytePointer, signed char*>));
    EXPECT_FALSE((is_constructible_v<BytePointer, const void*> || is_constructible_v<BytePointer, const char*>));
    EXPECT_FALSE((is_constructible_v<BytePointer, double*> || is_constructible_v<ConstBytePointer, const int*> ||
                  is_constructible_v<BytePointer, Plain*> || is_constructible_v<BytePointer, void**> ||
                  is_constructible_v<BytePointer, int>));
}

TEST(Buffers, TheElementsOfARangeOrTheObject) {
    std::vector<short> vector(5);
    EXPECT_EQ(detail::elements_of(vector).size_bytes(), 10u);
    EXPECT_EQ(detail::memory(detail::elements_of(vector)), static_cast<void*>(vector.data()));
    std::array<int, 3> array{};
    EXPECT_EQ(detail::elements_of(array).size(), 3u);
    std::pair<int, double> pair;
    EXPECT_EQ(detail::elements_of(pair).size_bytes(), sizeof pair);
    const std::string text = "four";
    EXPECT_EQ(detail::elements_of(text).size_bytes(), 4u);
    EXPECT_EQ(detail::elements_of("four").size_bytes(), 5u);
}

TEST(Buffers, ABlockIsOneElementOfTheDataOrARangeOfThem) {
    std::array<int, 4> four{};
    EXPECT_EQ(detail::block_of<std::vector<int>&>(four).size(), 4u);
    EXPECT_EQ((detail::block_of<std::vector<std::array<int, 4>>&>(four).size()), 1u);
    EXPECT_TRUE((detail::DataOf<std::vector<int>&, int&> && detail::DataOf<std::vector<int>&, std::span<const int>>));
    EXPECT_TRUE((detail::DataOf<std::vector<std::array<int, 4>>&, std::array<int, 4>&>));
    EXPECT_FALSE((detail::DataOf<std::vector<int>&, double&> || detail::DataOf<std::vector<int>&, std::vector<double>&> ||
                  detail::DataOf<int&, int&>));
}

}  // namespace
}  // namespace rollcall
