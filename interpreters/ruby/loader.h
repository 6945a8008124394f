// Recognises executables and libraries that hold a Ruby interpreter (CRuby), whatever they are
// called.
//
// By: `ruby_api_version`, three numbers that every CRuby exports and that say its version. Where
// its variables are: symbols where it has them, else the machine code of exported functions
// (accessors.h).
#ifndef STACKRAY_INTERPRETERS_RUBY_LOADER_H_
#define STACKRAY_INTERPRETERS_RUBY_LOADER_H_

#include "interpreters/runtime.h"

namespace stackray {

class RubyLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_LOADER_H_
