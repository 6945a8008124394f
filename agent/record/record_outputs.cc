#include "agent/record/record_outputs.h"

#include <unistd.h>

#include <utility>

#include "reporter/batch_file.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/folded.h"
#include "reporter/formats/otlp_json.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/page_fit.h"
#include "reporter/formats/pprof.h"
#include "reporter/formats/speedscope.h"
#include "reporter/formats/text.h"
#include "reporter/selection/batch_selection.h"
#include "web/web_page.h"

namespace stackray {
namespace {

// Of this host, which is the one that was recorded where the time is known.
int OnlineCpus() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

bool IsStreamed(OutputFormat format) {
  return format == OutputFormat::kOtlp || format == OutputFormat::kOtlpJson;
}

}  // namespace

RecordOutputs::RecordOutputs(std::vector<Result> results, std::string title, size_t view_bytes)
    : results_(std::move(results)), title_(std::move(title)), view_({.max_bytes = view_bytes}) {
  for (const Result& result : results_) needs_view_ |= !IsStreamed(result.file.output().format);
}

absl::StatusOr<RecordOutputs> RecordOutputs::Create(const std::vector<OutputFile>& outputs,
                                                    const std::optional<SudoUser>& owner,
                                                    std::string title, size_t view_bytes) {
  std::vector<Result> results;
  for (const OutputFile& output : outputs) {
    absl::StatusOr<ResultFile> file = ResultFile::Create(output, owner);
    if (!file.ok()) return file.status();
    results.push_back({*std::move(file), absl::OkStatus(), false});
  }
  return RecordOutputs(std::move(results), std::move(title), view_bytes);
}

absl::Status RecordOutputs::Stream(Result& result, std::string_view bytes) {
  if (result.file.output().format == OutputFormat::kOtlp)
    return result.file.Explain(BatchFileWriter(result.file.fd()).Append(bytes));
  absl::StatusOr<std::string> json = OtlpJson(bytes);
  if (!json.ok()) return json.status();
  json->push_back('\n');
  return result.file.Write(*json);
}

absl::Status RecordOutputs::Add(std::string_view bytes) {
  for (Result& result : results_) {
    if (IsStreamed(result.file.output().format) && result.status.ok())
      result.status = Stream(result, bytes);
  }
  const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(bytes);
  if (!batch.ok()) return batch.status();
  summary_.Add(*batch);
  if (groups_) groups_->Add(*batch);
  if (needs_view_ && grouping_) return AddGrouped(bytes);
  if (needs_view_) view_.Add(*batch);
  return absl::OkStatus();
}

absl::Status RecordOutputs::AddGrouped(std::string_view bytes) {
  const absl::StatusOr<std::string> grouped = GroupSamples(bytes, *grouping_);
  if (!grouped.ok()) return grouped.status();
  const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(*grouped);
  if (!batch.ok()) return batch.status();
  view_.Add(*batch);
  return absl::OkStatus();
}

void RecordOutputs::SetTime(int64_t start_unix_ns, int64_t end_unix_ns) {
  start_unix_ns_ = start_unix_ns;
  end_unix_ns_ = end_unix_ns;
  if (needs_view_ && end_unix_ns != 0) view_.CoverTime(start_unix_ns, end_unix_ns);
}

ProfileSummary RecordOutputs::summary() const {
  ProfileSummary summary = summary_.summary();
  if (end_unix_ns_ == 0) return summary;
  summary.start_unix_ns = start_unix_ns_;
  summary.end_unix_ns = end_unix_ns_;
  return summary;
}

absl::StatusOr<uint32_t> RecordOutputs::SingleType() const {
  const std::optional<uint32_t> type = type_ ? view_.FindType(*type_) : std::nullopt;
  if (type && view_.types()[*type].total > 0) return *type;
  if (!type_) return view_.DefaultType();
  std::string there_are;
  for (const uint32_t used : view_.UsedTypes()) {
    const TypeSums& sums = view_.types()[used];
    const SampleType* row = FindSampleType(sums.type, sums.unit);
    there_are += Concat(there_are.empty() ? "" : ", ",
                        row != nullptr ? std::string(row->name) : PrintableText(sums.type));
  }
  return absl::NotFoundError(Concat("no samples of ", PrintableText(*type_),
                                    there_are.empty() ? "" : "; there are of ", there_are));
}

absl::Status RecordOutputs::WriteSingleType(Result& result) {
  const auto sink = [&](std::string_view part) { return result.file.Write(part); };
  static const ProfileView nothing;
  const absl::StatusOr<uint32_t> type = SingleType();
  if (!type.ok() && missing_type_ == MissingType::kIsAnError)
    return absl::NotFoundError(
        Concat(result.file.output().path, ": ", std::string(type.status().message())));
  const ProfileView& view = type.ok() ? view_ : nothing;
  return result.file.output().format == OutputFormat::kFolded
             ? WriteFolded(view, type.value_or(0), sink)
             : WriteSpeedscope(view, type.value_or(0), title_, sink);
}

absl::Status RecordOutputs::WriteWhole(Result& result) {
  switch (result.file.output().format) {
    case OutputFormat::kFolded:
    case OutputFormat::kSpeedscope: return WriteSingleType(result);
    case OutputFormat::kPprof: {
      absl::StatusOr<std::string> pprof = PprofGzip(view_);
      return pprof.ok() ? result.file.Write(*pprof) : pprof.status();
    }
    case OutputFormat::kHtml: {
      absl::StatusOr<FittedPage> page = FitPage(WebPage(), view_,
                                                {.title = title_,
                                                 .summary = summary(),
                                                 .note = note_,
                                                 .cpus = end_unix_ns_ == 0 ? 0 : OnlineCpus()});
      if (!page.ok()) return page.status();
      dropped_ = page->dropped;
      return result.file.Write(page->html);
    }
    case OutputFormat::kOtlp:
    case OutputFormat::kOtlpJson: return absl::OkStatus();
  }
  return absl::InternalError("unknown format");
}

void RecordOutputs::Complete(Result& result) {
  if (result.status.ok()) result.status = WriteWhole(result);
  if (result.status.ok()) result.status = result.file.Commit();
  result.written = result.status.ok();
  if (result.written || !IsStreamed(result.file.output().format)) return;
  const std::string part = result.file.KeepPart();
  if (!part.empty())
    result.status =
        absl::UnavailableError(Concat(std::string(result.status.message()), " (", part, ")"));
}

absl::Status RecordOutputs::Finish(OldFiles old_files) {
  std::string failures;
  for (Result& result : results_) {
    if (old_files == OldFiles::kKept && result.file.replaces())
      result.status = absl::CancelledError(Concat(result.file.output().path, " stays as it was"));
    else
      Complete(result);
    if (result.written) continue;
    if (!failures.empty()) failures += "\n";
    failures += std::string(result.status.message());
  }
  return failures.empty() ? absl::OkStatus() : absl::UnavailableError(failures);
}

std::vector<std::string> RecordOutputs::written() const {
  std::vector<std::string> paths;
  for (const Result& result : results_) {
    if (result.written && !result.file.output().is_standard_output())
      paths.push_back(result.file.output().path);
  }
  return paths;
}

}  // namespace stackray
