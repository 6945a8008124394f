#include "interpreters/v8/script.h"

#include <algorithm>
#include <utility>

#include "interpreters/v8/source_map.h"
#include "interpreters/v8/strings.h"

namespace stackray::v8 {
namespace {

constexpr size_t kMostScripts = 256;
constexpr uint32_t kPieceBytes = 1 << 20;
constexpr uint16_t kArrayData = 16;
constexpr uint16_t kMappingUrl = 8;  // Behind the script's source URL (src/objects/script.tq).

// V8 has counted them: a FixedArray of small integers. Else empty.
std::vector<int32_t> CountedLines(Heap& heap, uint64_t array) {
  if (!heap.Is(array, heap.layout().fixed_array_type)) return {};
  const uint32_t count = heap.ArrayLength(array).value_or(0);
  if (count == 0 || count > kMostLines) return {};
  std::vector<uint8_t> words(size_t{8} * count);
  if (!heap.direct().Read(array - 1 + kArrayData, words)) return {};
  std::vector<int32_t> ends;
  ends.reserve(count);
  for (size_t at = 0; at < words.size(); at += 8) {
    const auto word = NumberAt<uint64_t>(words, at);
    if (!IsSmi(word) || (!ends.empty() && SmiValue(word) < ends.back())) return {};
    ends.push_back(SmiValue(word));
  }
  return ends;
}

std::vector<int32_t> CountLines(Heap& heap, uint64_t source) {
  if (LengthOf(heap, source) > kMostSourceCharacters) return {};
  const auto parts = PartsOf(heap, source, kMostSourceCharacters);
  if (!parts) return {};
  LineEnds ends;
  std::vector<uint8_t> piece;
  for (const StringPart& part : *parts) {
    uint64_t left = part.is_one_byte ? part.count : uint64_t{2} * part.count;
    for (uint64_t address = part.address; left > 0; left -= piece.size()) {
      piece.resize(std::min<uint64_t>(left, kPieceBytes));
      if (ends.lines() > kMostLines || !heap.direct().Read(address, piece)) return {};
      if (part.is_one_byte)
        ends.AddOneByte(piece);
      else
        ends.AddTwoBytes(piece);
      address += piece.size();
    }
  }
  return ends.Finish();
}

std::string NameOf(Heap& heap, uint64_t script) {
  // `//# sourceURL=` says what the script wants to be called.
  for (const uint16_t field : {heap.layout().script_source_url, heap.layout().script_name}) {
    const std::optional<std::string> name =
        field == 0 ? std::nullopt : ReadString(heap, heap.Word(script, field));
    if (name && !name->empty()) return *name;
  }
  return "";
}

bool IsNamedAsItsSource(Heap& heap, uint64_t script, const std::string& name) {
  const uint16_t field = heap.layout().script_source_url;
  if (field == 0) return false;
  const std::optional<std::string> url =
      ReadString(heap, heap.Word(script, field + kMappingUrl), kMostMapCharacters);
  return url && IsMapOfSourceNamed(*url, name);
}

}  // namespace

void LineEnds::Add(uint16_t character) {
  constexpr uint16_t kLineSeparator = 0x2028, kParagraphSeparator = 0x2029;
  if (is_behind_return_ && character != '\n') ends_.push_back(count_ - 1);
  is_behind_return_ = character == '\r';
  if (character == '\n' || character == kLineSeparator || character == kParagraphSeparator)
    ends_.push_back(count_);
  ++count_;
}

void LineEnds::AddOneByte(std::span<const uint8_t> characters) {
  for (const uint8_t character : characters) Add(character);
}

void LineEnds::AddTwoBytes(std::span<const uint8_t> characters) {
  for (size_t at = 0; at + 1 < characters.size(); at += 2) Add(NumberAt<uint16_t>(characters, at));
}

std::vector<int32_t> LineEnds::Finish() {
  if (is_behind_return_) ends_.push_back(count_ - 1);
  ends_.push_back(count_);
  return std::move(ends_);
}

LineAndColumn Script::PlaceOf(int32_t offset) const {
  if (offset < 0 || ends_.empty() || offset > ends_.back()) return {};
  const auto end = std::ranges::lower_bound(ends_, offset);
  const auto line = static_cast<int32_t>(end - ends_.begin());
  const int32_t begin = line == 0 ? 0 : *std::prev(end) + 1;
  const int32_t column = offset - begin + (line == 0 ? column_offset_ : 0);
  return {.line = line + line_offset_ + 1, .column = column + 1};
}

std::shared_ptr<const Script> ScriptCache::Read(Heap& heap, uint64_t script) {
  const V8Layout& layout = heap.layout();
  if (!heap.Is(script, layout.script_type)) return nullptr;
  const uint64_t source = heap.Word(script, layout.script_source);
  const Key key{.script = script,
                .id = heap.Word(script, layout.script_id),
                .source = source,
                .length = LengthOf(heap, source)};
  absl::MutexLock lock(&mutex_);
  const auto known = std::ranges::find(entries_, key, &Entry::key);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->script;
  }
  std::string name = NameOf(heap, script);
  std::vector<int32_t> ends;
  if (!IsNamedAsItsSource(heap, script, name)) {
    ends = CountedLines(heap, heap.Word(script, layout.script_line_ends));
    if (ends.empty()) ends = CountLines(heap, source);
  }
  // Numbers of a foreign heap: sums with them must not pass their type's end.
  const auto offset_of = [&](uint16_t field) {
    return std::clamp(heap.Smi(script, field).value_or(0), -(1 << 29), 1 << 29);
  };
  auto made =
      std::make_shared<const Script>(std::move(name), offset_of(layout.script_line_offset),
                                     offset_of(layout.script_column_offset), std::move(ends));
  bytes_ += made->bytes();
  entries_.push_front({key, made});
  while (entries_.size() > 1 && (entries_.size() > kMostScripts || bytes_ > kMostLineBytes)) {
    bytes_ -= entries_.back().script->bytes();
    entries_.pop_back();
  }
  return made;
}

}  // namespace stackray::v8
