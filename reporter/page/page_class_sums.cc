#include "reporter/page/page_class_sums.h"

#include <algorithm>

#include "reporter/page/page_index.h"

namespace stackray {

ClassSums::ClassSums(const PageIndexBuilder& from, const std::vector<TypeMask>& bits)
    : from_(from),
      bits_(bits),
      frames_(from.frames().size()),
      functions_(from.functions().size()),
      frames_of_(from.functions().size()) {
  marker_.reserve(functions_.size());
  for (const PageFunction& function : from.functions())
    marker_.push_back(from.Text(function.type) == kMarkerFrameType);
  for (const TypeMask bit : bits) all_types_ |= bit;
}

void ClassSums::Leave() {
  const Open last = way_.back();
  way_.pop_back();
  --frames_[last.frame].open;
  --functions_[last.function].open;
  open_markers_ -= marker_[last.function] ? 1 : 0;
}

void ClassSums::Add(size_t depth, uint32_t frame, int64_t self, int64_t total) {
  while (way_.size() >= depth) Leave();
  const uint32_t function = from_.frames()[frame].function;
  way_.push_back({frame, function});
  Sums &of_function = functions_[function], &of_frame = frames_[frame];
  if (of_function.total == 0) met_.push_back(function);
  if (of_frame.total == 0) frames_of_[function].push_back(frame);
  if (of_function.open++ == 0) of_function.total = SaturatingAdd(of_function.total, total);
  if (of_frame.open++ == 0) of_frame.total = SaturatingAdd(of_frame.total, total);
  if (marker_[function] && open_markers_++ == 0) marked_ = SaturatingAdd(marked_, total);
  if (self == 0) return;
  of_function.self = SaturatingAdd(of_function.self, self);
  of_frame.self = SaturatingAdd(of_frame.self, self);
  if (!bits_.empty()) AddMasks(self);
}

// Outwards from the present node: each frame that is the first of its type.
void ClassSums::AddMasks(int64_t self) {
  TypeMask below = bits_[way_.back().function];
  for (size_t i = way_.size() - 1; i-- > 0 && below != all_types_;) {
    const TypeMask own = bits_[way_[i].function];
    if ((below & own) != 0) continue;
    AddMask(below, self, &functions_[way_[i].function]);
    AddMask(below, self, &frames_[way_[i].frame]);
    below |= own;
  }
}

void ClassSums::AddMask(TypeMask mask, int64_t value, Sums* sums) {
  for (auto& [known, sum] : sums->masks) {
    if (known != mask) continue;
    sum = SaturatingAdd(sum, value);
    return;
  }
  sums->masks.emplace_back(mask, value);
}

std::string ClassSums::MasksOf(const Sums& sums) {
  std::string bytes;
  for (const auto& [mask, value] : sums.masks) {
    AppendNumber(mask, &bytes);
    AppendNumber(static_cast<uint64_t>(value), &bytes);
  }
  return bytes;
}

std::string ClassSums::Finish(const std::vector<std::vector<size_t>>& places) {
  std::ranges::sort(met_);
  std::string out, records;
  AppendNumber(static_cast<uint64_t>(marked_), &out);
  AppendNumber(met_.size(), &out);
  for (const uint32_t function : met_) {
    AppendWord(function, &out);
    AppendWord(static_cast<uint32_t>(records.size()), &out);
    AppendFunction(function, places[function], &records);
  }
  Clear();
  return out + records;
}

void ClassSums::AppendFunction(uint32_t function, const std::vector<size_t>& places,
                               std::string* out) {
  const auto append_sums = [](const Sums& sums, std::string* to) {
    AppendNumber(static_cast<uint64_t>(sums.total), to);
    AppendNumber(static_cast<uint64_t>(sums.self), to);
    AppendBytes(MasksOf(sums), to);
  };
  append_sums(functions_[function], out);
  std::string lines, offsets;
  std::ranges::sort(frames_of_[function]);
  for (const uint32_t frame : frames_of_[function]) {
    AppendNumber(frame, &lines);
    append_sums(frames_[frame], &lines);
  }
  AppendBytes(lines, out);
  size_t before = 0;
  for (const size_t place : places) {
    AppendNumber(place - before, &offsets);
    before = place;
  }
  AppendBytes(offsets, out);
}

void ClassSums::Clear() {
  while (!way_.empty()) Leave();
  for (const uint32_t function : met_) {
    functions_[function] = {};
    for (const uint32_t frame : frames_of_[function]) frames_[frame] = {};
    frames_of_[function].clear();
  }
  met_.clear();
  marked_ = 0;
}

}  // namespace stackray
