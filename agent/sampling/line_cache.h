// Answers of the line worker: (executable, address) → lines. Repeated texts, which most are, are
// kept once.
// Memory:  `max_bytes`; when full it is emptied, and when that becomes less than what it has.
// Threads: one.
#ifndef STACKRAY_AGENT_SAMPLING_LINE_CACHE_H_
#define STACKRAY_AGENT_SAMPLING_LINE_CACHE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_set.h"
#include "profile/frame.h"

namespace stackray {

class LineCache {
 public:
  using Key = std::pair<uint64_t, uint64_t>;  // Handle of the file, ELF address.
  explicit LineCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // False: not known. Known without any line is an answer too.
  bool Find(const Key& key, std::vector<SourceLine>* lines) const;
  void Insert(const Key& key, const std::vector<SourceLine>& lines);
  void SetMaxBytes(size_t max_bytes);
  void Wipe();
  size_t bytes() const { return bytes_; }

 private:
  struct Line {
    const std::string *function, *system_name, *file;
    uint32_t line, column, start_line;
  };
  struct Place {
    uint32_t first = 0, count = 0;  // In lines_.
  };
  const std::string* Keep(const std::string& text);

  size_t max_bytes_;
  size_t bytes_ = 0;
  absl::node_hash_set<std::string> texts_;
  std::vector<Line> lines_;
  absl::flat_hash_map<Key, Place> places_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_LINE_CACHE_H_
