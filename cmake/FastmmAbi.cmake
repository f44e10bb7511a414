# SPDX-License-Identifier: MIT
# The binary interface of the shared library: its SOVERSION and the nodes of its version script.
#
# Before 1.0 every minor version may change the interface, so the SOVERSION is 0.MINOR; from 1.0 on
# it is MAJOR.
#
# Inline bodies freeze layouts into callers. The layout epochs in symbol names make a wrong object
# fail to link, but a program that is already linked binds its functions lazily, and could add to
# a counter of another layout before it calls the first of them. The dynamic linker does check the
# version nodes of all libraries before anything runs; so the epochs are part of the nodes' names,
# and a program linked against another layout does not start, whatever the SOVERSION.
#
# There are two nodes, because the walker still changes: its epoch must not refuse programs that only
# count and copy.

# Patterns of the exported names, without fastmm_: of the stable interface, and of the walker's.
set(fastmm_stable_names clear_* copy_* counter_* cpu_* cpuid_* fill_* move_* page_* quota_* version)
set(fastmm_walker_names
  bad_page_* machine_* marker_* mm_* normal_page_* object_* pte_* set_range_* snapshot_* swp_* va_*)
set(fastmm_walker_epochs MM)

# fastmm_abi(<soversion variable> <stable node variable> <walker node variable>)
function(fastmm_abi soversion_out stable_out walker_out)
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(soversion 0.${PROJECT_VERSION_MINOR})
  else()
    set(soversion ${PROJECT_VERSION_MAJOR})
  endif()

  set(stable FASTMM_${soversion})
  set(walker FASTMM_WALKER_${soversion})
  file(GLOB headers ${PROJECT_SOURCE_DIR}/include/fastmm/*.h)
  list(SORT headers)
  foreach(header IN LISTS headers)
    # A changed epoch must reconfigure, or the node would keep its old name.
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(STRINGS ${header} lines REGEX "^#[ ]*define FASTMM_[A-Z0-9_]+_EPOCH +[0-9]+")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "FASTMM_([A-Z0-9_]+)_EPOCH +([0-9]+)" match "${line}")
      set(node stable)
      if(CMAKE_MATCH_1 IN_LIST fastmm_walker_epochs)
        set(node walker)
      endif()
      string(APPEND ${node} _${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    endforeach()
  endforeach()

  set(${soversion_out} ${soversion} PARENT_SCOPE)
  set(${stable_out} ${stable} PARENT_SCOPE)
  set(${walker_out} ${walker} PARENT_SCOPE)
endfunction()

# fastmm_version_script(<file> <stable node> <walker node>)
function(fastmm_version_script file stable_node walker_node)
  foreach(part stable walker)
    set(${part}_names)
    foreach(name IN LISTS fastmm_${part}_names)
      string(APPEND ${part}_names "        fastmm_${name};\n")
    endforeach()
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/fastmm.map.in ${file} @ONLY)
endfunction()
