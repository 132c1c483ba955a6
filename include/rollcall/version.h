/* \file
 * The version of Rollcall, for C and C++: of these headers (macros), and of the library that runs (functions).
 */
#ifndef ROLLCALL_VERSION_H
#define ROLLCALL_VERSION_H

#include <rollcall/export.h>

#define ROLLCALL_VERSION_MAJOR 0
#define ROLLCALL_VERSION_MINOR 1
#define ROLLCALL_VERSION_PATCH 0
/* As one number that grows: 10203 is 1.2.3. */
#define ROLLCALL_VERSION (ROLLCALL_VERSION_MAJOR * 10000 + ROLLCALL_VERSION_MINOR * 100 + ROLLCALL_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif
/* ROLLCALL_VERSION of the library. Before 1.0 it fits headers of the same major and minor version. Any thread. */
ROLLCALL_EXPORT int rollcall_version(void);
#ifdef __cplusplus
}

namespace rollcall {
/// The same.
inline int version() noexcept { return rollcall_version(); }
}  // namespace rollcall
#endif

#endif
