// A recorded walk as the unwinder's surroundings.
#ifndef STACKRAY_TESTS_RECORDER_REPLAY_H_
#define STACKRAY_TESTS_RECORDER_REPLAY_H_

#include <span>

#include "symbolizer/unwind/row_store.h"
#include "tests/recorder/memory_rows.h"
#include "tests/recorder/recorded_walk.h"

namespace stackray {

// Reads answer from the recorded words alone.
class ReplayEnvironment : public WalkEnvironment {
 public:
  struct Options {
    bool windows =
        false;  // A read that begins at a recorded word succeeds; what was not recorded is 0xa5.
    bool lazy = false;  // Tables are put into the store when the walk misses them, not before.
  };
  // `walk` outlives this.
  ReplayEnvironment(const RecordedWalk& walk, Options options);

  bool Read(uint64_t address, std::span<uint8_t> to) override;
  std::optional<code_range> FindRange(uint64_t pc) override;
  range_table DescribeTable(const code_range& range) override;
  bool Load(const code_range& range, uint64_t file_offset) override;
  uint8_t* Chunk(uint32_t index) override { return rows_.Chunk(index); }
  uint64_t ThreadPointer() override { return walk_.thread_pointer; }

  // Where a page's bytes are, to damage them. Empty: not there.
  std::span<uint8_t> PageBytes(uint64_t id, uint32_t page);

 private:
  static FileIdentity IdentityOf(uint64_t id) { return {.inode = id}; }
  bool PutPage(uint64_t id, uint32_t page);

  const RecordedWalk& walk_;
  const Options options_;
  MemoryRows rows_;
  RowStore store_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_REPLAY_H_
