# SPDX-License-Identifier: MIT
# Files as C arrays, so that a program finds its data wherever it is copied. The file is also the
# script that writes the array; nothing but CMake is needed.

# fastmm_embed(<target> <file> <symbol>): adds `const unsigned char <symbol>[]` and
# `const size_t <symbol>_size` to the target.
function(fastmm_embed target file symbol)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DSYMBOL=${symbol}
      -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${file} ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  file(READ ${INPUT} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  # 16 bytes a line.
  string(REPEAT "....." 16 line)
  string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
  file(WRITE ${OUTPUT}
    "#include <stddef.h>\n"
    "extern const unsigned char ${SYMBOL}[];\n"
    "extern const size_t ${SYMBOL}_size;\n"
    "const unsigned char ${SYMBOL}[] = {\n${bytes}};\n"
    "const size_t ${SYMBOL}_size = sizeof(${SYMBOL});\n")
endif()
