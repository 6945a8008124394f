// pprof's profile.proto, gzip-compressed, as `go tool pprof` reads it.
//
// Layout: the message and field numbers that the pprof project documents, in pprof.cc as constants.
//   values    of each type that has samples one, by its name in the batches: samples/count, and
//             cpu/nanoseconds where the period is known (count × period); off_cpu/nanoseconds. The
//             default is the on-CPU time
//   labels    "process" (its command), "pid", "tid", "thread" (its name), "container" where known;
//             "trace_id" and "span_id" of a sample's link; a sample's own attributes by their names
//             ("stackray.wait")
//   mappings  path and build id; limits from the segment when the batch says them, else around the
//   addresses
//             that were seen; has_functions and its kin only where they hold for every location in
//             the mapping. The first one is the main program, after which pprof titles the profile:
//             the executable of all processes, or where they are several a mapping without code
//             that says "HOST (N programs)"
// Times are not kept: samples that differ only in time are added up.
#ifndef STACKRAY_REPORTER_FORMATS_PPROF_H_
#define STACKRAY_REPORTER_FORMATS_PPROF_H_

#include <string>

#include "absl/status/statusor.h"
#include "reporter/formats/profile_view.h"

namespace stackray {

// Errors: ResourceExhausted (no memory for zlib).
absl::StatusOr<std::string> PprofGzip(const ProfileView& view);

// Before compression.
std::string PprofBytes(const ProfileView& view);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PPROF_H_
