# The compiler of the preset `fuzz`: the first clang of those with libFuzzer that packages.txt names
# and that is here.
find_program(STACKRAY_FUZZ_CC NAMES clang-16 clang-19 REQUIRED)
find_program(STACKRAY_FUZZ_CXX NAMES clang++-16 clang++-19 REQUIRED)
set(CMAKE_C_COMPILER ${STACKRAY_FUZZ_CC})
set(CMAKE_CXX_COMPILER ${STACKRAY_FUZZ_CXX})
