// libs: stackray_decoded_batch stackray_formats stackray_reporter
// One batch: any bytes, and a valid batch that the input edits, so that seeds of other kinds reach
// the inside too. What decodes points nowhere outside itself; what obeys every rule decodes. What
// the walk opens can be read in every part, and files, page and summary find equal sums in it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "reporter/check.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/folded.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/page_profile.h"
#include "reporter/formats/pprof.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/profile_view.h"
#include "reporter/formats/speedscope.h"
#include "tests/reporter/decoded_batch.h"
#include "tests/reporter/golden_batch.h"

namespace {

void ReadOne(const std::string& bytes) {
  const absl::StatusOr<stackray::DecodedBatch> batch = stackray::DecodeBatch(bytes);
  const size_t violations = stackray::CheckBatch(bytes).size();
  if (violations > stackray::kMaxViolations) std::abort();
  if (!batch.ok()) {
    if (violations == 0) std::abort();
    return;
  }
  for (const stackray::DecodedSample& sample : batch->samples) {
    if (static_cast<size_t>(sample.resource) >= batch->resources.size()) std::abort();
    for (const int32_t frame : sample.frames)
      if (static_cast<size_t>(frame) >= batch->frames.size()) std::abort();
  }
}

void Write(const stackray::ProfileView& view) {
  for (const uint32_t type : view.UsedTypes()) {
    stackray::FoldedText(view, type);
    stackray::SpeedscopeJson(view, type, "");
  }
  stackray::PprofBytes(view);
  stackray::PageData(view, {});
}

void Walk(const std::string& bytes) {
  const absl::StatusOr<stackray::BatchWalk> walk = stackray::BatchWalk::Open(bytes);
  if (!walk.ok()) return;
  std::vector<uint32_t> stack;
  for (uint32_t i = 0; i < walk->stacks(); ++i) {
    walk->ReadStack(i, &stack);
    for (const uint32_t frame : stack)
      if (frame >= walk->frames()) std::abort();
  }
  stackray::ProfileView view({.max_bytes = 1 << 20});
  stackray::PageProfile page({.max_bytes = 1 << 16});
  stackray::SummaryCounter summary;
  view.Add(*walk);
  page.Add(*walk);
  summary.Add(*walk);
  if (view.types().size() != page.types().size()) std::abort();
  for (size_t i = 0; i < view.types().size(); ++i)
    if (view.types()[i].total != page.types()[i].total) std::abort();
  stackray::FormatSummary(summary.summary());
  Write(view);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  ReadOne(bytes);
  Walk(bytes);
  static const std::string golden = stackray::GoldenBatch();
  std::string edited = golden;
  for (size_t i = 0; i + 2 < size && i < 60; i += 3)
    edited[(data[i] << 8 | data[i + 1]) % edited.size()] = static_cast<char>(data[i + 2]);
  ReadOne(edited);
  Walk(edited);
  return 0;
}
