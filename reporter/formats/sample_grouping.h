// By what samples are put together beside their process: a trace, a span, a label, …
//
// Input:   a user's word, and batches of any origin.
// Threads: immutable once it is made. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_SAMPLE_GROUPING_H_
#define STACKRAY_REPORTER_FORMATS_SAMPLE_GROUPING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/batch_walk.h"

namespace stackray {

class SampleGrouping {
 public:
  // "trace", "span", "thread", "service", "container", "user" or "label:KEY". nullopt: others.
  static std::optional<SampleGrouping> Parse(std::string_view word);

  // What the groups are called: "trace", …, or the label's name.
  const std::string& name() const { return name_; }
  // The label's name where it groups by one; else empty.
  std::string_view label() const { return by_ == By::kLabel ? name_ : std::string_view(); }
  // By what a thread works on: a trace, a span or a label.
  bool is_of_request() const { return by_ == By::kTrace || by_ == By::kSpan || by_ == By::kLabel; }
  // "route=/item/3"; "[no route]" of a sample that has none.
  std::string GroupOf(const WalkedResource& resource, const WalkedSample& sample) const;

 private:
  enum class By { kTrace, kSpan, kThread, kService, kContainer, kUser, kLabel };
  struct Word {
    std::string_view word;
    By by;
  };
  static const Word kWords[];

  SampleGrouping(By by, std::string name) : by_(by), name_(std::move(name)) {}
  std::string ValueOf(const WalkedResource& resource, const WalkedSample& sample) const;

  By by_;
  std::string name_;
};

// How many events each group has, for the terminal.
// Memory: kMostGroups of them at most; later ones are counted together.
class GroupCounts {
 public:
  static constexpr size_t kMostGroups = 100'000;

  explicit GroupCounts(SampleGrouping grouping) : grouping_(std::move(grouping)) {}
  // Of the first type that has any.
  void Add(const BatchWalk& batch);
  // "by route: route=/item/3 1234 (41.1 %), … and 12 more"; a line, or empty without samples.
  std::string Line() const;

 private:
  SampleGrouping grouping_;
  absl::flat_hash_map<std::string, int64_t> counts_;
  std::string type_;  // Of the samples that are counted.
  int64_t total_ = 0, others_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_SAMPLE_GROUPING_H_
