#include "agent/sampling/line_cache.h"

#include <algorithm>
#include <limits>

namespace stackray {
namespace {

constexpr size_t kTextOverheadBytes = 64;   // Of the string, its node and its slot.
constexpr size_t kPlaceOverheadBytes = 48;  // Of the map's slot, which may be half empty.

uint32_t Narrow(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

bool LineCache::Find(const Key& key, std::vector<SourceLine>* lines) const {
  const auto place = places_.find(key);
  if (place == places_.end()) return false;
  lines->clear();
  for (uint32_t i = 0; i < place->second.count; ++i) {
    const Line& line = lines_[place->second.first + i];
    lines->push_back({.function = *line.function,
                      .system_name = *line.system_name,
                      .file = *line.file,
                      .line = line.line,
                      .column = line.column,
                      .start_line = line.start_line});
  }
  return true;
}

const std::string* LineCache::Keep(const std::string& text) {
  const auto [kept, inserted] = texts_.insert(text);
  if (inserted) bytes_ += text.size() + kTextOverheadBytes;
  return &*kept;
}

void LineCache::Insert(const Key& key, const std::vector<SourceLine>& lines) {
  if (bytes_ >= max_bytes_) Wipe();
  const Place place{static_cast<uint32_t>(lines_.size()), static_cast<uint32_t>(lines.size())};
  if (!places_.try_emplace(key, place).second) return;
  bytes_ += kPlaceOverheadBytes + lines.size() * sizeof(Line);
  for (const SourceLine& line : lines)
    lines_.push_back({Keep(line.function), Keep(line.system_name), Keep(line.file),
                      Narrow(line.line), Narrow(line.column), Narrow(line.start_line)});
}

void LineCache::SetMaxBytes(size_t max_bytes) {
  max_bytes_ = max_bytes;
  if (bytes_ > max_bytes_) Wipe();
}

void LineCache::Wipe() {
  places_.clear();
  std::vector<Line>().swap(lines_);
  texts_.clear();
  bytes_ = 0;
}

}  // namespace stackray
