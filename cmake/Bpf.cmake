# stackray_bpf_skeleton(NAME [FROM FOLDER]): compiles FOLDER/NAME.bpf.c (bpf/ by default) and makes
# bpf/NAME.skel.h in the build tree, a header with the object's bytes inside. Target:
# stackray_bpf_NAME. The programs are for the kernel of the machine that the binary is for.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(STACKRAY_BPF_ARCH arm64)
else()
  set(STACKRAY_BPF_ARCH x86)
endif()
execute_process(COMMAND gcc -dumpmachine OUTPUT_VARIABLE STACKRAY_TRIPLET OUTPUT_STRIP_TRAILING_WHITESPACE)
function(stackray_bpf_skeleton name)
  cmake_parse_arguments(arg "" "FROM" "" ${ARGN})
  if(NOT arg_FROM)
    set(arg_FROM bpf)
  endif()
  set(source ${PROJECT_SOURCE_DIR}/${arg_FROM}/${name}.bpf.c)
  set(object ${CMAKE_BINARY_DIR}/bpf/${name}.bpf.o)
  set(skeleton ${CMAKE_BINARY_DIR}/bpf/${name}.skel.h)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bpf)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CLANG_EXECUTABLE} -g -O2 -Wall -Wextra -Wno-unused-parameter -target bpf -mcpu=v3
            -D__TARGET_ARCH_${STACKRAY_BPF_ARCH} -I${PROJECT_SOURCE_DIR} -idirafter /usr/include/${STACKRAY_TRIPLET}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "BPF object ${name}" VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${BPFTOOL_EXECUTABLE} gen skeleton ${object} name ${name}_bpf > ${skeleton}.tmp
    COMMAND ${CMAKE_COMMAND} -E rename ${skeleton}.tmp ${skeleton}
    DEPENDS ${object}
    COMMENT "BPF skeleton ${name}" VERBATIM)
  add_custom_target(stackray_bpf_${name} DEPENDS ${skeleton})
endfunction()
