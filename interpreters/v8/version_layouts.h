// What is known of a version of V8 without any symbol: read from memory of that version's Node or
// Deno, and compared with what the process says of itself.
#ifndef STACKRAY_INTERPRETERS_V8_VERSION_LAYOUTS_H_
#define STACKRAY_INTERPRETERS_V8_VERSION_LAYOUTS_H_

#include "absl/status/statusor.h"
#include "interpreters/v8/layout.h"

namespace stackray::v8 {

// Errors: NotFound: nothing is known of this version.
absl::StatusOr<V8Layout> LayoutOfVersion(const V8Version& version);

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_VERSION_LAYOUTS_H_
