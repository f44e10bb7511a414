# SPDX-License-Identifier: MIT
# Flags belong to targets, never to the directory, so that a project which adds this one with
# add_subdirectory() keeps its own.

# fastmm_target(<target>): what every target of this project is compiled with.
function(fastmm_target target)
  target_compile_features(${target} PRIVATE c_std_11)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_EXTENSIONS ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${FASTMM_WERROR}>:-Werror>)
  if(FASTMM_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${FASTMM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${FASTMM_SANITIZE})
  endif()
endfunction()
