/* \file
 * What a program may use of the library; everything else is hidden in it.
 */
#ifndef ROLLCALL_EXPORT_H
#define ROLLCALL_EXPORT_H

#define ROLLCALL_EXPORT __attribute__((visibility("default")))
#define ROLLCALL_HIDDEN __attribute__((visibility("hidden")))

#endif
