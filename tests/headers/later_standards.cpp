// What later standards of C++ change for the types of data that calls read and write. Compiled with the latest one that the compiler knows.
#include <coroutine>
#include <optional>
#include <version>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

#include <rollcall/rollcall.hpp>

static_assert(__cplusplus > 202002L, "this is no later standard");

using rollcall::Transferable;
using rollcall::TransferableRange;

#ifdef __cpp_lib_mdspan
using Grid = std::mdspan<double, std::extents<int, 4, 4>>;
static_assert(!Transferable<Grid> && !TransferableRange<Grid> && !Transferable<std::optional<Grid>>);
#endif
static_assert(!Transferable<std::coroutine_handle<>>);
// A range from C++26 on.
static_assert(Transferable<std::optional<int>> && !TransferableRange<const std::optional<int>&>);
