#include "agent/file_commands.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/file_memory.h"
#include "agent/input_file.h"
#include "agent/record/record_outputs.h"
#include "agent/say.h"
#include "profile/sample_types.h"
#include "reporter/check.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/text.h"
#include "reporter/selection/batch_selection.h"

namespace stackray {
namespace {

// The batch with the samples that are wanted; empty: there are none.
absl::StatusOr<std::string> Wanted(const std::string& bytes, const SampleFilter& filter) {
  if (filter.wants_all()) return bytes;
  return SelectSamples(bytes, filter);
}

int Fail(const std::string& text) {
  SayError(text);
  return 1;
}

int Fail(const absl::Status& status) { return Fail(std::string(status.message())); }

// What ended the reading of a file; one without any batch says all of it itself.
std::string WhyBroken(const InputFile& input, const absl::Status& status) {
  if (input.batches() == 0) return std::string(status.message());
  return fmt::format("{}: {} (after {} whole batches)", input.name(), std::string(status.message()),
                     input.batches());
}

// A line for each type of another writer.
std::string NotesOnTypes(const ProfileSummary& sums) {
  std::string text;
  const auto note = [&](const ProfileSummary& part) {
    if (part.samples > 0 && FindSampleType(part.type, part.unit) == nullptr)
      AppendAll(&text, "note: ", PrintableText(part.type), "/", PrintableText(part.unit),
                " is a type of another writer, its values are taken as they are\n");
  };
  note(sums);
  for (const ProfileSummary& other : sums.others) note(other);
  return text;
}

}  // namespace

int RunCheck(const CheckSettings& settings) {
  const absl::StatusOr<std::unique_ptr<InputFile>> input = InputFile::Open(settings.path);
  if (!input.ok()) return Fail(input.status());
  int batches = 0, damaged = 0;
  SummaryCounter summary;
  const auto check = [&](const std::string& bytes) -> absl::Status {
    const std::vector<RuleViolation> violations = CheckBatch(bytes);
    for (const RuleViolation& violation : violations)
      fmt::print("batch {}: {}: {} ({})\n", batches, BatchRuleId(violation.rule),
                 PrintableText(violation.where), BatchRuleSentence(violation.rule));
    if (const absl::StatusOr<std::string> wanted = Wanted(bytes, settings.filter); wanted.ok())
      if (const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(*wanted); batch.ok())
        summary.Add(*batch);
    ++batches;
    damaged += violations.empty() ? 0 : 1;
    return absl::OkStatus();
  };
  const absl::Status status =
      WithinFileMemory(settings.path, [&] { return (*input)->ForEachBatch(check); });
  if (!status.ok()) return Fail(WhyBroken(**input, status));
  const ProfileSummary sums = summary.summary();
  fmt::print("{}{}{} batches, {} break a rule\n", FormatSummary(sums), NotesOnTypes(sums), batches,
             damaged);
  return damaged == 0 ? 0 : 1;
}

int RunConvert(const ConvertSettings& settings) {
  const absl::StatusOr<std::unique_ptr<InputFile>> input = InputFile::Open(settings.input_path);
  if (!input.ok()) return Fail(input.status());
  std::optional<RecordOutputs> outputs;
  // Made when there is something to put into them.
  const auto add = [&](const std::string& bytes) -> absl::Status {
    const absl::StatusOr<std::string> wanted = Wanted(bytes, settings.filter);
    if (!wanted.ok()) return wanted.status();
    if (wanted->empty() && !settings.filter.wants_all()) return absl::OkStatus();
    if (!outputs) {
      absl::StatusOr<RecordOutputs> made = RecordOutputs::Create(
          settings.outputs, std::nullopt, (*input)->name(), ViewBytesOf(settings.input_path));
      if (!made.ok()) return made.status();
      outputs.emplace(*std::move(made));
      if (settings.type) outputs->SetType(*settings.type, RecordOutputs::MissingType::kIsAnError);
      if (const auto grouping = SampleGrouping::Parse(settings.group_by); grouping)
        outputs->GroupBy(*grouping);
    }
    return outputs->Add(*wanted);
  };
  const absl::Status read =
      WithinFileMemory(settings.input_path, [&] { return (*input)->ForEachBatch(add); });
  if (!outputs && read.ok())
    return Fail(fmt::format("{} has no sample of {}", (*input)->name(), settings.filter.Text()));
  if (!outputs) return Fail(read);
  const absl::Status written = WithinFileMemory(settings.input_path, [&] {
    return outputs->Finish(read.ok() ? RecordOutputs::OldFiles::kReplaced
                                     : RecordOutputs::OldFiles::kKept);
  });
  if (!read.ok()) SayError(WhyBroken(**input, read));
  if (!written.ok()) SayError(std::string(written.message()));
  if (!read.ok() || !written.ok()) return 1;
  fmt::print(stderr, "{}{}", FormatSummary(outputs->summary()), outputs->GroupLine());
  return 0;
}

}  // namespace stackray
