#include "agent/daemon/page_views.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/text.h"
#include "reporter/page/page_group.h"
#include "reporter/page/page_index_builder.h"
#include "reporter/selection/batch_selection.h"

namespace stackray {
namespace {

constexpr size_t kMostBuilderBytes = size_t{24} << 20;
constexpr std::string_view kGroupMark = "group ";  // No run's name begins so.
constexpr std::string_view kSamplesMarks = "?#";   // What PageSamples::Key() begins with.

struct Seconds {
  int64_t from = 0, to = 0;
  bool Covers(const HistoryRun& run) const {
    return run.start_ms / 1000 >= from && run.end_ms / 1000 < to;
  }
  bool Meets(const HistoryRun& run) const {
    return run.start_ms / 1000 < to && run.end_ms / 1000 >= from;
  }
};

// Which groups a question can be answered from in the place of their runs: those that no end of a
// time cuts. What tells threads apart needs their trees.
std::set<std::string, std::less<>> UsableGroups(const std::vector<HistoryRun>& runs,
                                                const PageQuestion& q) {
  std::set<std::string, std::less<>> usable;
  if (!q.processes.empty() || !q.threads.empty() || q.grouping == PageGrouping::kProcess ||
      q.grouping == PageGrouping::kThread || !q.requests.empty() || !q.by_request.empty())
    return usable;
  const Seconds range{q.from_ms / 1000, (q.to_ms + 999) / 1000};
  const Seconds chosen =
      q.chooses_time() ? Seconds{q.chosen_from_ms / 1000, (q.chosen_to_ms + 999) / 1000} : range;
  struct Count {
    size_t inside = 0, outside = 0;  // Of the chosen time.
  };
  std::map<std::string, Count, std::less<>> counts;
  for (const HistoryRun& run : runs) {
    if (!run.group_indexed || !range.Covers(run)) continue;
    counts[run.group].inside += chosen.Covers(run) ? 1 : 0;
    counts[run.group].outside += chosen.Meets(run) ? 0 : 1;
  }
  for (const auto& [group, count] : counts)
    if (count.inside == HistoryRun::kGroup || count.outside == HistoryRun::kGroup)
      usable.insert(group);
  return usable;
}

PageSamples SamplesOf(const PageQuestion& question) {
  std::vector<SampleCondition> conditions;
  for (const std::string& text : question.requests)
    if (std::optional<SampleCondition> condition = RequestCondition(text))
      conditions.push_back(*std::move(condition));
  return {.filter = SampleFilter(std::move(conditions)),
          .grouping = question.by_request.empty() ? std::nullopt
                                                  : SampleGrouping::Parse(question.by_request)};
}

// False: no sample of a batch with these bytes can be wanted. Ids and texts stand there as they
// are; a number that a label is compared with does not.
bool MayHaveSamples(std::string_view bytes, const SampleFilter& filter) {
  return std::ranges::all_of(filter.conditions(), [&](const SampleCondition& condition) {
    if (condition.key != kTraceIdLabel && condition.key != kSpanIdLabel) return true;
    return bytes.find(absl::HexStringToBytes(condition.value)) != bytes.npos;
  });
}

// f(the bytes of a batch) of the wanted samples of one, if there are any.
void VisitWanted(std::string_view bytes, const PageSamples& samples,
                 absl::FunctionRef<void(std::string_view)> f) {
  if (!MayHaveSamples(bytes, samples.filter)) return;
  absl::StatusOr<std::string> wanted =
      samples.filter.wants_all() ? std::string(bytes) : SelectSamples(bytes, samples.filter);
  if (wanted.ok() && samples.grouping && !wanted->empty())
    wanted = GroupSamples(*wanted, *samples.grouping);
  if (wanted.ok() && !wanted->empty()) f(*wanted);
}

}  // namespace

std::string PageSamples::Key() const {
  std::string key;
  for (const SampleCondition& condition : filter.conditions())
    AppendAll(&key, "?", condition.key, "=", condition.value);
  if (grouping) AppendAll(&key, "#", grouping->label().empty() ? "" : "label:", grouping->name());
  return key;
}

absl::StatusOr<std::vector<std::string>> IndexesOfRun(History& history, const HistoryRun& run,
                                                      const std::stop_token& stop,
                                                      const PageSamples& samples) {
  std::vector<std::string> out;
  auto builder = std::make_unique<PageIndexBuilder>();
  const auto add = [&](std::string_view bytes) {
    const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(bytes);
    if (batch.ok()) builder->Add(*batch);
    if (builder->bytes() > kMostBuilderBytes) {
      out.push_back(builder->Finish());
      builder = std::make_unique<PageIndexBuilder>();
    }
  };
  history.Visit(run, [&](std::string_view bytes) {
    if (samples.all_as_they_are()) {
      add(bytes);
    } else {
      VisitWanted(bytes, samples, add);
    }
    return !stop.stop_requested();
  });
  if (stop.stop_requested()) return absl::CancelledError("nobody waits for it");
  if (!builder->rows().empty() || out.empty()) out.push_back(builder->Finish());
  return out;
}

namespace {

// The index of a group of runs that have theirs. Errors: those of MergeIndexes(), and of files.
absl::StatusOr<std::string> IndexOfGroup(History& history, std::span<const HistoryRun> runs,
                                         const std::stop_token& stop) {
  PageStore store;
  for (const HistoryRun& run : runs) {
    absl::StatusOr<std::shared_ptr<const MappedFile>> file = history.Index(run);
    if (!file.ok()) return file.status();
    absl::StatusOr<PageIndex::Ptr> index = PageIndex::Open((*file)->bytes(), *file, store.tables());
    if (!index.ok()) return index.status();
    store.Add(*std::move(index));
  }
  return MergeIndexes(store.indexes(), *store.tables(), stop);
}

bool IndexOneGroup(History& history, const std::vector<HistoryRun>& runs,
                   const std::stop_token& stop, std::set<std::string>* several) {
  for (size_t i = 0; i + HistoryRun::kGroup <= runs.size(); ++i) {
    const std::span group(&runs[i], HistoryRun::kGroup);
    if (group[0].group_indexed || group[0].group != group[0].name ||
        several->contains(runs[i].name))
      continue;
    const bool all = std::ranges::all_of(
        group, [&](const HistoryRun& run) { return run.indexed && run.group == group[0].group; });
    if (!all) continue;
    const absl::StatusOr<std::string> made = IndexOfGroup(history, group, stop);
    if (absl::IsCancelled(made.status())) return false;
    if (made.ok()) return history.KeepGroupIndex(group[0].group, *made).ok();
    several->insert(group[0].name);
  }
  return false;
}

}  // namespace

bool IndexOneRun(History& history, const std::stop_token& stop, std::set<std::string>* several) {
  const std::vector<HistoryRun> runs = history.Runs(0, INT64_MAX);
  std::erase_if(*several, [&](const std::string& name) {
    return std::ranges::find(runs, name, &HistoryRun::name) == runs.end();
  });
  for (const HistoryRun& run : runs) {
    if (!run.whole || run.indexed || several->contains(run.name)) continue;
    const absl::StatusOr<std::vector<std::string>> made = IndexesOfRun(history, run, stop);
    if (!made.ok()) return false;
    if (made->size() == 1) return history.KeepIndex(run, (*made)[0]).ok();
    several->insert(run.name);
  }
  return IndexOneGroup(history, runs, stop, several);
}

bool PageViews::OpenPart(Part* part) {
  const std::string_view bytes = part->file != nullptr ? part->file->bytes() : *part->bytes;
  const std::shared_ptr<const void> owner =
      part->file != nullptr ? std::shared_ptr<const void>(part->file) : part->bytes;
  absl::StatusOr<PageIndex::Ptr> opened = PageIndex::Open(bytes, owner, store_->tables());
  if (!opened.ok()) return false;
  part->index = *std::move(opened);
  return true;
}

bool PageViews::OpenKept(History& history, const HistoryRun& run, Run* out) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = history.Index(run);
  if (!file.ok()) return false;
  Part part{.file = *std::move(file), .bytes = nullptr, .index = nullptr};
  if (!OpenPart(&part)) return false;
  out->parts.push_back(std::move(part));
  return true;
}

