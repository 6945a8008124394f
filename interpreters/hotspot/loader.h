// Recognises libraries and executables that hold a HotSpot JVM, whatever they are called.
//
// By: gHotSpotVMStructs and its sisters among the dynamic symbols, which every HotSpot exports for
// the serviceability agent.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_LOADER_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_LOADER_H_

#include <memory>

#include "interpreters/runtime.h"

namespace stackray {

class HotSpotLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_LOADER_H_
