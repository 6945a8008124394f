#include "agent/explain/sampled_code.h"

#include <vector>

#include "profile/sample_types.h"

namespace stackray {
namespace {

void CountFrame(const WalkedFrame& frame, const FrameKind& kind, int64_t count, SampledCode* code) {
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

void SampledProcess::Add(const BatchWalk& batch) {
  std::vector<WalkedFrame> frames(batch.frames());
  for (uint32_t i = 0; i < frames.size(); ++i) batch.ReadFrame(i, &frames[i]);
  bool on_cpu = false;
  std::vector<uint32_t> stack;
  batch.Visit([](const WalkedResource&) {},
              [&](const WalkedProfile& profile) {
                const SampleType* const type = FindSampleType(profile.type, profile.unit);
                on_cpu = type != nullptr && type->origin == SampleOrigin::kCpuClock;
              },
              [&](const WalkedSample& sample) {
                if (!on_cpu) return;
                batch.ReadStack(sample.stack, &stack);
                AddSample(frames, stack, sample.events);
              });
}

void SampledProcess::AddSample(const std::vector<WalkedFrame>& frames,
                               const std::vector<uint32_t>& stack, int64_t count) {
  // Of the frame that is nearest to the root so far.
  absl::btree_map<std::string, int64_t>* cuts = &other_cuts;
  StackFacts facts;
  for (const uint32_t index : stack) {
    const WalkedFrame& frame = frames[index];
    const FrameKind kind(frame);
    facts.Add(kind, stack.size() == 1);
    switch (kind.is) {
      case FrameKind::kLost:
      case FrameKind::kOutside:
      case FrameKind::kNotThere: continue;
      case FrameKind::kUnknown:
        unknown_code += count;
        cuts = &unknown_code_cuts;
        continue;
      case FrameKind::kCut: (*cuts)[std::string(frame.marker_reason)] += count; continue;
      case FrameKind::kKernel: CountFrame(frame, kind, count, &kernel); continue;
      case FrameKind::kUser: break;
    }
    SampledCode& code = frame.mapping_path.empty() ? by_kind[std::string(frame.type)]
                                                   : by_executable[std::string(frame.mapping_path)];
    CountFrame(frame, kind, count, &code);
    cuts = &code.cuts;
  }
  AddStack(facts, count, "", &sums);
}

}  // namespace stackray
