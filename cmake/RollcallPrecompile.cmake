# Builds from nothing spend most of their time in headers of other projects. With ROLLCALL_PRECOMPILE they are compiled
# once for each large target. Off by default: a source that lacks an include would still compile, and a compiler cache is
# worth more to who builds often.
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

# Sources of these targets are compiled several at a time: they have no names in common.
set(ROLLCALL_UNITY "" CACHE STRING "Targets of which several sources are compiled at a time (quicker builds from nothing): rollcall_internals, \
rollcall_command, unit_tests, model_tests")
foreach(target IN LISTS ROLLCALL_UNITY)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    # GCC takes a coroutine's frame for a type of the header that includes its source.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endforeach()
