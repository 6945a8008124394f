// Which samples are wanted, by what their threads worked on: a trace, a span, labels. Files and the
// page use the same conditions.
//
// Input:   texts of a user, and batches of any origin.
// Threads: immutable once it is made. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_SAMPLE_FILTER_H_
#define STACKRAY_REPORTER_FORMATS_SAMPLE_FILTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/formats/batch_walk.h"

namespace stackray {

// What the ids of a sample's link are called where they stand among its labels (SampleSums).
inline constexpr std::string_view kTraceIdLabel = "trace_id";
inline constexpr std::string_view kSpanIdLabel = "span_id";

// Something that a sample has to say.
struct SampleCondition {
  std::string key;    // kTraceIdLabel, kSpanIdLabel, a label's name, or a whole attribute's.
  std::string value;  // Ids as lower-case hexadecimal digits.

  // By a label or attribute with this key: of a text, or of a number where the text is empty.
  bool IsMetBy(std::string_view label, std::string_view text, int64_t number) const;
  friend bool operator==(const SampleCondition&, const SampleCondition&) = default;
};

// Hexadecimal digits of any case, 32 of a trace and 16 of a span, not all 0. nullopt: others.
std::optional<SampleCondition> TraceCondition(std::string_view hex);
std::optional<SampleCondition> SpanCondition(std::string_view hex);
// "KEY=VALUE" with a KEY; the value may be empty.
std::optional<SampleCondition> LabelCondition(std::string_view text);

class SampleFilter {
 public:
  SampleFilter() = default;
  // All of `conditions` have to be met.
  explicit SampleFilter(std::vector<SampleCondition> conditions)
      : conditions_(std::move(conditions)) {}

  bool wants_all() const { return conditions_.empty(); }
  const std::vector<SampleCondition>& conditions() const { return conditions_; }
  bool Wants(const WalkedSample& sample) const;
  // "trace_id=…, route=/item/3", for messages.
  std::string Text() const;

 private:
  std::vector<SampleCondition> conditions_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_SAMPLE_FILTER_H_
