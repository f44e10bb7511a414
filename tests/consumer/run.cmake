# SPDX-License-Identifier: MIT
# One step of the consumer tests, as `cmake -D STEP=... -P run.cmake`; CMakeLists.txt has the rest of
# the variables. Any failing command fails the test with its output.

set(ENV{LC_ALL} C) # messages are looked at
set(tree ${WORK}/moved)
set(here ${WORK}/${NAME})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# run_failing(<pattern> <command>...): the command must fail, and say why.
function(run_failing pattern)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(result EQUAL 0)
    message(FATAL_ERROR "this should have failed: ${ARGN}")
  elseif(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "it failed without saying '${pattern}'")
  endif()
endfunction()

function(build_project)
  file(REMOVE_RECURSE ${here})
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${here} -G ${GENERATOR}
    -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX} ${ARGN})
  run(${CMAKE_COMMAND} --build ${here})
  run(${here}/consumer-c)
  if(CXX)
    run(${here}/consumer-cxx)
  endif()
endfunction()

# expect_linked(<program> <ON|OFF>): whether it asks for the shared library.
function(expect_linked program shared)
  find_program(READELF readelf REQUIRED)
  execute_process(COMMAND ${READELF} -d ${program} OUTPUT_VARIABLE dynamic
    COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${dynamic}" libfastmm.so at)
  if(shared AND at EQUAL -1)
    message(FATAL_ERROR "${program} does not use the shared library")
  elseif(NOT shared AND NOT at EQUAL -1)
    message(FATAL_ERROR "${program} uses the shared library")
  endif()
endfunction()

function(step_install)
  file(REMOVE_RECURSE ${WORK}/first ${tree})
  run(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/first)
  file(RENAME ${WORK}/first ${tree})
  # The paths of the source and the build, and the first prefix, are of no meaning to a stranger.
  file(GLOB_RECURSE texts ${tree}/*.cmake ${tree}/*.pc ${tree}/*.h)
  foreach(text IN LISTS texts)
    file(READ ${text} content)
    foreach(path ${SOURCE} ${BUILD} ${WORK})
      string(FIND "${content}" ${path} at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${text} knows of ${path}")
      endif()
    endforeach()
  endforeach()
endfunction()

function(step_package)
  build_project(-D CMAKE_PREFIX_PATH=${tree} -D USE=${USE} -D BUILD_SHARED_LIBS=${BUILD_SHARED_LIBS})
  set(shared OFF)
  if(USE STREQUAL fastmm::shared OR BUILD_SHARED_LIBS)
    set(shared ON)
  endif()
  expect_linked(${here}/consumer-c ${shared})
endfunction()

# can(<variable> <flag>...): whether compiler and linker make programs by these flags.
function(can out)
  file(MAKE_DIRECTORY ${here})
  file(WRITE ${here}/can.c "int main(void) { return 0; }\n")
  execute_process(COMMAND ${CC} ${ARGN} ${here}/can.c -o ${here}/can
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  set(${out} OFF PARENT_SCOPE)
  if(result EQUAL 0)
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

# lto_flags(<variable>): what makes CMake optimise at link time; empty where it can't be done. Clang's
# objects need its own linker.
function(lto_flags out)
  set(${out} PARENT_SCOPE)
  foreach(linker "" -fuse-ld=lld)
    can(works -flto ${linker})
    if(works)
      set(${out} -D CMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -D CMAKE_EXE_LINKER_FLAGS=${linker}
        -D CMAKE_SHARED_LINKER_FLAGS=${linker} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message("SKIP: ${CC} has no linker for link-time optimisation here")
endfunction()

# expect_left_to_the_linker(<object>): it must hold what a linker optimises, by GCC or by Clang.
function(expect_left_to_the_linker object)
  file(READ ${object} magic LIMIT 4 HEX)
  find_program(READELF readelf REQUIRED)
  execute_process(COMMAND ${READELF} -SW ${object} OUTPUT_VARIABLE sections ERROR_QUIET)
  if(NOT magic STREQUAL 4243c0de AND NOT sections MATCHES "\\.gnu\\.lto_")
    message(FATAL_ERROR "${object} is not for link-time optimisation")
  endif()
endfunction()

# A program that is optimised at link time, with the libraries as they are installed.
function(step_lto)
  lto_flags(flags)
  if(flags)
    build_project(-D CMAKE_PREFIX_PATH=${tree} -D USE=${USE} ${flags})
    expect_left_to_the_linker(${here}/CMakeFiles/consumer-c.dir/main.c.o)
  endif()
endfunction()

# exported_names(<variable> <library>)
function(exported_names out library)
  find_program(NM nm REQUIRED)
  execute_process(COMMAND ${NM} -D --defined-only --format=posix ${library} OUTPUT_VARIABLE names
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "fastmm_[A-Za-z0-9_]+@@[A-Z0-9_.]+" names "${names}")
  list(SORT names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# The library and the program together; the shared one must export what it exports otherwise.
function(step_lto_subdirectory)
  lto_flags(flags)
  if(NOT flags)
    return()
  endif()
  build_project(-D FASTMM_SOURCE=${SOURCE} -D USE=fastmm::fastmm ${flags})
  expect_linked(${here}/consumer-c OFF)
  build_project(-D FASTMM_SOURCE=${SOURCE} -D USE=fastmm::fastmm -D BUILD_SHARED_LIBS=ON ${flags})
  expect_linked(${here}/consumer-c ON)
  expect_left_to_the_linker(${here}/fastmm/src/CMakeFiles/fastmm_objects.dir/counter/counter.c.o)
  exported_names(usual ${BUILD}/src/libfastmm.so)
  exported_names(optimised ${here}/fastmm/src/libfastmm.so)
  if(NOT usual OR NOT usual STREQUAL optimised)
    message(FATAL_ERROR "optimised at link time, the library exports other names: ${optimised}")
  endif()
endfunction()

# A static program that runs at any address.
function(step_static_pie)
  can(works -static-pie)
  if(NOT works)
    message("SKIP: no static-pie programs here")
    return()
  endif()
  build_project(-D CMAKE_PREFIX_PATH=${tree} -D USE=fastmm::static
    -D CMAKE_POSITION_INDEPENDENT_CODE=ON -D CMAKE_EXE_LINKER_FLAGS=-static-pie)
  find_program(READELF readelf REQUIRED)
  execute_process(COMMAND ${READELF} -hlW ${here}/consumer-c OUTPUT_VARIABLE headers
    COMMAND_ERROR_IS_FATAL ANY)
  if(NOT headers MATCHES "Type: +DYN" OR headers MATCHES " INTERP ")
    message(FATAL_ERROR "consumer-c is no static-pie program:\n${headers}")
  endif()
endfunction()

# The version file takes what the interface policy allows and refuses the rest.
function(step_versions)
  file(STRINGS ${tree}/include/fastmm/base.h lines REGEX "FASTMM_VERSION_(MAJOR|MINOR) [0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(GET numbers 0 major)
  list(GET numbers 1 minor)
  math(EXPR next "${minor} + 1")
  build_project(-D CMAKE_PREFIX_PATH=${tree} -D USE=fastmm::fastmm -D VERSION=${major}.${minor})
  run_failing("compatible" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/project -B ${here}/next
    -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${tree} -D USE=fastmm::fastmm -D VERSION=${major}.${next})
endfunction()

# ask_pkgconfig(<installed tree>): sets cflags and libs, or nothing if there is no pkg-config.
function(ask_pkgconfig tree)
  find_program(PKG_CONFIG NAMES pkg-config pkgconf)
  if(NOT PKG_CONFIG)
    message("SKIP: pkg-config is not installed")
    return()
  endif()
  set(ENV{PKG_CONFIG_PATH} ${tree}/${LIBDIR}/pkgconfig)
  foreach(kind cflags libs)
    execute_process(COMMAND ${PKG_CONFIG} --${kind} fastmm
      OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(output UNIX_COMMAND "${output}")
    set(${kind} ${output} PARENT_SCOPE)
  endforeach()
endfunction()

function(step_pkgconfig)
  ask_pkgconfig(${tree})
  if(NOT libs)
    return()
  endif()
  set(link ${libs})
  if(LINK STREQUAL static)
    list(PREPEND link -static)
  else()
    list(APPEND link -Wl,-rpath,${tree}/${LIBDIR})
  endif()
  file(MAKE_DIRECTORY ${here})
  run(${CC} -std=c11 ${cflags} ${CMAKE_CURRENT_LIST_DIR}/project/main.c -o ${here}/consumer-c ${link})
  run(${here}/consumer-c)
  if(CXX)
    run(${CXX} -std=c++17 ${cflags} ${CMAKE_CURRENT_LIST_DIR}/project/main.cc
      -o ${here}/consumer-cxx ${link})
    run(${here}/consumer-cxx)
  endif()
  if(LINK STREQUAL static)
    expect_linked(${here}/consumer-c OFF)
  else()
    expect_linked(${here}/consumer-c ON)
  endif()
endfunction()

# A library that checks is installed with packages that make its users check. The plain one is not.
function(step_checked)
  set(checked ${CMAKE_CURRENT_LIST_DIR}/checked.c)
  file(REMOVE_RECURSE ${here})
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${here}/build -G ${GENERATOR} -D CMAKE_C_COMPILER=${CC}
    -D FASTMM_CHECKED=ON -D FASTMM_BUILD_TESTS=OFF -D FASTMM_BUILD_BENCH=OFF
    -D FASTMM_BUILD_TOOLS=OFF -D FASTMM_BUILD_EXAMPLES=OFF -D CMAKE_INSTALL_LIBDIR=${LIBDIR})
  run(${CMAKE_COMMAND} --build ${here}/build)
  run(${CMAKE_COMMAND} --install ${here}/build --prefix ${here}/tree)
  set(project -S ${CMAKE_CURRENT_LIST_DIR}/project -G ${GENERATOR} -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_CXX_COMPILER=NOTFOUND -D USE=fastmm::fastmm -D MAIN=${checked})
  run(${CMAKE_COMMAND} ${project} -B ${here}/package -D CMAKE_PREFIX_PATH=${here}/tree)
  run(${CMAKE_COMMAND} --build ${here}/package)
  run(${here}/package/consumer-c)
  run(${CMAKE_COMMAND} ${project} -B ${here}/plain -D CMAKE_PREFIX_PATH=${tree})
  run_failing("doesn't say that the library checks" ${CMAKE_COMMAND} --build ${here}/plain)

  ask_pkgconfig(${here}/tree)
  if(libs)
    run(${CC} ${cflags} ${checked} -o ${here}/program -static ${libs})
    run(${here}/program)
  endif()
endfunction()

# raise_epoch(<header>): raises its layout epoch, so that 1 becomes 91.
function(raise_epoch header)
  file(READ ${header} before)
  string(REGEX REPLACE "(define FASTMM_[A-Z0-9_]+_EPOCH +)([0-9]+)" "\\19\\2" after "${before}")
  file(WRITE ${header} "${after}")
endfunction()

# A program of one layout and a library of another meet neither at link nor at load.
function(step_epoch)
  set(lib ${tree}/${LIBDIR})
  set(main ${CMAKE_CURRENT_LIST_DIR}/project/main.c)
  file(REMOVE_RECURSE ${here})
  file(MAKE_DIRECTORY ${here})
  file(GLOB headers RELATIVE ${tree}/include ${tree}/include/fastmm/*.h)
  set(with_epoch)
  foreach(header IN LISTS headers)
    file(STRINGS ${tree}/include/${header} epoch REGEX "define FASTMM_[A-Z0-9_]+_EPOCH +[0-9]+")
    if(epoch)
      list(APPEND with_epoch ${header})
    endif()
  endforeach()
  if(NOT with_epoch)
    message(FATAL_ERROR "no header has a layout epoch")
  endif()

  foreach(library ${lib}/libfastmm.a ${lib}/libfastmm.so)
    run(${CC} -I${tree}/include ${main} -o ${here}/program ${library})
  endforeach()
  foreach(header IN LISTS with_epoch) # each alone
    file(REMOVE_RECURSE ${here}/raised)
    file(COPY ${tree}/include DESTINATION ${here}/raised)
    raise_epoch(${here}/raised/include/${header})
    foreach(library ${lib}/libfastmm.a ${lib}/libfastmm.so)
      foreach(level -O0 -O2)
        run_failing("undefined reference to .*_e9[0-9]+"
          ${CC} ${level} -I${here}/raised/include ${main} -o ${here}/program ${library})
      endforeach()
    endforeach()
  endforeach()

  # The same source with raised epochs, so a library with the SONAME that the program asks for.
  file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/cmake ${SOURCE}/src ${SOURCE}/include
    DESTINATION ${here}/other)
  foreach(header IN LISTS with_epoch)
    raise_epoch(${here}/other/include/${header})
  endforeach()
  run(${CMAKE_COMMAND} -S ${here}/other -B ${here}/build -G ${GENERATOR} -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_BUILD_TYPE=Debug -D FASTMM_BUILD_TESTS=OFF -D FASTMM_BUILD_BENCH=OFF
    -D FASTMM_BUILD_TOOLS=OFF -D FASTMM_BUILD_EXAMPLES=OFF)
  run(${CMAKE_COMMAND} --build ${here}/build --target fastmm_shared)

  run(${CC} -I${tree}/include ${main} -o ${here}/program -L${lib} -lfastmm)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${lib} ${here}/program)
  run_failing("version .*FASTMM_.* not found"
    ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${here}/build/src ${here}/program)

  # The walker still changes; who only counts is not refused for it.
  file(COPY ${SOURCE}/include DESTINATION ${here}/other)
  list(TRANSFORM headers PREPEND ${here}/other/include/)
  file(TOUCH ${headers})
  raise_epoch(${here}/other/include/fastmm/mm.h)
  run(${CMAKE_COMMAND} --build ${here}/build --target fastmm_shared)
  run_failing("version .*FASTMM_WALKER_.* not found"
    ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${here}/build/src ${here}/program)
  run(${CC} -I${tree}/include ${CMAKE_CURRENT_LIST_DIR}/counter.c -o ${here}/counter -L${lib} -lfastmm)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${here}/build/src ${here}/counter)
endfunction()

# Programs from copied sources, each with no more folders than src/README.md says it needs.
function(step_sources)
  file(REMOVE_RECURSE ${here})
  file(COPY ${SOURCE}/include DESTINATION ${here})
  execute_process(COMMAND ${CC} -dumpmachine OUTPUT_VARIABLE machine COMMAND_ERROR_IS_FATAL ANY)

  foreach(wanted counter copy everything)
    if(wanted STREQUAL everything)
      set(folders base cpu counter copy mm)
      file(COPY ${CMAKE_CURRENT_LIST_DIR}/project/main.c DESTINATION ${here})
      file(RENAME ${here}/main.c ${here}/everything.c)
    else()
      set(folders base cpu ${wanted})
      file(COPY ${CMAKE_CURRENT_LIST_DIR}/${wanted}.c DESTINATION ${here})
    endif()
    file(REMOVE_RECURSE ${here}/src)
    set(objects)
    foreach(folder IN LISTS folders)
      file(COPY ${SOURCE}/src/${folder} DESTINATION ${here}/src)
      file(GLOB sources ${here}/src/${folder}/*.c)
      foreach(source IN LISTS sources)
        set(flags)
        if(folder STREQUAL copy)
          set(flags -fno-builtin)
        endif()
        if(machine MATCHES "^x86_64" AND source MATCHES "/avx2.c$")
          list(APPEND flags -mavx2)
        elseif(machine MATCHES "^x86_64" AND source MATCHES "/avx512.c$")
          list(APPEND flags -mavx512f -mavx512bw -mavx512vl)
        endif()
        run(${CC} ${flags} -I${here}/include -I${here}/src -c ${source} -o ${source}.o)
        list(APPEND objects ${source}.o)
      endforeach()
    endforeach()
    run(${CC} -I${here}/include ${here}/${wanted}.c ${objects} -o ${here}/${wanted})
    run(${here}/${wanted})
  endforeach()
endfunction()

function(step_subdirectory)
  build_project(-D FASTMM_SOURCE=${SOURCE} -D USE=fastmm::fastmm)
  expect_linked(${here}/consumer-c OFF)
  build_project(-D FASTMM_SOURCE=${SOURCE} -D USE=fastmm::fastmm -D BUILD_SHARED_LIBS=ON)
  expect_linked(${here}/consumer-c ON)
endfunction()

# On a machine without the dependencies of tests and benches, and without C++, the library still
# configures and builds, and says what it leaves out. Who names no kind of build gets the optimised one.
function(step_bare)
  file(REMOVE_RECURSE ${here})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${here}/no-cxx -G ${GENERATOR}
    -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=NOTFOUND
    -D CMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -D CMAKE_EXPORT_COMPILE_COMMANDS=ON
    OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY COMMAND_ECHO STDOUT)
  message("${output}")
  foreach(left_out "tests are left out" "benchmarks .* left out")
    if(NOT output MATCHES "${left_out}")
      message(FATAL_ERROR "it does not say '${left_out}'")
    endif()
  endforeach()
  file(READ ${here}/no-cxx/compile_commands.json commands)
  if(NOT commands MATCHES " -O2 ")
    message(FATAL_ERROR "the default kind of build does not optimise")
  endif()
  run(${CMAKE_COMMAND} -D CMAKE_BUILD_TYPE=Debug ${here}/no-cxx) # compiles faster
  run(${CMAKE_COMMAND} --build ${here}/no-cxx)

  if(CXX)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${here}/no-bench -G ${GENERATOR}
      -D CMAKE_C_COMPILER=${CC} -D CMAKE_CXX_COMPILER=${CXX}
      -D CMAKE_DISABLE_FIND_PACKAGE_benchmark=ON -D CMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
      OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY COMMAND_ECHO STDOUT)
    message("${output}")
    if(NOT output MATCHES "benchmarks are left out: Google Benchmark")
      message(FATAL_ERROR "it does not say that the benchmarks are left out")
    endif()
  endif()
endfunction()

cmake_language(CALL step_${STEP})
