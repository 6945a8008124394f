// This very process as an unwinder's target: its memory, its mappings, tables of its files.
// Works where one process may not look into another: under an emulator of another machine's
// programs.
#ifndef STACKRAY_TESTS_SYMBOLIZER_UNWIND_OWN_MEMORY_H_
#define STACKRAY_TESTS_SYMBOLIZER_UNWIND_OWN_MEMORY_H_

#include <ucontext.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbolizer/unwind/host_walk.h"
#include "symbolizer/unwind/row_store.h"
#include "tests/recorder/memory_rows.h"
#include "tests/recorder/recorded_walk.h"
#include "tests/symbolizer/cfi/opened_tables.h"

namespace stackray {

// Threads: one at a time. Mappings are those of the last ReadMappings(). In a signal handler it may
// be used when the interrupted code does not allocate, and the pages were loaded by an earlier walk
// or need no lock.
class OwnMemory : public WalkEnvironment {
 public:
  OwnMemory();
  void ReadMappings();

  // What a walk from `leaf` looks at, found by walking again word by word. `result`, the walk
  // itself, has the recording's ranges afterwards.
  RecordedWalk Record(HostWalk& walker, const unwind_registers& leaf, WalkResult* result);

  bool Read(uint64_t address, std::span<uint8_t> to) override;
  std::optional<code_range> FindRange(uint64_t pc) override;
  range_table DescribeTable(const code_range& range) override;
  bool Load(const code_range& range, uint64_t file_offset) override;
  uint8_t* Chunk(uint32_t index) override { return rows_.Chunk(index); }

 private:
  struct Mapping {
    uint64_t start = 0, end = 0, offset = 0;
    bool readable = false, executable = false;
    std::string path;
  };
  void KeepFrame(uint64_t word, const code_range& range, uint64_t id, RecordedWalk* walk);
  OpenedTables* Open(const std::string& path, uint64_t start, uint64_t end);

  std::vector<Mapping> mappings_;  // Ascending.
  std::map<std::string, std::unique_ptr<OpenedTables>> files_;
  std::vector<std::string> paths_;  // By inode: 1 is the first.
  MemoryRows rows_;
  RowStore store_;
  std::map<uint64_t, uint64_t>* words_ = nullptr;  // Not null: record them.
};

unwind_registers RegistersOf(const ucontext_t& context);

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_UNWIND_OWN_MEMORY_H_
