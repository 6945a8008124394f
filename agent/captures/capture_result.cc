#include "agent/captures/capture_result.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "agent/captures/capture_store.h"
#include "agent/captures/record_file.h"
#include "agent/host_facts.h"
#include "agent/input_file.h"
#include "agent/say.h"
#include "agent/settings/command_line.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

// The name of now, with a number where there is such a file.
OutputFile NewDefaultOutput() {
  OutputFile output = DefaultOutput(std::time(nullptr));
  const std::string stem = output.path.substr(0, output.path.rfind('.'));
  for (int number = 2; faccessat(AT_FDCWD, output.path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
       ++number)
    output.path = fmt::format("{}-{}.html", stem, number);
  return output;
}

absl::Status NoCapture(const std::string& state_dir, const std::string& name, int error) {
  if (error == EACCES || error == EPERM)
    return absl::PermissionDeniedError(
        fmt::format("only its owner may read {}/{}: use sudo", state_dir, kCaptureFolder));
  if (error == ENOENT || error == ENOTDIR)
    return absl::NotFoundError(fmt::format(
        "there is no capture {} in {}/{}; \"stackray capture list\" shows those that are kept",
        name, state_dir, kCaptureFolder));
  return absl::UnavailableError(fmt::format("cannot read the capture {} in {}/{}: {}", name,
                                            state_dir, kCaptureFolder, std::strerror(error)));
}

}  // namespace

absl::StatusOr<CaptureRecord> ReadCaptureRecord(const std::string& state_dir,
                                                const std::string& name) {
  const std::string path = fmt::format("{}/{}", state_dir, kCaptureFolder);
  const UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string file = fmt::format("{}{}", name, kRecordEnding);
  if (!directory.valid() || faccessat(directory.get(), file.c_str(), R_OK, 0) != 0)
    return NoCapture(state_dir, name, errno);
  return ReadRecordFile(directory.get(), name);
}

absl::StatusOr<CaptureResult> CaptureResult::Create(const CaptureSettings& settings,
                                                    const std::string& targets) {
  const std::vector<OutputFile> files =
      settings.outputs.empty() ? std::vector<OutputFile>{NewDefaultOutput()} : settings.outputs;
  absl::StatusOr<RecordOutputs> outputs = RecordOutputs::Create(
      files, settings.sudo_user, fmt::format("{} on {}", targets, ReadHostFacts().name));
  if (!outputs.ok()) return outputs.status();
  return CaptureResult(settings, *std::move(outputs));
}

absl::Status CaptureResult::ReadBatches(const CaptureRecord& record) {
  const std::string& name = record.spec.name;
  if (record.batches == 0 && !record.is_running()) return absl::OkStatus();
  const std::string path = CaptureStore::FileOf(settings_.state_dir, name);
  const absl::StatusOr<std::unique_ptr<InputFile>> input = InputFile::Open(path);
  if (!input.ok()) return NoCapture(settings_.state_dir, name, errno);
  const absl::Status status =
      (*input)->ForEachBatch([&](const std::string& bytes) { return outputs_.Add(bytes); });
  // The agent may be writing the next batch, or have none yet.
  const bool may_be_torn = absl::IsDataLoss(status) || absl::IsInvalidArgument(status);
  return record.is_running() && may_be_torn ? absl::OkStatus() : status;
}

void CaptureResult::SayWhatIsMissing(const CaptureRecord& record) const {
  int64_t gap_ns = 0;
  for (const CaptureGap& gap : record.gaps) gap_ns += gap.to_unix_ns - gap.from_unix_ns;
  if (gap_ns > 0)
    Say(fmt::format("stackray: nothing was sampled for {:.1f} s of it, as no agent ran",
                    static_cast<double>(gap_ns) / 1e9));
  for (const auto& [reason, samples] : record.lost)
    if (samples > 0) Say(fmt::format("stackray: lost: {} samples ({})", samples, reason));
  if (record.is_running())
    Say(fmt::format("stackray: the capture {} still runs; this is what it has so far",
                    record.spec.name));
  else if (record.reason != kReasonFinished && record.reason != kReasonStopped)
    Say(fmt::format("stackray: the capture {} ended early: {}", record.spec.name, record.reason));
}

bool CaptureResult::Write(const CaptureRecord& record) {
  const absl::Status read = ReadBatches(record);
  if (!read.ok()) SayError(std::string(read.message()));
  outputs_.SetTime(record.started_unix_ns,
                   record.is_running() ? record.updated_unix_ns : record.ended_unix_ns);
  const bool is_get = settings_.action == CaptureAction::kGet;
  if (!is_get || settings_.type)
    outputs_.SetType(
        TypeOf(settings_.type.value_or(record.spec.types.front())).name,
        is_get ? RecordOutputs::MissingType::kIsAnError : RecordOutputs::MissingType::kIsEmpty);
  if (outputs_.summary().samples == 0 && outputs_.summary().others.empty())
    outputs_.SetNote(
        fmt::format("{}: none of them ran in this time", DescribeTargets(record.spec)));
  const absl::Status written = outputs_.Finish(read.ok() ? RecordOutputs::OldFiles::kReplaced
                                                         : RecordOutputs::OldFiles::kKept);
  if (!written.ok()) SayError(std::string(written.message()));
  Say(FormatSummary(outputs_.summary()));
  SayWhatIsMissing(record);
  if (!outputs_.dropped().empty()) Say("stackray: " + outputs_.dropped());
  for (const std::string& path : outputs_.written()) Say(path);
  return read.ok() && written.ok();
}

}  // namespace stackray
