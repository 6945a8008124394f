// libs: stackray_sample_context stackray_reporter
// What a sample says of its thread's work, from any bytes behind its record: names and values are
// text, each name comes once, and there are few of them.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/thread_context/sample_context.h"
#include "reporter/valid_text.h"

namespace {

using stackray::SampleContext;
using stackray::SampleContextReader;

void Check(const SampleContext& context, bool wants_labels) {
  if (!wants_labels && !context.labels.empty()) std::abort();
  if (context.labels.size() > SampleContextReader::kMostLabels + 1) std::abort();
  std::set<std::string_view> names;
  for (const auto& [name, value] : context.labels) {
    if (!names.insert(name).second) std::abort();
    if (stackray::ValidUtf8Prefix(name) != name.size()) std::abort();
    if (stackray::ValidUtf8Prefix(value) != value.size()) std::abort();
    if (name == stackray::kLabelsCutAttribute) continue;
    if (name != *names.rbegin()) std::abort();  // In order, the mark behind them.
    if (!name.starts_with(stackray::kLabelPrefix)) std::abort();
    if (name.size() == stackray::kLabelPrefix.size()) std::abort();
  }
  if (!context.span) return;
  if (context.span->trace_id == decltype(context.span->trace_id){}) std::abort();
  if (context.span->span_id == decltype(context.span->span_id){}) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> words((size + 7) / 8);
  if (size > 0) std::memcpy(words.data(), data, size);
  const auto part =
      stackray::DecodeContext({reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8});
  if (!part) return 0;
  const std::vector<std::string> keys = {"route", "", "tenant", "span_id"};
  for (const bool wants_labels : {false, true}) {
    SampleContextReader reader({.labels = wants_labels, .names = {"*"}});
    Check(reader.Read(*part, keys), wants_labels);
    Check(reader.Read(*part, {}), wants_labels);
  }
  return 0;
}
