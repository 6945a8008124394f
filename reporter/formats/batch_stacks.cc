#include "reporter/formats/batch_stacks.h"

#include <algorithm>
#include <string>

#include "reporter/formats/intern.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr uint32_t kNotAsked = kNoId - 1;

}  // namespace

BatchStacks::BatchStacks(const BatchWalk& batch)
    : chains_(batch.frames(), Chain{kNotAsked, 0}),
      kinds_(batch.frames(), FrameKind("", "", MarkerKind::kNone)),
      facts_(batch.stacks()) {}

void BatchStacks::Forget() {
  std::ranges::fill(chains_, Chain{kNotAsked, 0});
  frame_ids_.clear();
}

void BatchStacks::Read(const BatchWalk& batch, uint32_t stack, Intern intern,
                       absl::FunctionRef<void(uint32_t frame)> enter) {
  batch.ReadStack(stack, &stack_);
  StackFacts facts;
  for (auto location = stack_.rbegin(); location != stack_.rend(); ++location) {
    if (chains_[*location].first == kNotAsked) ReadLocation(batch, *location, intern);
    facts.Add(kinds_[*location], stack_.size() == 1);
    const Chain chain = chains_[*location];
    for (uint32_t i = chain.first; i < chain.first + chain.count; ++i) enter(frame_ids_[i]);
  }
  facts_[stack] = facts;
}

// As CallTree does it from a view.
void BatchStacks::ReadLocation(const BatchWalk& batch, uint32_t location, Intern intern) {
  batch.ReadFrame(location, &frame_);
  kinds_[location] = FrameKind(frame_);
  const bool nameless = frame_.lines.size() == 1 && frame_.lines[0].function.empty();
  if (frame_.lines.empty() || nameless) frame_.lines.assign(1, {});
  const auto first = static_cast<uint32_t>(frame_ids_.size());
  const bool has_file = !frame_.mapping_path.empty();
  for (size_t i = frame_.lines.size(); i-- > 0;) {
    const WalkedLine& line = frame_.lines[i];
    const std::string address =
        line.function.empty()
            ? AddressName(frame_.mapping_path, frame_.address, frame_.function_start)
            : std::string();
    frame_ids_.push_back(
        intern({.name = line.function.empty() ? address : line.function,
                .type = frame_.type,
                .file = has_file ? PathBaseName(frame_.mapping_path) : line.file,
                .source = line.file,
                .line = static_cast<uint32_t>(std::clamp<int64_t>(line.line, 0, INT32_MAX)),
                .inlined = i + 1 < frame_.lines.size()}));
  }
  chains_[location] = {first, static_cast<uint32_t>(frame_.lines.size())};
}

}  // namespace stackray
