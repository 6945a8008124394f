#include "reporter/deferred_frames.h"

#include <algorithm>
#include <string_view>

namespace stackray {
namespace {

// Of a line, its function and the longer length of the location: tags, lengths and indices.
constexpr size_t kLineBytes = 80;
constexpr size_t kTextBytes = 6;  // Tag and length of a string.

// A byte that is no UTF-8 becomes three.
size_t TextBytes(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return kTextBytes + text.size() * (plain ? 1 : 3);
}

// Of the start of a function, with its name and the longer list of attributes.
constexpr size_t kFunctionStartBytes = 64;

size_t ReservedBytes(const DeferredFrames::Own& own) {
  size_t bytes = own.function_start ? kFunctionStartBytes : 0;
  for (const SourceLine& line : own.lines)
    bytes +=
        kLineBytes + TextBytes(line.function) + TextBytes(line.system_name) + TextBytes(line.file);
  return bytes;
}

}  // namespace

void DeferredFrames::Add(int32_t location, Own own) {
  reserved_bytes_ += ReservedBytes(own);
  frames_[location] = std::move(own);
}

const DeferredFrames::Own& DeferredFrames::Take(int32_t location) {
  const auto found = frames_.find(location);
  reserved_bytes_ -= ReservedBytes(found->second);
  taken_.emplace_back(location, std::move(found->second));
  frames_.erase(found);
  return taken_.back().second;
}

std::vector<int32_t> DeferredFrames::Awaiting() const {
  std::vector<int32_t> locations;
  locations.reserve(frames_.size());
  for (const auto& [location, own] : frames_) locations.push_back(location);
  std::sort(locations.begin(), locations.end());
  return locations;
}

void DeferredFrames::Mark(int32_t locations) {
  mark_ = locations;
  taken_.clear();
}

std::vector<int32_t> DeferredFrames::Rollback() {
  std::vector<int32_t> waiting_again;
  absl::erase_if(frames_, [&](const Frames::value_type& frame) {
    if (frame.first < mark_) return false;
    reserved_bytes_ -= ReservedBytes(frame.second);
    return true;
  });
  for (auto& [location, own] : taken_) {
    if (location >= mark_) continue;
    waiting_again.push_back(location);
    Add(location, std::move(own));
  }
  taken_.clear();
  return waiting_again;
}

}  // namespace stackray
