// Scripts: their names, and lines and columns of places in them.
//
// Input:   a foreign heap, so nothing in it is trusted.
// Memory:  the line ends of the scripts that were asked for last, kMostLineBytes in all. A script
//          of more than kMostSourceCharacters or kMostLines has no lines, and neither has generated
//          code that bears its source's name (source_map.h).
// Threads: a ScriptCache may be used by several at a time; a Script is immutable.
#ifndef STACKRAY_INTERPRETERS_V8_SCRIPT_H_
#define STACKRAY_INTERPRETERS_V8_SCRIPT_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "interpreters/v8/heap.h"

namespace stackray::v8 {

inline constexpr uint32_t kMostSourceCharacters = 64 << 20, kMostLines = 1 << 20;
inline constexpr size_t kMostLineBytes = 8 << 20;

struct LineAndColumn {
  int32_t line = 0, column = 0;  // From 1 on; 0: not known.
};

class Script {
 public:
  Script(std::string name, int32_t line_offset, int32_t column_offset, std::vector<int32_t> ends)
      : name_(std::move(name)),
        line_offset_(line_offset),
        column_offset_(column_offset),
        ends_(std::move(ends)) {}
  const std::string& name() const { return name_; }
  LineAndColumn PlaceOf(int32_t offset) const;
  size_t bytes() const { return sizeof(*this) + name_.size() + ends_.size() * sizeof(int32_t); }

 private:
  const std::string name_;
  const int32_t line_offset_, column_offset_;
  const std::vector<int32_t> ends_;  // Where each line's last character is, the last one's too.
};

// One process's scripts.
class ScriptCache {
 public:
  // nullptr: no script.
  std::shared_ptr<const Script> Read(Heap& heap, uint64_t script);

 private:
  // What a script is known by; its address alone may be another one's later.
  struct Key {
    uint64_t script = 0, id = 0, source = 0;
    uint32_t length = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const Script> script;
  };
  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // The last used first.
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Where the lines of a text end, counted as V8 does: its last line as well. `part` by `part`.
class LineEnds {
 public:
  void AddOneByte(std::span<const uint8_t> characters);
  void AddTwoBytes(std::span<const uint8_t> characters);
  size_t lines() const { return ends_.size(); }
  std::vector<int32_t> Finish();

 private:
  void Add(uint16_t character);
  std::vector<int32_t> ends_;
  int32_t count_ = 0;
  bool is_behind_return_ = false;  // A '\r', which ends a line unless '\n' follows.
};

}  // namespace stackray::v8

#endif  // STACKRAY_INTERPRETERS_V8_SCRIPT_H_
