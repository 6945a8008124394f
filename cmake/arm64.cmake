# Toolchain file: stackray for arm64, built on a machine of another kind (preset arm64).
# The compiler is Debian's g++-aarch64-linux-gnu; libraries come from the folder that
# cmake/setup/arm64_sysroot.sh makes; protoc, bpftool, clang and node are this machine's own; test
# programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(stackray_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build-arm64-sysroot ABSOLUTE)
if(DEFINED ENV{STACKRAY_ARM64_SYSROOT})
  set(stackray_sysroot $ENV{STACKRAY_ARM64_SYSROOT})
endif()
set(CMAKE_SYSROOT ${stackray_sysroot})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH ${stackray_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR}
  ${stackray_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${stackray_sysroot}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${stackray_sysroot})
find_program(stackray_qemu NAMES qemu-aarch64 qemu-aarch64-static)
if(stackray_qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${stackray_qemu} -L ${stackray_sysroot})
endif()
