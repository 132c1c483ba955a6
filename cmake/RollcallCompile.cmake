# Flags every target of the project is compiled with, as one interface target.
set(ROLLCALL_SANITIZE "" CACHE STRING "Sanitizers to build with, comma separated (address,undefined or thread)")
option(ROLLCALL_WERROR "Treat warnings as errors" OFF)

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(rollcall_compile INTERFACE)
# Where several sources are compiled at a time, a name of one may hide that of another.
target_compile_options(rollcall_compile INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Wold-style-cast
                       $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
                       $<$<BOOL:${ROLLCALL_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12, where it does not inline: a coroutine promise's operator new is a template (it is given the coroutine's
  # arguments), and is then held not to belong to its operator delete, which cannot be one.
  target_compile_options(rollcall_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>)
  if(ROLLCALL_SANITIZE MATCHES "thread")
    # The sanitizer does not know fences. Those of the lane order flags that are atomic themselves.
    target_compile_options(rollcall_compile INTERFACE -Wno-tsan)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Programs with sanitizers are large: LLVM's linker, where it is there, is much quicker with them.
  find_program(ROLLCALL_LLD NAMES ld.lld-16 ld.lld)
  if(ROLLCALL_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(ROLLCALL_SANITIZE)
  add_compile_options(-fsanitize=${ROLLCALL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ROLLCALL_SANITIZE})
  if(ROLLCALL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
find_program(ROLLCALL_CCACHE ccache)
if(ROLLCALL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ROLLCALL_CCACHE})
endif()
