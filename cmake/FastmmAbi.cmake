# SPDX-License-Identifier: MIT
# The binary interface of the shared library: its SOVERSION and the node of its version script.
#
# Before 1.0 every minor version may change the interface, so the SOVERSION is 0.MINOR; from 1.0 on
# it is MAJOR.
#
# Inline bodies freeze layouts into callers. The layout epochs in symbol names make a wrong object
# fail to link, but a program that is already linked binds its functions lazily, and could add to
# a counter of another layout before it calls the first of them. The dynamic linker does check the
# version nodes of all libraries before anything runs; so the epochs are part of the node's name,
# and a program linked against another layout does not start, whatever the SOVERSION.

# fastmm_abi(<soversion variable> <node variable>)
function(fastmm_abi soversion_out node_out)
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(soversion 0.${PROJECT_VERSION_MINOR})
  else()
    set(soversion ${PROJECT_VERSION_MAJOR})
  endif()

  set(node FASTMM_${soversion})
  file(GLOB headers ${PROJECT_SOURCE_DIR}/include/fastmm/*.h)
  list(SORT headers)
  foreach(header IN LISTS headers)
    # A changed epoch must reconfigure, or the node would keep its old name.
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(STRINGS ${header} lines REGEX "^#[ ]*define FASTMM_[A-Z0-9_]+_EPOCH +[0-9]+")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "FASTMM_([A-Z0-9_]+)_EPOCH +([0-9]+)" match "${line}")
      string(APPEND node _${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    endforeach()
  endforeach()

  set(${soversion_out} ${soversion} PARENT_SCOPE)
  set(${node_out} ${node} PARENT_SCOPE)
endfunction()
