// A capture's files, made from what the agent keeps in its state directory.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_RESULT_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_RESULT_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/captures/capture_record.h"
#include "agent/record/record_outputs.h"
#include "agent/settings/settings.h"

namespace stackray {

// Errors: NotFound (no such capture), PermissionDenied (its owner's alone), InvalidArgument (a
// damaged record), Unavailable; each with what to do.
absl::StatusOr<CaptureRecord> ReadCaptureRecord(const std::string& state_dir,
                                                const std::string& name);

class CaptureResult {
 public:
  // Opens the files of -o, or one of record's default name that is not there yet; they belong to
  // the user who called sudo. `targets` in words, for titles. Errors: as RecordOutputs::Create().
  static absl::StatusOr<CaptureResult> Create(const CaptureSettings& settings,
                                              const std::string& targets);

  // Reads the capture's batches, writes the files and says what they hold. One that still runs
  // gives what there is. False: something failed, and was said.
  bool Write(const CaptureRecord& record);

 private:
  CaptureResult(const CaptureSettings& settings, RecordOutputs outputs)
      : settings_(settings), outputs_(std::move(outputs)) {}
  absl::Status ReadBatches(const CaptureRecord& record);
  void SayWhatIsMissing(const CaptureRecord& record) const;

  CaptureSettings settings_;
  RecordOutputs outputs_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_RESULT_H_
