// The dictionary of the open batch: seven tables that samples refer to by index. Every entry exists
// once, by content, and is written as soon as it is made, so its size is known at every moment.
//
// Input:   texts are any bytes; they are made valid and bounded here (valid_text.h).
// Threads: none of its own; one owner.
#ifndef STACKRAY_REPORTER_DICTIONARY_H_
#define STACKRAY_REPORTER_DICTIONARY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "profile/executable.h"
#include "profile/frame.h"
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
  // A location without mapping has mapping 0 and address 0.
  int32_t InternLocation(FrameType type, int32_t mapping, uint64_t address,
                         std::span<const SourceLine> lines);
  int32_t InternStack(std::span<const int32_t> locations);

  int32_t locations() const { return locations_.size(); }
  int32_t stacks() const { return stacks_.size(); }

  // The length of the ProfilesDictionary message. O(1).
  size_t encoded_bytes() const;
  void AppendTo(std::string* out) const;

  // How far each table goes; Truncate() forgets everything that came later.
  struct Extent {
    int32_t mappings, locations, functions, strings, attributes, stacks;
  };
  Extent extent() const;
  void Truncate(const Extent& extent);

 private:
  int32_t InternFunction(const SourceLine& line);

  // The tables' numbers in ProfilesDictionary. Links stay empty: nothing makes one yet.
  DictionaryTable mappings_{1}, locations_{2}, functions_{3}, links_{4}, strings_{5},
      attributes_{6}, stacks_{7};
  std::string text_, value_, body_, line_;  // Scratch.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_DICTIONARY_H_
