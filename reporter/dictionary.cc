#include "reporter/dictionary.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "reporter/attribute_names.h"
#include "reporter/valid_text.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

uint64_t Index(int32_t index) { return static_cast<uint64_t>(index); }
uint64_t NotNegative(int64_t value) { return static_cast<uint64_t>(std::max<int64_t>(value, 0)); }

}  // namespace

int32_t Dictionary::InternString(std::string_view text) {
  return strings_.Intern(ValidText(text, &text_));
}

// KeyValueAndUnit: 1 key, 2 value {1 string}. The value is inline: not every receiver resolves a
// reference inside it.
int32_t Dictionary::InternAttribute(std::string_view key, std::string_view text) {
  const int32_t key_index = InternString(key);
  value_.clear();
  wire::AppendBytes(1, ValidText(text, &text_), &value_);
  body_.clear();
  wire::AppendNumber(1, Index(key_index), &body_);
  wire::AppendBytes(2, value_, &body_);
  return attributes_.Intern(body_);
}

// KeyValueAndUnit: 1 key, 2 value {3 int}. A oneof is written even when 0.
int32_t Dictionary::InternAttribute(std::string_view key, int64_t number) {
  const int32_t key_index = InternString(key);
  value_.clear();
  wire::AppendTag(3, wire::Type::kVarint, &value_);
  wire::AppendVarint(static_cast<uint64_t>(number), &value_);
  body_.clear();
  wire::AppendNumber(1, Index(key_index), &body_);
  wire::AppendBytes(2, value_, &body_);
  return attributes_.Intern(body_);
}

// Mapping: 1 start, 2 limit, 3 file offset, 4 file name, 5 attributes.
int32_t Dictionary::InternMapping(const MappingInfo& info) {
  const int32_t path = InternString(info.path);
  std::vector<int32_t> attributes;
  if (!info.gnu_build_id.empty())
    attributes.push_back(InternAttribute(kGnuBuildIdAttribute, info.gnu_build_id));
  if (!info.go_build_id.empty())
    attributes.push_back(InternAttribute(kGoBuildIdAttribute, info.go_build_id));
  if (!info.htlhash.empty()) attributes.push_back(InternAttribute(kHtlhashAttribute, info.htlhash));
  body_.clear();
  wire::AppendNumber(1, info.start, &body_);
  wire::AppendNumber(2, info.limit, &body_);
  wire::AppendNumber(3, info.file_offset, &body_);
  wire::AppendNumber(4, Index(path), &body_);
  wire::AppendPacked(5, attributes, &body_);
  return mappings_.Intern(body_);
}

// Function: 1 name, 2 system name, 3 file, 4 start line. A function known by its symbol alone has
// it as its name too, because receivers show the name.
int32_t Dictionary::InternFunction(const SourceLine& line) {
  const int32_t system_name = InternString(line.system_name);
  const int32_t name = line.function.empty() ? system_name : InternString(line.function);
  const int32_t file = InternString(line.file);
  body_.clear();
  wire::AppendNumber(1, Index(name), &body_);
  wire::AppendNumber(2, Index(system_name), &body_);
  wire::AppendNumber(3, Index(file), &body_);
  wire::AppendNumber(4, NotNegative(line.start_line), &body_);
  return functions_.Intern(body_);
}

// Location: 1 mapping, 2 address, 3 lines {1 function, 2 line, 3 column}, 4 attributes.
int32_t Dictionary::InternLocation(FrameType type, int32_t mapping, uint64_t address,
                                   std::span<const SourceLine> lines,
                                   std::optional<uint64_t> function_start, const Marker& marker) {
  const int32_t frame_type = InternAttribute(kFrameTypeAttribute, FrameTypeName(type));
  std::string location;
  wire::AppendNumber(1, Index(mapping), &location);
  wire::AppendNumber(2, address, &location);
  const size_t before = location.size();
  AppendLines(lines, &location);
  if (function_start && location.size() == before) {
    AppendFunctionStart(frame_type, *function_start, &location);
  } else if (marker.kind != MarkerKind::kNone) {
    const std::array<int32_t, 2> attributes = {
        frame_type, InternAttribute(kMarkerAttribute, MarkerValue(marker))};
    wire::AppendPacked(4, attributes, &location);
  } else {
    wire::AppendPacked(4, {&frame_type, 1}, &location);
  }
  return locations_.Intern(location);
}

void Dictionary::AppendFunctionStart(int32_t frame_type, uint64_t function_start,
                                     std::string* location) {
  const int32_t start =
      InternAttribute(kFunctionStartAttribute, static_cast<int64_t>(function_start));
  const std::array<int32_t, 2> attributes = {frame_type, start};
  wire::AppendPacked(4, attributes, location);
}

