#include "agent/explain/sampled_code.h"

#include <string_view>

namespace stackray {
namespace {

std::string_view NameOf(const DecodedFrame& frame) {
  return frame.lines.empty() ? std::string_view() : std::string_view(frame.lines.front().function);
}

void CountFrame(const DecodedFrame& frame, const FrameKind& kind, int64_t count,
                SampledCode* code) {
  code->frames += count;
  if (!kind.named()) {
    if (code->unnamed.size() < SampledCode::kMaxUnnamed || code->unnamed.contains(frame.address))
      code->unnamed[frame.address] += count;
    return;
  }
  code->named += count;
  if (frame.lines.front().line != 0) code->with_lines += count;
  code->inlined += count * static_cast<int64_t>(frame.lines.size() - 1);
}

}  // namespace

void SampledProcess::Add(const DecodedBatch& batch) {
  for (const DecodedSample& sample : batch.samples) {
    // Of the frame that is nearest to the root so far.
    absl::btree_map<std::string, int64_t>* cuts = &other_cuts;
    StackFacts stack;
    for (const int32_t index : sample.frames) {
      const DecodedFrame& frame = batch.frames[static_cast<size_t>(index)];
      const FrameKind kind(frame.type, NameOf(frame), frame.marker);
      stack.Add(kind, sample.frames.size() == 1);
      switch (kind.is) {
        case FrameKind::kLost:
        case FrameKind::kOutside:
        case FrameKind::kNotThere: continue;
        case FrameKind::kUnknown:
          unknown_code += sample.count;
          cuts = &unknown_code_cuts;
          continue;
        case FrameKind::kCut: (*cuts)[frame.marker_reason] += sample.count; continue;
        case FrameKind::kKernel: CountFrame(frame, kind, sample.count, &kernel); continue;
        case FrameKind::kUser: break;
      }
      SampledCode& code =
          frame.mapping_path.empty() ? by_kind[frame.type] : by_executable[frame.mapping_path];
      CountFrame(frame, kind, sample.count, &code);
      cuts = &code.cuts;
    }
    AddStack(stack, sample.count, "", &sums);
  }
}

}  // namespace stackray
