# A build from scratch spends much of its time in the headers of other projects. ROLLCALL_PRECOMPILE names what compiles these headers once.
# By default it is nothing: a compiler cache keeps less, and a build of one source takes longer.
set(ROLLCALL_PRECOMPILE "" CACHE STRING "What uses precompiled headers of other projects (quicker builds from nothing): \
rollcall_internals, tests; or ON for both")
get_property(users_of_test_headers GLOBAL PROPERTY ROLLCALL_PRECOMPILED_TESTS)
get_property(users_of_driver_headers GLOBAL PROPERTY ROLLCALL_PRECOMPILED_DRIVERS)

function(rollcall_precompile name target)
  if(TARGET ${target} AND (ROLLCALL_PRECOMPILE STREQUAL "ON" OR name IN_LIST ROLLCALL_PRECOMPILE))
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>" OUTPUT_VARIABLE headers)
    target_precompile_headers(${target} PRIVATE ${headers})
    foreach(user IN LISTS users_of_${target})
      target_precompile_headers(${user} REUSE_FROM ${target})
    endforeach()
  endif()
endfunction()

set(standard algorithm functional map memory string string_view vector)
rollcall_precompile(rollcall_internals rollcall_internals ${standard} atomic coroutine mutex span thread unordered_map fmt/format.h fmt/ranges.h
                    spdlog/spdlog.h)
set(for_tests ${standard} chrono filesystem fstream iostream random span sstream thread fmt/format.h gtest/gtest.h)
rollcall_precompile(tests test_headers ${for_tests})
if(users_of_driver_headers)
  rollcall_precompile(tests driver_headers ${for_tests})
endif()

# Sources of these targets are compiled several at a time, which takes less than half of the time of a build from nothing. So the names of a
# target differ. `ctest -R alone` finds missing includes, which such a build does not show. While one works on a few sources, a build
# without this takes less time. A project that has this one inside may say so for all of its targets.
set(unity "rollcall_internals;rollcall_simulation;rollcall_support;rollcall_launcher;rollcall_bench;rollcall_command")
if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
  set(unity "")
endif()
set(all_unity ${unity} unit_tests model_tests transport_tests test_ranks test_ranks_optimised process_tests bench_test launcher_test
              in_process_test cluster_tests process_harness)
list(JOIN all_unity ", " names)
set(ROLLCALL_UNITY "${unity}" CACHE STRING "Targets of which several sources are compiled at a time (quicker builds from nothing), \
or ON for all: ${names}")
if(ROLLCALL_UNITY STREQUAL "ON")
  set(ROLLCALL_UNITY ${all_unity})
endif()
# More at a time take less time of a processor, because they use the same headers and templates. They take more memory, and keep fewer
# processors busy.
set(ROLLCALL_UNITY_BATCH 20 CACHE STRING "How many sources of these targets are compiled at a time")
foreach(target IN LISTS ROLLCALL_UNITY)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ROLLCALL_UNITY_BATCH})
    # In a unity build GCC takes the frame of a coroutine for a type of a header that includes its source.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endforeach()
