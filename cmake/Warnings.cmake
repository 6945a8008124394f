# Compiler flags of our own code, as a target that folders link privately.
add_library(stackray_warnings INTERFACE)
target_compile_options(stackray_warnings INTERFACE
  -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wno-missing-field-initializers -fno-omit-frame-pointer)
if(STACKRAY_SANITIZE)
  add_compile_options(-fsanitize=${STACKRAY_SANITIZE} -fno-sanitize-recover=all -g)
  add_link_options(-fsanitize=${STACKRAY_SANITIZE})
endif()
