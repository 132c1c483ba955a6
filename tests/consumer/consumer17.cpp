#include <rollcall/rollcall.h>

static_assert(__cplusplus < 202002L, "the C interface must not ask for C++20");

int main() { return rollcall_version() == ROLLCALL_VERSION ? 0 : 1; }
