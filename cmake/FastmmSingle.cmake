# SPDX-License-Identifier: MIT
# single/fastmm.c and single/fastmm.h in the build directory: the whole library as two files.
find_program(FASTMM_AWK awk)
find_program(FASTMM_SH sh)
mark_as_advanced(FASTMM_AWK FASTMM_SH)
if(NOT FASTMM_AWK OR NOT FASTMM_SH)
  message(STATUS "fastmm: the single file is left out: no awk or no sh was found")
  return()
endif()

get_target_property(single_sources fastmm_objects SOURCES)
list(FILTER single_sources INCLUDE REGEX "\\.c$")
file(GLOB single_headers CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/include/fastmm/*.h
  ${PROJECT_SOURCE_DIR}/src/*/*.h)
set(single_dir ${PROJECT_BINARY_DIR}/single)
add_custom_command(
  OUTPUT ${single_dir}/fastmm.c ${single_dir}/fastmm.h
  COMMAND ${FASTMM_SH} ${PROJECT_SOURCE_DIR}/cmake/amalgamate.sh
    ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR} ${single_dir} ${single_sources}
  DEPENDS ${single_sources} ${single_headers} ${PROJECT_SOURCE_DIR}/LICENSE
    ${PROJECT_SOURCE_DIR}/cmake/amalgamate.awk ${PROJECT_SOURCE_DIR}/cmake/amalgamate.sh
  VERBATIM)
add_custom_target(fastmm_single ALL DEPENDS ${single_dir}/fastmm.c ${single_dir}/fastmm.h)