absl::StatusOr<PageViews::Run> PageViews::OpenRun(History& history, const HistoryRun& run,
                                                  const PageSamples& samples,
                                                  const std::stop_token& stop) {
  Run out;
  const bool all = samples.all_as_they_are();
  if (all && OpenKept(history, run, &out)) return out;
  absl::StatusOr<std::vector<std::string>> made = IndexesOfRun(history, run, stop, samples);
  if (!made.ok()) return made.status();
  if (all && run.whole && made->size() == 1 && history.KeepIndex(run, (*made)[0]).ok() &&
      OpenKept(history, run, &out))
    return out;
  for (std::string& bytes : *made) {
    Part part{.file = nullptr,
              .bytes = std::make_shared<const std::string>(std::move(bytes)),
              .index = nullptr};
    if (OpenPart(&part)) out.parts.push_back(std::move(part));
  }
  return out;
}

PageViews::Run* PageViews::OpenGroup(History& history, const std::string& group) {
  const std::string key = Concat(kGroupMark, group);
  if (const auto found = runs_.find(key); found != runs_.end() && !found->second.parts.empty())
    return &found->second;
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = history.GroupIndex(group);
  if (!file.ok()) return nullptr;
  Part part{.file = *std::move(file), .bytes = nullptr, .index = nullptr};
  if (!OpenPart(&part)) return nullptr;
  Run& run = runs_[key];
  run.parts.push_back(std::move(part));
  return &run;
}

