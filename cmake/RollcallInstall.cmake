# What `cmake --install` installs of the library, and where: the library, its headers, the CMake package, rollcall.pc, the documentation, the
# examples and the licence. Folders of the command say what else is installed. All paths between installed files are relative, so that an
# installed tree can be moved. It cannot be moved if CMAKE_INSTALL_LIBDIR or CMAKE_INSTALL_INCLUDEDIR is an absolute path.
include(CMakePackageConfigHelpers)

set(package_directory "${CMAKE_INSTALL_LIBDIR}/cmake/Rollcall")
# What the compiler links to a C++ program only: the runtime of C++. C programs that link the static library need it, too.
set(cxx_runtime ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM cxx_runtime "" ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_DUPLICATES cxx_runtime)

install(TARGETS rollcall rollcall_c EXPORT RollcallTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/rollcall DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
# The pages are where README.md, --help and the headers say they are: in docs/.
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.cpp")

install(EXPORT RollcallTargets NAMESPACE Rollcall:: DESTINATION "${package_directory}")
configure_package_config_file(cmake/RollcallConfig.cmake.in "${PROJECT_BINARY_DIR}/package/RollcallConfig.cmake"
  INSTALL_DESTINATION "${package_directory}")
# Before 1.0, a new minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/RollcallConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/RollcallConfig.cmake" "${PROJECT_BINARY_DIR}/package/RollcallConfigVersion.cmake"
  DESTINATION "${package_directory}")

# A shared library loads its own dependencies. A program that links the static library must be told of them.
if(BUILD_SHARED_LIBS)
  set(pc_requires "")
  set(pc_libraries "")
else()
  set(pc_requires "ucx hwloc libsodium spdlog fmt")
  # Functions have other names in another fmt, and spdlog has another soname. Libraries that are built along may have no version here.
  if(fmt_VERSION AND spdlog_VERSION)
    math(EXPR next_fmt "${fmt_VERSION_MAJOR} + 1")
    math(EXPR next_spdlog "${spdlog_VERSION_MINOR} + 1")
    string(APPEND pc_requires " >= ${fmt_VERSION_MAJOR} fmt < ${next_fmt} spdlog >= ${spdlog_VERSION_MAJOR}.${spdlog_VERSION_MINOR}"
                              " spdlog < ${spdlog_VERSION_MAJOR}.${next_spdlog}")
  endif()
  set(pc_libraries ${cxx_runtime} ${CMAKE_DL_LIBS} rt)
  list(TRANSFORM pc_libraries REPLACE "^([^-/].*)$" "-l\\1")
  list(JOIN pc_libraries " " pc_libraries)
  string(PREPEND pc_libraries " -pthread ")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(directory IN ITEMS LIBDIR INCLUDEDIR)
  set(pc_${directory} "${CMAKE_INSTALL_${directory}}")
  if(NOT IS_ABSOLUTE "${pc_${directory}}")
    string(PREPEND pc_${directory} "\${prefix}/")
  endif()
endforeach()
configure_file(cmake/rollcall.pc.in "${PROJECT_BINARY_DIR}/package/rollcall.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/rollcall.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# `cpack -G DEB` makes a package for Debian and Ubuntu. The package depends on the packages of the libraries that are linked.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(CPACK_PACKAGE_NAME rollcall)
set(CPACK_PACKAGE_VENDOR "Rollcall")
set(CPACK_PACKAGE_CONTACT "The Rollcall developers")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What single options look for: `--plot`, `--raw-ucx`, `--hosts`, `--cluster`, `--stack-traces`, and the second transport.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuplot-nox, ucx-utils, openssh-client, iproute2, gdb, libfabric1")
# Only what belongs to no component. The MPI programs of `rollcall bench --peer` (bench/peers) would make the package depend on MPI libraries.
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};${PROJECT_NAME};Unspecified;/")
# For packages with programs that use the library.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian.cmake")
include(CPack)
