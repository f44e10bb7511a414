# SPDX-License-Identifier: MIT
# Cross build with the distribution's aarch64 compiler; tests run under user-mode emulation.
# Libraries other than libc come from where pkg-config is told to look: PKG_CONFIG_LIBDIR, and
# PKG_CONFIG_SYSROOT_DIR when they are not installed in place (unpack.sh makes such a tree).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
# Only the C++ tests of the headers need it, so it may be missing.
find_program(aarch64_cxx aarch64-linux-gnu-g++)
if(aarch64_cxx)
  set(CMAKE_CXX_COMPILER ${aarch64_cxx})
else()
  set(CMAKE_CXX_COMPILER NOTFOUND)
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu $ENV{PKG_CONFIG_SYSROOT_DIR})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

if(NOT DEFINED ENV{PKG_CONFIG_LIBDIR})
  set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig)
endif()
