/** \file
 * Marks what a program may use of the library; everything else is hidden in it.
 */
#ifndef ROLLCALL_EXPORT_H
#define ROLLCALL_EXPORT_H

/** Before what a program may use. */
#define ROLLCALL_EXPORT __attribute__((visibility("default")))
/** Before a member of a class that a program may use, if the program may not use this member. */
#define ROLLCALL_HIDDEN __attribute__((visibility("hidden")))

#endif
