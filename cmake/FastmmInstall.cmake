# SPDX-License-Identifier: MIT
# The installed tree: headers, both libraries, a CMake package and a pkg-config file. Both find
# their prefix from where they are, so that the tree can be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fastmm)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(TARGETS fastmm_static fastmm_shared EXPORT fastmm
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

install(EXPORT fastmm NAMESPACE fastmm:: FILE fastmm-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/fastmm-config.cmake.in ${PROJECT_BINARY_DIR}/fastmm-config.cmake
  INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the interface, as the SOVERSION says.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fastmm-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/fastmm-config.cmake ${PROJECT_BINARY_DIR}/fastmm-config-version.cmake
  DESTINATION ${package_dir})

# An absolute directory can't be moved with the prefix, and is then written as it is.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" pc_up "${pc_up}")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# Whoever uses a library that checks checks as well.
if(FASTMM_CHECKED)
  set(pc_checked " -DFASTMM_CHECKED")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/fastmm.pc.in ${PROJECT_BINARY_DIR}/fastmm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fastmm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
