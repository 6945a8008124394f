// Recognises executables and libraries that hold a CPython interpreter, whatever they are called.
//
// By: `_PyEval_EvalFrameDefault` (3.6 on), `PyEval_EvalFrameEx` (before) or a section .PyRuntime
// (3.10 on). The version: _Py_DebugOffsets (3.13 on), the variable Py_Version (3.11 on), and before
// that which functions of the C API there are.
#ifndef STACKRAY_INTERPRETERS_PYTHON_LOADER_H_
#define STACKRAY_INTERPRETERS_PYTHON_LOADER_H_

#include "interpreters/runtime.h"

namespace stackray {

class PythonLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_LOADER_H_
