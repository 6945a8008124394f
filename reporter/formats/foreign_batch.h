// A batch made from another format's stacks, so that a page can be made of it.
//
// Memory:  bytes(): the batch, and each text, frame and stack once more. A caller that ends a batch
//          when full() says so, and begins the next, needs kFullBytes whatever the file holds.
// Threads: one owns it.
#ifndef STACKRAY_REPORTER_FORMATS_FOREIGN_BATCH_H_
#define STACKRAY_REPORTER_FORMATS_FOREIGN_BATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace stackray {

struct ForeignLine {
  std::string_view function, file;
  int64_t line = 0;
};

class ForeignBatch {
 public:
  static constexpr size_t kFullBytes = 8 << 20;
  static constexpr size_t kMostTextBytes = 16 << 10;  // What is longer is cut.

  // `process`: what its samples are shown under.
  explicit ForeignBatch(std::string_view process);
  ~ForeignBatch();

  // One of a sample's types, to begin with. Returns its number.
  size_t AddType(std::string_view type, std::string_view unit);
  // `lines`: innermost inlined function first; `type`: "native", "kernel", or empty. Equal frames
  // have one number.
  int32_t Frame(std::string_view type, std::string_view mapping, uint64_t address,
                const std::vector<ForeignLine>& lines);
  // Leaf first.
  int32_t Stack(const std::vector<int32_t>& frames);
  void AddSample(size_t type, int32_t stack, int64_t value);

  size_t bytes() const { return bytes_; }  // Estimate of the memory in use.
  bool full() const { return bytes_ >= kFullBytes; }

  // The bytes of an ExportProfilesServiceRequest. `time_unix_ns`: when it began.
  std::string Finish(int64_t time_unix_ns, int64_t duration_ns);

 private:
  struct Message;
  int32_t Text(std::string_view text);

  std::unique_ptr<Message> message_;
  size_t bytes_ = 0;
  absl::flat_hash_map<std::string, int32_t> texts_;
  std::map<std::string, int32_t, std::less<>> mappings_, frame_types_;
  std::map<std::tuple<int32_t, int32_t>, int32_t> functions_;  // Name and file.
  std::map<std::vector<int64_t>, int32_t> frames_;
  std::map<std::vector<int32_t>, int32_t> stacks_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_FOREIGN_BATCH_H_
