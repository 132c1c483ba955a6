# What `cmake --install` puts where: the library, its headers, the command, the CMake package, rollcall.pc, the licence.
# Everything refers to its neighbours relatively, so that an installed tree may be moved.
include(CMakePackageConfigHelpers)

set(package_directory "${CMAKE_INSTALL_LIBDIR}/cmake/Rollcall")

install(TARGETS rollcall EXPORT RollcallTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/rollcall DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT RollcallTargets NAMESPACE Rollcall:: DESTINATION "${package_directory}")
configure_package_config_file(cmake/RollcallConfig.cmake.in "${PROJECT_BINARY_DIR}/package/RollcallConfig.cmake"
  INSTALL_DESTINATION "${package_directory}")
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/RollcallConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/RollcallConfig.cmake" "${PROJECT_BINARY_DIR}/package/RollcallConfigVersion.cmake"
  DESTINATION "${package_directory}")

# A shared library brings what it needs itself; who links the static one must be told of it.
if(BUILD_SHARED_LIBS)
  set(pc_requires "")
  set(pc_libraries "")
else()
  set(pc_requires "ucx hwloc libsodium libhwy spdlog fmt")
  set(pc_libraries " -lstdc++ -lm -pthread")
endif()
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/rollcall.pc.in "${PROJECT_BINARY_DIR}/package/rollcall.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/rollcall.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
