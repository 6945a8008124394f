// `stackray view FILE`: the file's page, served to this host alone until Ctrl-C.
#ifndef STACKRAY_AGENT_VIEW_COMMAND_H_
#define STACKRAY_AGENT_VIEW_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"

namespace stackray {

// The page of a file: of batches (.otlp, OTLP's JSON), pprof's profiles and folded stacks one is
// made, a page (.html) is shown as it is, and a report's archive (.tar.zst) has one inside. Samples
// are chosen of .otlp alone.
// Errors: as InputFile; InvalidArgument (what the file looks like, and what to do with that);
// NotFound (no sample is wanted);
// ResourceExhausted (a page above kMostPageBytes).
absl::StatusOr<std::string> PageOfFile(const std::string& path, const SampleFilter& filter);

// Prints the page's address on standard output. Exit code 0: until it was asked to end; 1: not.
int RunView(const ViewSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_VIEW_COMMAND_H_
