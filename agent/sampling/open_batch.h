// A batch that samples still go into, with what is held for its frames until it is sealed.
#ifndef STACKRAY_AGENT_SAMPLING_OPEN_BATCH_H_
#define STACKRAY_AGENT_SAMPLING_OPEN_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "agent/sampling/line_cache.h"
#include "reporter/batch.h"
#include "symbolizer/executable_files.h"

namespace stackray {

class OpenBatch : public BatchBuilder {
 public:
  explicit OpenBatch(const BatchSettings& settings,
                     size_t limit_bytes = std::numeric_limits<size_t>::max())
      : BatchBuilder(settings), max_bytes(limit_bytes) {}

  size_t max_bytes;  // Lines that would make it larger are left out.

  // FrameResolver's: files that the batch names.
  struct HeldFile {
    ExecutableFilePtr file;  // nullptr: could not be had from process `tried_pid`.
    uint32_t tried_pid = 0, questions = 0;
    bool left_alone = false;  // Reads of the file or of that process do not return.
  };
  absl::flat_hash_map<FileIdentity, HeldFile> held_files;
  absl::Duration failed_open = absl::ZeroDuration();  // Spent in vain.

  // NativeLines': frames whose source lines were asked for.
  struct WaitingFrame {
    int32_t location = 0;
    std::vector<SourceLine> own;  // The name by symbol.
  };
  absl::flat_hash_map<LineCache::Key, WaitingFrame> waiting_frames;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_OPEN_BATCH_H_
