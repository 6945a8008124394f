// Sealed batches in, result files out: streamed formats as the batches come, the others at the end,
// all from the same bytes.
//
// Memory:  one ProfileView when any format needs it (ViewOptions::max_bytes).
// Threads: one.
// Errors:  one file's error costs that file alone; the others are written. Without Finish() no file
//          is touched.
#ifndef STACKRAY_AGENT_RECORD_RECORD_OUTPUTS_H_
#define STACKRAY_AGENT_RECORD_RECORD_OUTPUTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/record/output_file.h"
#include "agent/settings/settings.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/sample_grouping.h"

namespace stackray {

class RecordOutputs {
 public:
  // `view_bytes`: what samples may take. Errors: as ResultFile::Create, for the first file that
  // cannot be made.
  static absl::StatusOr<RecordOutputs> Create(const std::vector<OutputFile>& outputs,
                                              const std::optional<SudoUser>& owner,
                                              std::string title,
                                              size_t view_bytes = ViewOptions().max_bytes);

  // `bytes` is one sealed batch. Errors: DataLoss (not a batch); those of files come from Finish().
  absl::Status Add(std::string_view bytes);

  // Writes what is left and puts the files in their places. Every file that failed is in the text.
  // kKept: the input broke off, so what was there before stays, and only new files are made.
  enum class OldFiles { kReplaced, kKept };
  absl::Status Finish(OldFiles old_files = OldFiles::kReplaced);

  // When the recording began and ended: batches only know when there were samples.
  void SetTime(int64_t start_unix_ns, int64_t end_unix_ns);
  // Of the formats that hold a single type, by its name in settings or in batches; without it
  // on-CPU samples, or what there is of others. Where there are no samples of it such a file is
  // empty, or fails and says of which there are.
  enum class MissingType { kIsEmpty, kIsAnError };
  void SetType(std::string_view name, MissingType missing) {
    type_ = name;
    missing_type_ = missing;
  }
  // Formats with whole stacks have a frame of each sample's group. Before the first Add().
  void GroupBy(const SampleGrouping& grouping) {
    grouping_ = grouping;
    groups_.emplace(grouping);
  }
  // How many samples each group has, a line for the terminal; empty without grouping.
  std::string GroupLine() const { return groups_ ? groups_->Line() : std::string(); }
  // Said by the page in the place of samples, where there is none.
  void SetNote(std::string note) { note_ = std::move(note); }
  ProfileSummary summary() const;
  // What a page that was written leaves out, in a sentence; empty: nothing.
  const std::string& dropped() const { return dropped_; }
  // Files that were written whole, in the order asked for.
  std::vector<std::string> written() const;

 private:
  struct Result {
    ResultFile file;
    absl::Status status;
    bool written = false;
  };
  RecordOutputs(std::vector<Result> results, std::string title, size_t view_bytes);
  absl::Status Stream(Result& result, std::string_view bytes);
  absl::Status WriteWhole(Result& result);
  absl::Status WriteSingleType(Result& result);
  void Complete(Result& result);
  absl::Status AddGrouped(std::string_view bytes);

  std::vector<Result> results_;
  absl::StatusOr<uint32_t> SingleType() const;  // Its number in view_.

  std::optional<std::string> type_;
  MissingType missing_type_ = MissingType::kIsEmpty;
  std::string title_, note_, dropped_;
  bool needs_view_ = false;
  ProfileView view_;
  SummaryCounter summary_;
  std::optional<SampleGrouping> grouping_;
  std::optional<GroupCounts> groups_;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0;  // 0: not measured.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_RECORD_OUTPUTS_H_
