// Recognises executables and libraries that hold a PHP interpreter, whatever they are called.
//
// By: the function `execute_ex`, and the variable `executor_globals` or, in thread-safe builds,
// `executor_globals_offset` (7.4 on) or `executor_globals_id`. The version: from the text that PHP
// puts into its answers, "X-Powered-By: PHP/8.2.1".
#ifndef STACKRAY_INTERPRETERS_PHP_LOADER_H_
#define STACKRAY_INTERPRETERS_PHP_LOADER_H_

#include "interpreters/runtime.h"

namespace stackray {

class PhpLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PHP_LOADER_H_