absl::Status PageViews::Open(History& history, const std::vector<HistoryRun>& runs,
                             const PageQuestion& question, const std::stop_token& stop) {
  store_->Clear();
  std::map<std::string, Run*, std::less<>> groups;
  for (const std::string& group : UsableGroups(runs, question))
    if (Run* const run = OpenGroup(history, group)) groups.emplace(group, run);
  const PageSamples samples = SamplesOf(question);
  const std::string wanted = samples.Key();
  size_t bytes = 0;  // Of what is in memory alone.
  const auto use = [&](Run* run) {
    if (run->used == question_) return;
    run->used = question_;
    for (const Part& part : run->parts) {
      store_->Add(part.index);
      bytes += part.bytes != nullptr ? part.bytes->size() : 0;
    }
  };
  all_ = runs.size();
  for (const HistoryRun& run : runs) {
    ++done_;
    if (bytes + store_->tables()->bytes() > most_question_bytes_)
      return absl::ResourceExhaustedError("too many different stacks: choose a shorter time");
    if (const auto group = groups.find(run.group); group != groups.end()) {
      use(group->second);
      continue;
    }
    const std::string name = run.name + wanted;
    auto found = runs_.find(name);
    if (found == runs_.end()) {
      absl::StatusOr<Run> opened = OpenRun(history, run, samples, stop);
      if (!opened.ok()) return opened.status();
      ForgetParts(run);
      found = runs_.emplace(name, *std::move(opened)).first;
    }
    use(&found->second);
  }
  return absl::OkStatus();
}

// What the run takes the place of: the run with fewer batches, or the parts of a segment.
void PageViews::ForgetParts(const HistoryRun& run) {
  const std::string prefix = run.name.substr(0, run.name.find('+')) + (run.whole ? "/" : "+");
  for (auto part = runs_.lower_bound(prefix);
       part != runs_.end() && part->first.starts_with(prefix);)
    part = runs_.erase(part);
}

