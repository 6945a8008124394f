# Kernel symbols: no BPF and nothing else of kernel/ needed, so that tests and fuzzers link them
# alone.
add_library(stackray_kernel_symbols STATIC
  ${CMAKE_CURRENT_LIST_DIR}/code_history.cc ${CMAKE_CURRENT_LIST_DIR}/kallsyms.cc
  ${CMAKE_CURRENT_LIST_DIR}/kernel_modules.cc ${CMAKE_CURRENT_LIST_DIR}/kernel_symbols.cc
  ${CMAKE_CURRENT_LIST_DIR}/ksymbol_records.cc ${CMAKE_CURRENT_LIST_DIR}/module_events.cc
  ${CMAKE_CURRENT_LIST_DIR}/module_history.cc)
target_link_libraries(stackray_kernel_symbols PUBLIC absl::status absl::statusor stackray_clock
  PRIVATE stackray_fmt stackray_warnings)
