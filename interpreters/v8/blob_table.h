// The builtins of a file without symbols: the table of the embedded blob (EmbeddedData's layout
// descriptions) and the table of builtins' names, each found by its shape.
#ifndef STACKRAY_INTERPRETERS_V8_BLOB_TABLE_H_
#define STACKRAY_INTERPRETERS_V8_BLOB_TABLE_H_

#include <vector>

#include "interpreters/v8/builtins.h"

namespace stackray::v8 {

// Empty: not found, or nothing that makes sense.
std::vector<Builtin> BuiltinsOfTables(const ElfImage& image, const ByteSource& source);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_BLOB_TABLE_H_
