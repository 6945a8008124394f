// libs: stackray_selection stackray_formats stackray_reporter
// Parts of a batch and its groups, from any bytes: what comes out is a batch again, with the
// samples that were wanted and no others.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "reporter/formats/batch_walk.h"
#include "reporter/selection/batch_selection.h"

namespace {

using stackray::BatchWalk;
using stackray::SampleFilter;
using stackray::SampleGrouping;
using stackray::WalkedProfile;
using stackray::WalkedResource;
using stackray::WalkedSample;

size_t CountWanted(const BatchWalk& batch, const SampleFilter& filter) {
  size_t count = 0;
  batch.Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
              [&](const WalkedSample& sample) { count += filter.Wants(sample) ? 1 : 0; });
  return count;
}

void CheckParts(std::string_view bytes, const SampleFilter& filter) {
  const auto whole = BatchWalk::Open(bytes);
  const auto part = SelectSamples(bytes, filter);
  if (!part.ok()) return;
  if (!whole.ok()) std::abort();
  const auto walk = BatchWalk::Open(*part);
  if (!walk.ok()) std::abort();
  if (walk->samples() != CountWanted(*whole, filter)) std::abort();
  if (CountWanted(*walk, filter) != walk->samples()) std::abort();
}

void CheckGroups(std::string_view bytes, const SampleGrouping& grouping) {
  const auto whole = BatchWalk::Open(bytes);
  const auto grouped = GroupSamples(bytes, grouping);
  if (!grouped.ok()) return;
  const auto walk = BatchWalk::Open(*grouped);
  if (!whole.ok() || !walk.ok() || walk->samples() != whole->samples()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckParts(bytes, SampleFilter({*stackray::SpanCondition("0202020202020202")}));
  CheckParts(bytes, SampleFilter({*stackray::LabelCondition("a=b")}));
  for (const char* word : {"trace", "label:a"}) CheckGroups(bytes, *SampleGrouping::Parse(word));
  return 0;
}
