# Precompiled headers: stackray_use_precompiled_headers() gives every C++ target the compiled form
# of the headers below. Reading Abseil's status and the standard library anew took two thirds of a
# file's time. A file still includes what it uses: clang-tidy reads each file without the
# precompiled headers.

# Headers of libraries alone, so that no change of ours makes all files compile again.
set(stackray_common_headers
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <functional> <limits> <map>
  <memory> <mutex> <numeric> <optional> <span> <sstream> <string> <string_view> <thread> <unordered_map>
  <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
  <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h>)

# gcc refuses precompiled headers where a macro that they read is defined differently, so fmt's is
# the same everywhere, and so is that of -pthread, which some libraries bring along.
add_compile_definitions(FMT_SHARED)
add_compile_options(-pthread)

# One compiled form for the programs' folders and one, with GoogleTest in it, for tests. CMake
# writes both as C++ only.
function(stackray_precompile name)
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc.new "// Compiles the precompiled headers; holds nothing itself.\n")
  file(COPY_FILE ${CMAKE_BINARY_DIR}/${name}.cc.new ${CMAKE_BINARY_DIR}/${name}.cc ONLY_IF_DIFFERENT)
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE stackray_fmt absl::flat_hash_map absl::statusor ${ARGN} stackray_warnings)
endfunction()
stackray_precompile(stackray_headers)
target_precompile_headers(stackray_headers PRIVATE ${stackray_common_headers})
stackray_precompile(stackray_test_headers GTest::gmock)
target_precompile_headers(stackray_test_headers PRIVATE ${stackray_common_headers} <gmock/gmock.h> <gtest/gtest.h>)

# Tests' own files compile in half the time with -O1; what they test keeps the build's level. gcc
# reuses a precompiled header only at the level that it was compiled at.
set(stackray_test_options $<$<COMPILE_LANGUAGE:CXX>:-O1>)
target_compile_options(stackray_test_headers PRIVATE ${stackray_test_options})

# Walks the folders below `folder` and lets each of our targets reuse one of the two.
function(stackray_use_precompiled_headers folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if(target MATCHES "^stackray_(test_)?headers$" OR NOT "stackray_warnings" IN_LIST libraries)
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    if(NOT sources MATCHES "\\.cc")
      continue()
    endif()
    if("GTest::gmock" IN_LIST libraries)
      target_precompile_headers(${target} REUSE_FROM stackray_test_headers)
      target_compile_options(${target} PRIVATE ${stackray_test_options})
    else()
      target_precompile_headers(${target} REUSE_FROM stackray_headers)
    endif()
  endforeach()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    stackray_use_precompiled_headers(${subfolder})
  endforeach()
endfunction()
