# A build from scratch spends much of its time in the headers of other projects. The targets that ROLLCALL_PRECOMPILE names compile these
# headers once. By default there are none: a compiler cache keeps less, and a build of one source takes longer.
set(ROLLCALL_PRECOMPILE "" CACHE STRING "Targets whose headers of other projects are precompiled (quicker builds from nothing), or ON for all: \
rollcall_internals, rollcall_launcher, rollcall_bench, rollcall_command, unit_tests, model_tests, test_ranks, collectives_test (and all process tests)")

function(rollcall_precompile target)
  if(TARGET ${target} AND (ROLLCALL_PRECOMPILE STREQUAL "ON" OR target IN_LIST ROLLCALL_PRECOMPILE))
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>" OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
endfunction()

set(standard algorithm functional map memory string string_view vector)
rollcall_precompile(rollcall_internals ${standard} atomic coroutine mutex span thread unordered_map fmt/format.h fmt/ranges.h spdlog/spdlog.h)
rollcall_precompile(rollcall_launcher ${standard} fmt/format.h)
rollcall_precompile(rollcall_bench ${standard} iostream fmt/format.h fmt/ranges.h)
rollcall_precompile(rollcall_command ${standard} iostream fmt/format.h fmt/ranges.h)
rollcall_precompile(unit_tests ${standard} iostream random fmt/format.h gtest/gtest.h)
rollcall_precompile(model_tests ${standard} random span fmt/format.h gtest/gtest.h)
rollcall_precompile(test_ranks ${standard} atomic random span thread fmt/format.h)
# The process tests share the precompiled headers of one of them.
rollcall_precompile(collectives_test ${standard} chrono fmt/format.h gtest/gtest.h)
get_property(process_tests GLOBAL PROPERTY ROLLCALL_PROCESS_TESTS)
foreach(target IN LISTS process_tests)
  get_target_property(precompiled collectives_test PRECOMPILE_HEADERS)
  if(precompiled AND NOT target STREQUAL "collectives_test")
    target_precompile_headers(${target} REUSE_FROM collectives_test)
  endif()
endforeach()

# Sources of these targets are compiled several at a time, which takes less than half of the time of a build from nothing. Those of the
# library, the launcher, the benchmark and the command go with their neighbours in the same directory, so the names of a directory differ.
# `ctest -R alone` finds missing includes, which such a build does not show. While one works on a few sources, a build without this takes
# less time. A project that has this one inside may say so for all of its targets.
set(unity "rollcall_internals;rollcall_launcher;rollcall_bench;rollcall_command")
if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
  set(unity "")
endif()
set(ROLLCALL_UNITY "${unity}" CACHE STRING "Targets of which several sources are compiled at a time (quicker builds from nothing): \
rollcall_internals, rollcall_launcher, rollcall_bench, rollcall_command, unit_tests, model_tests, test_ranks")
set(most_at_a_time 10)
foreach(target IN LISTS ROLLCALL_UNITY)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    # In a unity build GCC takes the frame of a coroutine for a type of a header that includes its source.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    if(target MATCHES "^rollcall_")
      set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
      get_target_property(sources ${target} SOURCES)
      get_target_property(directory ${target} SOURCE_DIR)
      foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${directory}")
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path)
        cmake_path(GET path PARENT_PATH place)
        string(MAKE_C_IDENTIFIER "${target}_${place}" group)
        math(EXPR ${group} "${${group}} + 1")
        math(EXPR part "(${${group}} - 1) / ${most_at_a_time}")
        set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${group}_${part}")
      endforeach()
    endif()
  endif()
endforeach()
