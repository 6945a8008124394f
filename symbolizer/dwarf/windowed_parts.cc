#include "symbolizer/dwarf/windowed_parts.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace stackray::dwarf {
namespace {

constexpr uint64_t kAlignBytes = 512;  // So that a look slightly back still hits.

}  // namespace

absl::Status WindowedSource::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  const auto is_inside = [&] {
    return offset >= begin_ && offset - begin_ <= window_.size() &&
           out.size() <= window_.size() - (offset - begin_);
  };
  if (!is_inside()) {
    const uint64_t begin = offset & ~(kAlignBytes - 1), size = source_->size_bytes();
    if (out.size() > kWindowBytes - kAlignBytes || offset >= size)
      return source_->ReadAt(offset, out);
    window_.resize(std::min<uint64_t>(kWindowBytes, size - begin));
    begin_ = begin;
    if (!source_->ReadAt(begin, window_).ok()) window_.clear();
    if (!is_inside()) return source_->ReadAt(offset, out);
  }
  if (!out.empty()) std::memcpy(out.data(), window_.data() + (offset - begin_), out.size());
  return absl::OkStatus();
}

WindowedParts::WindowedParts(const SectionParts& parts) : parts_(parts) {
  const std::array<SectionPart*, std::tuple_size_v<decltype(sources_)>> windowed = {
      &parts_.info,        &parts_.abbrev, &parts_.str,    &parts_.line_str,
      &parts_.str_offsets, &parts_.addr,   &parts_.ranges, &parts_.rnglists};
  for (size_t i = 0; i < windowed.size(); ++i) {
    if (windowed[i]->source == nullptr) continue;
    sources_[i] = WindowedSource(windowed[i]->source);
    windowed[i]->source = &sources_[i];
  }
}

}  // namespace stackray::dwarf
