// From the context of a sample's record to what a batch says of it: the span, and labels.
//
// Go's labels and custom-labels have no place for ids: their labels trace_id and span_id, as
// OpenTelemetry's libraries write them, make the span.
//
// Input:   the process's bytes, so nothing in them is trusted: a key that is no valid text is left
//          out, a value is cut back to its valid part, and what was cut is marked.
// Memory:  one sample's labels.
// Threads: one at a time.
#ifndef STACKRAY_AGENT_THREAD_CONTEXT_SAMPLE_CONTEXT_H_
#define STACKRAY_AGENT_THREAD_CONTEXT_SAMPLE_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/raw_sample.h"
#include "profile/sample.h"
#include "reporter/attribute_names.h"

namespace stackray {

struct LabelChoice {
  bool labels = false;             // Else ids alone.
  std::vector<std::string> names;  // The labels that are kept; "*": all.
};

struct SampleContext {
  std::optional<SpanContext> span;
  std::span<const SampleLabel> labels;  // Each name once.
  bool knows_all_keys = true;           // Else a label has an index beyond `keys`.
};

class SampleContextReader {
 public:
  static constexpr size_t kMostLabels = kMostSampleLabels;

  explicit SampleContextReader(LabelChoice choice) : choice_(std::move(choice)) {}

  // `keys`: ThreadSchema::keys of the process. Valid until the next call.
  SampleContext Read(const ThreadContextPart& context, std::span<const std::string> keys);

 private:
  void TakeIndexed(std::span<const uint8_t> labels, std::span<const std::string> keys,
                   bool* knows_all_keys);
  void TakeNamed(std::span<const uint8_t> labels, SpanContext* span);
  void Take(std::string_view key, std::string_view value, bool last_wins);
  bool IsKept(std::string_view key) const;

  const LabelChoice choice_;
  struct Label {
    std::string name;
    std::string_view value;
  };
  std::vector<Label> taken_;
  std::vector<SampleLabel> labels_;
  bool is_cut_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_THREAD_CONTEXT_SAMPLE_CONTEXT_H_
