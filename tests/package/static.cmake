# Installs the library as a static one, and links C programs to it: by the CMake package, in a project without C++, and by pkg-config. The
# static library has the objects of LIBRARY, which the build has anyway. Arguments: SOURCE, SCRATCH, GENERATOR, C, CXX, PREFIXES, LIBRARY, LIBDIR.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${SCRATCH}" OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE code)
  set(out "${out}" PARENT_SCOPE)
  set(code "${code}" PARENT_SCOPE)
endfunction()
function(succeed)
  run(${ARGN})
  if(NOT code STREQUAL "0")
    list(JOIN ARGN " " words)
    message(FATAL_ERROR "${words}\nended with ${code}:\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()
function(expect_one_rank program)
  succeed("${program}")
  if(NOT out STREQUAL "rank 0 of 1 has 42 from c\n")
    message(FATAL_ERROR "${program} said\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}")
set(given -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${C}")
# Not as an argument, because a list would become several arguments.
set(prefix "${SCRATCH}/installed")
list(JOIN PREFIXES ":" prefixes)
set(ENV{CMAKE_PREFIX_PATH} "${prefix}:${prefixes}:$ENV{CMAKE_PREFIX_PATH}")
succeed("${CMAKE_COMMAND}" ${given} -S "${SOURCE}" -B build "-DCMAKE_CXX_COMPILER=${CXX}"
        -DCMAKE_INSTALL_LIBDIR=${LIBDIR} -DBUILD_SHARED_LIBS=OFF -DROLLCALL_BUILD_COMMAND=OFF -DROLLCALL_BUILD_TESTS=OFF -DROLLCALL_BUILD_EXAMPLES=OFF)
file(COPY_FILE "${LIBRARY}" "${SCRATCH}/build/librollcall.a")
succeed("${CMAKE_COMMAND}" --install build --prefix "${prefix}")

file(COPY_FILE "${SOURCE}/tests/consumer/consumer.c" "${SCRATCH}/consumer.c")
file(WRITE "${SCRATCH}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.20)\nproject(Consumer LANGUAGES C)\n"
     "find_package(Rollcall REQUIRED)\nadd_executable(consumer consumer.c)\ntarget_link_libraries(consumer PRIVATE Rollcall::c)\n")
succeed("${CMAKE_COMMAND}" ${given} -S . -B cmake)
succeed("${CMAKE_COMMAND}" --build cmake)
expect_one_rank("${SCRATCH}/cmake/consumer")

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig:$ENV{PKG_CONFIG_PATH}")
succeed(sh -c "'${C}' -o plain consumer.c $(pkg-config --cflags --libs rollcall)")
expect_one_rank("${SCRATCH}/plain")

# A fmt whose functions have other names.
file(WRITE "${SCRATCH}/fmt/fmt-config.cmake" "")
file(WRITE "${SCRATCH}/fmt/fmt-config-version.cmake" "set(PACKAGE_VERSION 1234.5)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
run("${CMAKE_COMMAND}" ${given} -S . -B refused "-Dfmt_DIR=${SCRATCH}/fmt")
string(REGEX REPLACE "[ \n]+" " " out "${out}")
if(code STREQUAL "0" OR NOT out MATCHES "the static librollcall was built with fmt [0-9]+, and fmt 1234.5 is found")
  message(FATAL_ERROR "with another fmt, CMake ended with ${code} and said\n${out}")
endif()
file(REMOVE_RECURSE "${SCRATCH}")
