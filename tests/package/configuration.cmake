# Configures the library in three ways, without building it: as README.md says but without a preset, with what a user may give, and inside
# another project. Checks what CMake has taken.
file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}/outside")
set(library -DROLLCALL_BUILD_COMMAND=OFF -DROLLCALL_BUILD_TESTS=OFF -DROLLCALL_BUILD_EXAMPLES=OFF)
foreach(variable IN ITEMS CMAKE_BUILD_TYPE CMAKE_CXX_COMPILER_LAUNCHER CMAKE_CONFIGURATION_TYPES)
  unset(ENV{${variable}})
endforeach()

function(configure source build)
  execute_process(COMMAND "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${source}" -B "${SCRATCH}/${build}" "-DCMAKE_C_COMPILER=${C}"
      "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${PREFIXES}" ${library} ${ARGN}
    OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${build}: CMake ended with ${code}:\n${out}")
  endif()
endfunction()
function(expect file line)
  file(READ "${SCRATCH}/${file}" content)
  if(NOT "\n${content}" MATCHES "\n${line}\n")
    message(FATAL_ERROR "${file} has no line '${line}'")
  endif()
endfunction()

configure("${SOURCE}" plain)
expect(plain/CMakeCache.txt "CMAKE_BUILD_TYPE:STRING=RelWithDebInfo")
expect(plain/CMakeCache.txt "BUILD_SHARED_LIBS:BOOL=ON")
expect(plain/package/rollcall.pc "prefix=\\\${pcfiledir}/[./]+")

configure("${SOURCE}" given -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER_LAUNCHER=/usr/bin/env -DCMAKE_INSTALL_PREFIX=/opt/rollcall
          -DCMAKE_INSTALL_LIBDIR=/srv/lib -DCMAKE_INSTALL_INCLUDEDIR=include)
expect(given/CMakeCache.txt "CMAKE_BUILD_TYPE:STRING=Debug")
expect(given/package/rollcall.pc "libdir=/srv/lib")
expect(given/package/rollcall.pc "prefix=/opt/rollcall")
expect(given/package/rollcall.pc "includedir=\\\${prefix}/include")
if(GENERATOR STREQUAL "Ninja")
  file(READ "${SCRATCH}/given/CMakeFiles/rules.ninja" rules)
  # (The compiler itself may be in a directory /usr/lib/ccache.)
  if(NOT rules MATCHES "/usr/bin/env" OR rules MATCHES "/bin/ccache ")
    message(FATAL_ERROR "the compiler is not started by the launcher that was given:\n${rules}")
  endif()
endif()

file(WRITE "${SCRATCH}/outside/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)\nproject(Outside LANGUAGES C CXX)\n"
     "add_subdirectory(\"${SOURCE}\" rollcall)\n"
     "file(WRITE \"\${CMAKE_BINARY_DIR}/said\" \"shared=\${BUILD_SHARED_LIBS} type=\${CMAKE_BUILD_TYPE}\\n\")\n")
configure("${SCRATCH}/outside" inside)
expect(inside/said "shared= type=")
file(REMOVE_RECURSE "${SCRATCH}")
