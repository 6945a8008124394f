# Kernel symbols: no BPF and nothing else of kernel/ needed, so that tests and fuzzers link them alone.
add_library(stackray_kernel_symbols STATIC
  ${CMAKE_CURRENT_LIST_DIR}/kallsyms.cc ${CMAKE_CURRENT_LIST_DIR}/kernel_modules.cc
  ${CMAKE_CURRENT_LIST_DIR}/kernel_symbols.cc)
target_link_libraries(stackray_kernel_symbols PUBLIC absl::status absl::statusor
  PRIVATE stackray_warnings)
