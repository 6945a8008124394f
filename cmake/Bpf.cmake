# stackray_bpf_skeleton(NAME): compiles bpf/NAME.bpf.c and makes bpf/NAME.skel.h in the build tree,
# a header with the object's bytes inside. Target: stackray_bpf_NAME.
execute_process(COMMAND gcc -dumpmachine OUTPUT_VARIABLE STACKRAY_TRIPLET OUTPUT_STRIP_TRAILING_WHITESPACE)
function(stackray_bpf_skeleton name)
  set(object ${CMAKE_BINARY_DIR}/bpf/${name}.bpf.o)
  set(skeleton ${CMAKE_BINARY_DIR}/bpf/${name}.skel.h)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/bpf)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CLANG_EXECUTABLE} -g -O2 -Wall -Wextra -Wno-unused-parameter -target bpf -mcpu=v3
            -D__TARGET_ARCH_x86 -I${PROJECT_SOURCE_DIR} -idirafter /usr/include/${STACKRAY_TRIPLET}
            -MD -MF ${object}.d -MT ${object} -c ${PROJECT_SOURCE_DIR}/bpf/${name}.bpf.c -o ${object}
    DEPENDS ${PROJECT_SOURCE_DIR}/bpf/${name}.bpf.c
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
