#include "interpreters/v8/blob_table.h"

namespace stackray::v8 {

std::vector<Builtin> BuiltinsOfTables(const ElfImage&, const ByteSource&) { return {}; }

}  // namespace stackray::v8
