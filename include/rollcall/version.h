/** \file
 * The version of Rollcall, for C and C++. Macros give the version of these headers, functions that of the library that runs.
 */
#ifndef ROLLCALL_VERSION_H
#define ROLLCALL_VERSION_H

#include <rollcall/export.h>

/** \{
 * A part of the version of these headers. */
#define ROLLCALL_VERSION_MAJOR 0
#define ROLLCALL_VERSION_MINOR 1
#define ROLLCALL_VERSION_PATCH 0
/** \} */
/** The version as one number, which grows with each version: 10203 is 1.2.3. */
#define ROLLCALL_VERSION (ROLLCALL_VERSION_MAJOR * 10000 + ROLLCALL_VERSION_MINOR * 100 + ROLLCALL_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif
/** The ROLLCALL_VERSION of the library. Before 1.0 a library fits headers of the same major and minor version. Any thread may call it. */
ROLLCALL_EXPORT int rollcall_version(void);
#ifdef __cplusplus
}

namespace rollcall {
/// The ROLLCALL_VERSION of the library that runs. Any thread may call it.
inline int version() noexcept { return rollcall_version(); }
}  // namespace rollcall
#endif

#endif
