// Recognises executables and libraries that hold a Perl interpreter, whatever they are called.
//
// By: the function `Perl_runops_standard`, and the variable `PL_thr_key` or, in builds without
// threads, `PL_curstackinfo`. The version: from the text of $^V, "v5.36.0".
#ifndef STACKRAY_INTERPRETERS_PERL_LOADER_H_
#define STACKRAY_INTERPRETERS_PERL_LOADER_H_

#include "interpreters/runtime.h"

namespace stackray {

class PerlLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PERL_LOADER_H_
