// The unwinder against a stopped thread, and what it looked at as a RecordedWalk.
#ifndef STACKRAY_TESTS_RECORDER_LIVE_WALK_H_
#define STACKRAY_TESTS_RECORDER_LIVE_WALK_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbolizer/executable_files.h"
#include "symbolizer/unwind/table_loader.h"
#include "tests/recorder/memory_rows.h"
#include "tests/recorder/recorded_walk.h"
#include "tests/recorder/stopped_thread.h"

namespace stackray {

// Threads: as StoppedThread. `thread` outlives this and stays stopped.
class LiveWalk : public WalkEnvironment {
 public:
  // Errors: as ReadExecutableRanges.
  static absl::StatusOr<std::unique_ptr<LiveWalk>> Create(const StoppedThread& thread);
  ~LiveWalk() override;

  // Walks twice, as the agent does and word by word, and keeps what the second walk read.
  // Errors: Internal (the two differ, or a replay of the recording does).
  absl::StatusOr<RecordedWalk> Record(WalkResult* result);
  // The function that covers `address`, "[FILE]" or "[anonymous]"; empty: not executable.
  std::string NameAt(uint64_t address);
  // Where the program's own symbol begins; of Rust's names the hash may be left out.
  std::optional<uint64_t> FindSymbol(const std::string& name);

  bool Read(uint64_t address, std::span<uint8_t> to) override;
  std::optional<code_range> FindRange(uint64_t pc) override;
  range_table DescribeTable(const code_range& range) override;
  bool Load(const code_range& range, uint64_t file_offset) override;
  uint8_t* Chunk(uint32_t index) override { return rows_.Chunk(index); }
  uint64_t ThreadPointer() override { return thread_.thread_pointer(); }

 private:
  LiveWalk(const StoppedThread& thread, std::vector<code_range> ranges);
  struct NamedFile;
  NamedFile* Open(const code_range& range);
  std::optional<uint64_t> FindGoFunction(const code_range& program, const std::string& name);
  std::string NameInRange(const code_range& range, uint64_t file_offset);
  void KeepFrame(uint64_t word, const code_range& range, uint64_t id, RecordedWalk* walk);
  void KeepPage(const code_range& range, uint64_t id, uint64_t file_offset, RecordedWalk* walk);
  void KeepRanges(const WalkResult& result, RecordedWalk* walk);

  const StoppedThread& thread_;
  const std::vector<code_range> ranges_;
  MemoryRows rows_;
  RowStore store_;
  ExecutableFiles files_;
  TableLoader loader_;
  std::map<uint64_t, std::unique_ptr<NamedFile>> named_files_;  // By inode.
  std::map<uint64_t, uint64_t>* words_ = nullptr;               // Not null: record them.
  std::vector<std::pair<code_range, uint64_t>> loads_;          // Ranges and file offsets.
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_LIVE_WALK_H_
