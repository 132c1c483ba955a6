# `cmake --build DIR --target reference` writes the reference of the public headers, for C++ and C, to DIR/reference/html.
find_package(Doxygen QUIET)
if(NOT DOXYGEN_FOUND)
  message(STATUS "Without the target 'reference': Doxygen is not found (Debian and Ubuntu: doxygen)")
  return()
endif()

set(DOXYGEN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/reference")
set(DOXYGEN_STRIP_FROM_PATH "${PROJECT_SOURCE_DIR}/include")
set(DOXYGEN_STRIP_FROM_INC_PATH "${PROJECT_SOURCE_DIR}/include")
set(DOXYGEN_QUIET YES)
set(DOXYGEN_HAVE_DOT NO)
# What a program does not see.
set(DOXYGEN_EXCLUDE_SYMBOLS rollcall::detail *::Implementation)
set(DOXYGEN_MACRO_EXPANSION YES)
set(DOXYGEN_EXPAND_ONLY_PREDEF YES)
set(DOXYGEN_PREDEFINED __cplusplus ROLLCALL_EXPORT= ROLLCALL_HIDDEN=)
# The forms of an operation stand between \{ and \}, and share the comment of the first one.
set(DOXYGEN_DISTRIBUTE_GROUP_DOC YES)
doxygen_add_docs(reference "${PROJECT_SOURCE_DIR}/include/rollcall" COMMENT "Writing the reference to reference/html")
