// Recognises executables and libraries that hold a Lua interpreter (PUC's), whatever they are
// called.
//
// By: `lua_ident`, a text that every Lua from 5.1 on exports and that says its version. LuaJIT has
// none. The loop has no symbol: it is the function that the table of its instructions' addresses
// leads into.
#ifndef STACKRAY_INTERPRETERS_LUA_LOADER_H_
#define STACKRAY_INTERPRETERS_LUA_LOADER_H_

#include <memory>

#include "interpreters/runtime.h"

namespace stackray {

class LuaLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_LUA_LOADER_H_