// True: there were some. What the last answer was made of keeps its indexes, so it goes with them.
bool PageViews::DropRunsThatAreGone(History& history) {
  if (runs_.empty()) return false;
  std::set<std::string> there;
  for (HistoryRun& run : history.Runs(0, INT64_MAX)) {
    if (run.group_indexed) there.insert(Concat(kGroupMark, run.group));
    there.insert(std::move(run.name));
  }
  const size_t dropped = std::erase_if(runs_, [&](const auto& run) {
    return !run.first.starts_with('@') &&  // A capture's.
           !there.contains(run.first.substr(0, run.first.find_first_of(kSamplesMarks)));
  });
  if (dropped > 0) memory_.Forget();
  return dropped > 0;
}

// Gives up the names that only runs have that are gone.
void PageViews::RenewNames() {
  memory_.Forget();
  store_ = std::make_unique<PageStore>();
  for (auto& [name, run] : runs_)
    std::erase_if(run.parts, [&](Part& part) { return !OpenPart(&part); });
  names_bytes_ = store_->tables()->bytes();
}

// What this question did not need, once it is too much; names of what is gone go with it. Names
// that came with runs that are gone go once there are a quarter more than there need be: opening
// all indexes again takes milliseconds.
void PageViews::DropUnused() {
  constexpr size_t kFewNames = size_t{1} << 20;
  const size_t names = store_->tables()->bytes();
  size_t bytes = names;
  for (const auto& [name, run] : runs_)
    for (const Part& part : run.parts)
      bytes += part.index->own_bytes() + (part.bytes != nullptr ? part.bytes->size() : 0);
  bool renew = names > names_bytes_ + names_bytes_ / 4 + kFewNames;
  if (bytes > kMostBytes || runs_.size() > 4096)
    renew |=
        std::erase_if(runs_, [&](const auto& run) { return run.second.used != question_; }) > 0;
  if (renew) RenewNames();
}

void PageViews::DropGone(History& history) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) DropRunsThatAreGone(history);
}

absl::StatusOr<std::string> PageViews::Answer(History& history, const PageQuestion& question,
                                              const PageAnswerOptions& options,
                                              const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  empty_ = false;
  ++question_;
  done_ = all_ = 0;
  const auto is_made = absl::MakeCleanup([this] { all_ = 0; });
  const std::vector<HistoryRun> runs = history.Runs(question.from_ms, question.to_ms);
  std::string key = options.source_text ? "with text" : "";
  for (const HistoryRun& run : runs) key.append(run.name);
  for (const Kept& kept : answers_)
    if (kept.question == question && kept.key == key) return kept.gzip;
  if (absl::Status opened = Open(history, runs, question, stop); !opened.ok()) {
    if (absl::IsResourceExhausted(opened)) ForgetRuns();
    return opened;
  }
  absl::StatusOr<GzipStream> gzip = GzipStream::Create(1);
  if (!gzip.ok()) return gzip.status();
  const absl::Status written = WritePageAnswer(
      *store_, question, options, stop, [&](std::string_view part) { return gzip->Add(part); },
      &memory_);
  store_->Clear();
  for (const auto& [name, run] : runs_)
    for (const Part& part : run.parts)
      if (part.file != nullptr) part.file->DropPages();
  if (question.capture.empty()) DropRunsThatAreGone(history);
  DropUnused();
  if (!written.ok()) return written;
  absl::StatusOr<std::string> finished = gzip->Finish();
  if (!finished.ok()) return finished.status();
  std::string answer = *std::move(finished);
  if (answer.size() <= kMostAnswerBytes / kMostAnswers)
    answers_.push_back({question, std::move(key), answer});
  if (answers_.size() > kMostAnswers) answers_.pop_front();
  return answer;
}

void PageViews::Forget() {
  const std::lock_guard lock(mutex_);
  answers_.clear();
  empty_ = true;
  ForgetRuns();
}

void PageViews::ForgetRuns() {
  runs_.clear();
  memory_.Forget();
  store_ = std::make_unique<PageStore>();
  names_bytes_ = 0;
}

}  // namespace stackray
