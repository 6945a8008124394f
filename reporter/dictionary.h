// The dictionary of the open batch: seven tables that samples refer to by index. Every entry exists
// once, by content, and is written as soon as it is made, so its size is known at every moment.
//
// Input:   texts are any bytes; they are made valid and bounded here (valid_text.h).
// Threads: none of its own; one owner.
#ifndef STACKRAY_REPORTER_DICTIONARY_H_
#define STACKRAY_REPORTER_DICTIONARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "profile/executable.h"
#include "profile/frame.h"
#include "profile/sample.h"
#include "reporter/dictionary_table.h"

namespace stackray {

class Dictionary {
 public:
  // More inlined functions than this at one place are not written.
  static constexpr size_t kMaxLines = 128;

  // Each returns the entry's index, 0 for an empty text.
  int32_t InternString(std::string_view text);
  int32_t InternAttribute(std::string_view key, std::string_view text);
  int32_t InternAttribute(std::string_view key, int64_t number);
  int32_t InternMapping(const MappingInfo& info);
  // A location without mapping has mapping 0 and address 0. `function_start` is written where no
  // line is, `marker` where it is one (profile/marker.h).
  int32_t InternLocation(FrameType type, int32_t mapping, uint64_t address,
                         std::span<const SourceLine> lines,
                         std::optional<uint64_t> function_start = std::nullopt,
                         const Marker& marker = {});
  // A location whose lines come later, with SetLines(), or never. Until then it is known by its
  // mapping and address, so one place has one of them.
  int32_t InternLateLocation(FrameType type, int32_t mapping, uint64_t address);
  // Of a late location; replaces what was set before.
  void SetLines(int32_t location, std::span<const SourceLine> lines,
                std::optional<uint64_t> function_start = std::nullopt);
  void ClearLines(int32_t location) { SetLines(location, {}); }
  int32_t InternStack(std::span<const int32_t> locations);
  // All-zero ids are no span: 0.
  int32_t InternLink(const SpanContext& span);

  int32_t locations() const { return locations_.size(); }
  int32_t stacks() const { return stacks_.size(); }

  // The length of the ProfilesDictionary message. O(1).
  size_t encoded_bytes() const;
  void AppendTo(std::string* out) const;

  // How far each table goes; Truncate() forgets everything that came later.
  struct Extent {
    int32_t mappings, locations, functions, links, strings, attributes, stacks;
  };
  Extent extent() const;
  void Truncate(const Extent& extent);

 private:
  // A late location's lines, as they will stand in its message.
  struct LateLines {
    uint32_t at = 0;  // In the body: the attributes follow.
    int32_t frame_type = 0;
    std::string encoded;
    std::string attributes;  // In the place of the body's; empty: these.
  };
  int32_t InternFunction(const SourceLine& line);
  void AppendLines(std::span<const SourceLine> lines, std::string* location);
  void AppendFunctionStart(int32_t frame_type, uint64_t function_start, std::string* location);
  std::string LateBody(int32_t location, const LateLines& late) const;
  size_t ExtraBytes(int32_t location, const LateLines& late) const;
  void AppendLocations(std::string* out) const;

  // The tables' numbers in ProfilesDictionary.
  DictionaryTable mappings_{1}, locations_{2}, functions_{3}, links_{4}, strings_{5},
      attributes_{6}, stacks_{7};
  absl::flat_hash_map<int32_t, LateLines> late_;  // By location.
  size_t late_bytes_ = 0;                         // What their lines add to the message.
  std::string text_, value_, body_, line_;        // Scratch.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_DICTIONARY_H_
