# A build from scratch spends most of its time in the headers of other projects. With ROLLCALL_PRECOMPILE, these headers are compiled once
# for each large target. It is off by default for two reasons: a source that lacks an include would still compile, and a compiler cache is
# worth more to somebody who builds often.
option(ROLLCALL_PRECOMPILE "Precompile the headers of other projects (quicker builds from nothing)" OFF)

function(rollcall_precompile target)
  if(ROLLCALL_PRECOMPILE AND TARGET ${target})
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

# The sources of these targets are compiled several at a time. They have no names in common.
set(ROLLCALL_UNITY "" CACHE STRING "Targets of which several sources are compiled at a time (quicker builds from nothing): rollcall_internals, \
rollcall_command, unit_tests, model_tests")
foreach(target IN LISTS ROLLCALL_UNITY)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    # In a unity build GCC takes the frame of a coroutine for a type of a header that includes its source.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endforeach()
