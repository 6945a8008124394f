#include "agent/file_commands.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "agent/record/record_outputs.h"
#include "kernel/unique_fd.h"
#include "reporter/batch_file.h"
#include "reporter/check.h"
#include "reporter/decoded_batch.h"
#include "reporter/formats/profile_summary.h"

namespace stackray {
namespace {

int Fail(std::string_view path, std::string_view text) {
  fmt::print(stderr, "stackray: {}: {}\n", path, text);
  return 1;
}

// Calls `visit` for every batch; the batches before a damaged place are good.
absl::Status ForEachBatch(const std::string& path,
                          const std::function<absl::Status(const std::string&)>& visit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::NotFoundError(strerror(errno));
  BatchFileReader reader = BatchFileReader::FromFd(fd.get());
  for (;;) {
    absl::StatusOr<std::optional<std::string>> batch = reader.Next();
    if (!batch.ok()) return batch.status();
    if (!batch->has_value()) return absl::OkStatus();
    if (absl::Status status = visit(**batch); !status.ok()) return status;
  }
}

}  // namespace

int RunCheck(const CheckSettings& settings) {
  int batches = 0, damaged = 0;
  SummaryCounter summary;
  const absl::Status status = ForEachBatch(settings.path, [&](const std::string& bytes) {
    const std::vector<RuleViolation> violations = CheckBatch(bytes);
    for (const RuleViolation& violation : violations)
      fmt::print("batch {}: {}: {} ({})\n", batches, BatchRuleId(violation.rule), violation.where,
                 BatchRuleSentence(violation.rule));
    if (const absl::StatusOr<DecodedBatch> batch = DecodeBatch(bytes); batch.ok())
      summary.Add(*batch);
    ++batches;
    damaged += violations.empty() ? 0 : 1;
    return absl::OkStatus();
  });
  if (!status.ok())
    return Fail(settings.path,
                fmt::format("{} (after {} whole batches)", std::string(status.message()), batches));
  if (batches == 0) return Fail(settings.path, "holds no batch");
  fmt::print("{}{} batches, {} break a rule\n", FormatSummary(summary.summary()), batches, damaged);
  return damaged == 0 ? 0 : 1;
}

int RunConvert(const ConvertSettings& settings) {
  absl::StatusOr<RecordOutputs> outputs =
      RecordOutputs::Create({settings.output}, std::nullopt, settings.input_path);
  if (!outputs.ok()) {
    fmt::print(stderr, "stackray: {}\n", std::string(outputs.status().message()));
    return 1;
  }
  const absl::Status read = ForEachBatch(
      settings.input_path, [&](const std::string& bytes) { return outputs->Add(bytes); });
  const absl::Status written = outputs->Finish();
  if (!written.ok()) fmt::print(stderr, "stackray: {}\n", std::string(written.message()));
  if (!read.ok()) return Fail(settings.input_path, std::string(read.message()));
  if (written.ok()) fmt::print(stderr, "{}", FormatSummary(outputs->summary()));
  return written.ok() ? 0 : 1;
}

}  // namespace stackray
