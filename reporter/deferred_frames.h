// Frames of the open batch whose lines may still come, and the lines that they have until then.
//
// A frame of which nothing more comes must fit under the batch's limit, so room for its own lines
// is reserved: their texts in full, though the dictionary may have them already.
// Threads: none of its own; one owner.
#ifndef STACKRAY_REPORTER_DEFERRED_FRAMES_H_
#define STACKRAY_REPORTER_DEFERRED_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profile/frame.h"

namespace stackray {

class DeferredFrames {
 public:
  // What is written of one of which nothing more comes.
  struct Own {
    std::vector<SourceLine> lines;
    std::optional<uint64_t> function_start;
  };
  void Add(int32_t location, Own own);
  bool Awaits(int32_t location) const { return frames_.contains(location); }
  // Ends the waiting. What is returned lives until the next call.
  const Own& Take(int32_t location);
  // Locations that wait, ascending.
  std::vector<int32_t> Awaiting() const;
  // An upper bound of what the own lines of all that wait would add to a dictionary.
  size_t reserved_bytes() const { return reserved_bytes_; }

  // `locations`: how many the batch has. Rollback() forgets those that came since, makes the older
  // ones that were taken since wait again, and returns these.
  void Mark(int32_t locations);
  std::vector<int32_t> Rollback();

 private:
  using Frames = absl::flat_hash_map<int32_t, Own>;
  Frames frames_;
  size_t reserved_bytes_ = 0;
  int32_t mark_ = 0;
  std::vector<std::pair<int32_t, Own>> taken_;  // Since the mark.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_DEFERRED_FRAMES_H_