void Dictionary::AppendLines(std::span<const SourceLine> lines, std::string* location) {
  for (const SourceLine& line : lines.first(std::min(lines.size(), kMaxLines))) {
    if (line.function.empty() && line.system_name.empty()) continue;
    line_.clear();
    wire::AppendNumber(1, Index(InternFunction(line)), &line_);
    wire::AppendNumber(2, NotNegative(line.line), &line_);
    wire::AppendNumber(3, NotNegative(line.column), &line_);
    wire::AppendBytes(3, line_, location);
  }
}

int32_t Dictionary::InternLateLocation(FrameType type, int32_t mapping, uint64_t address) {
  const int32_t frame_type = InternAttribute(kFrameTypeAttribute, FrameTypeName(type));
  std::string location;
  wire::AppendNumber(1, Index(mapping), &location);
  wire::AppendNumber(2, address, &location);
  const auto at = static_cast<uint32_t>(location.size());
  wire::AppendPacked(4, {&frame_type, 1}, &location);
  const int32_t before = locations();
  const int32_t index = locations_.Intern(location);
  if (index >= before) late_[index] = {.at = at, .frame_type = frame_type};
  return index;
}

std::string Dictionary::LateBody(int32_t location, const LateLines& late) const {
  std::string body(locations_.Body(location));
  if (!late.attributes.empty()) body.replace(late.at, std::string::npos, late.attributes);
  return body.insert(late.at, late.encoded);
}

size_t Dictionary::ExtraBytes(int32_t location, const LateLines& late) const {
  return wire::BytesFieldBytes(LateBody(location, late).size()) -
         wire::BytesFieldBytes(locations_.Body(location).size());
}

void Dictionary::SetLines(int32_t location, std::span<const SourceLine> lines,
                          std::optional<uint64_t> function_start) {
  const auto found = late_.find(location);
  if (found == late_.end()) return;
  LateLines& late = found->second;
  late_bytes_ -= ExtraBytes(location, late);
  late.encoded.clear();
  late.attributes.clear();
  AppendLines(lines, &late.encoded);
  if (function_start && late.encoded.empty())
    AppendFunctionStart(late.frame_type, *function_start, &late.attributes);
  late_bytes_ += ExtraBytes(location, late);
}

// With the lines of the late ones in their place.
void Dictionary::AppendLocations(std::string* out) const {
  constexpr int kLocationTable = 2;
  if (late_.empty()) {
    *out += locations_.encoded();
    return;
  }
  for (int32_t i = 0; i < locations_.size(); ++i) {
    const auto late = late_.find(i);
    if (late == late_.end()) {
      wire::AppendBytes(kLocationTable, locations_.Body(i), out);
    } else {
      wire::AppendBytes(kLocationTable, LateBody(i, late->second), out);
    }
  }
}

int32_t Dictionary::InternStack(std::span<const int32_t> locations) {
  body_.clear();
  wire::AppendPacked(1, locations, &body_);
  return stacks_.Intern(body_);
}

// Link: 1 trace id, 2 span id.
int32_t Dictionary::InternLink(const SpanContext& span) {
  if (span == SpanContext{}) return 0;
  const auto bytes = [](const auto& id) {
    return std::string_view(reinterpret_cast<const char*>(id.data()), id.size());
  };
  body_.clear();
  wire::AppendBytes(1, bytes(span.trace_id), &body_);
  wire::AppendBytes(2, bytes(span.span_id), &body_);
  return links_.Intern(body_);
}

size_t Dictionary::encoded_bytes() const {
  return mappings_.encoded().size() + locations_.encoded().size() + functions_.encoded().size() +
         links_.encoded().size() + strings_.encoded().size() + attributes_.encoded().size() +
         stacks_.encoded().size() + late_bytes_;
}

void Dictionary::AppendTo(std::string* out) const {
  *out += mappings_.encoded();
  AppendLocations(out);
  for (const DictionaryTable* table : {&functions_, &links_, &strings_, &attributes_, &stacks_})
    *out += table->encoded();
}

Dictionary::Extent Dictionary::extent() const {
  return {mappings_.size(), locations_.size(),  functions_.size(), links_.size(),
          strings_.size(),  attributes_.size(), stacks_.size()};
}

void Dictionary::Truncate(const Extent& extent) {
  mappings_.Truncate(extent.mappings);
  for (int32_t i = extent.locations; i < locations_.size(); ++i) {
    const auto late = late_.find(i);
    if (late == late_.end()) continue;
    late_bytes_ -= ExtraBytes(i, late->second);
    late_.erase(late);
  }
  locations_.Truncate(extent.locations);
  functions_.Truncate(extent.functions);
  links_.Truncate(extent.links);
  strings_.Truncate(extent.strings);
  attributes_.Truncate(extent.attributes);
  stacks_.Truncate(extent.stacks);
}

}  // namespace stackray
