# The compiler flags of every target of the project, as one interface target.
set(ROLLCALL_SANITIZE "" CACHE STRING "Sanitizers to build with, comma separated (address,undefined or thread)")
option(ROLLCALL_WERROR "Treat warnings as errors" OFF)

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT DEFINED CMAKE_INSTALL_RPATH_USE_LINK_PATH)
  # What is installed also finds a UCX that is outside the system's directories.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

add_library(rollcall_compile INTERFACE)
# In a unity build several sources are compiled as one. There a name of one source may shadow a name of another.
target_compile_options(rollcall_compile INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Wold-style-cast
                       $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>
                       $<$<BOOL:${ROLLCALL_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 without inlining: the promise type of a coroutine has a template as its operator new, because it receives the coroutine's
  # arguments. GCC then warns that it does not match the operator delete, which cannot be a template.
  target_compile_options(rollcall_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # These find overflows in copies of vectors that cannot happen. With GCC 12 they stay on.
    target_compile_options(rollcall_compile INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
  if(ROLLCALL_SANITIZE MATCHES "thread")
    # Thread sanitizer does not understand fences, and GCC warns about them. The fences of the lane order flags that are themselves atomic.
    target_compile_options(rollcall_compile INTERFACE -Wno-tsan)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A compiler cache is of no use where a precompiled header differs each time it is made.
  target_compile_options(rollcall_compile INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  # Programs with sanitizers are large. LLVM's linker, if it is installed, links them much faster.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld ROLLCALL_LLD)
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
  if(ROLLCALL_SANITIZE MATCHES "address")
    # The sanitizers' data has almost a million addresses. In a program that can be loaded anywhere, each start would relocate them.
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # Each start registers the global variables. So those that a program does not use are left out.
      add_compile_options(-ffunction-sections -fdata-sections -fsanitize-address-globals-dead-stripping)
      add_link_options(-Wl,--gc-sections)
    endif()
  endif()
endif()
find_program(ROLLCALL_CCACHE ccache)
if(ROLLCALL_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)  # the user's launcher stays
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ROLLCALL_CCACHE})
endif()
