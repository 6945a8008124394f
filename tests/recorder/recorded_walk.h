// One stopped thread, as far as its unwinding looked at it: registers, the words of its stack that
// were read, the mappings and table pages that were used, and the names of its frames.
//
// On disk it is text, one fact a line, numbers in hex except where the line says otherwise:
//   pc V                        the leaf's pc; `r N V` its register N in DWARF's numbering
//   thread V                    the thread pointer, where the walk needs it (Go)
//   exact 0                     the leaf is in a system call: its pc lies behind an instruction
//   file ID NAME FIRST COUNT    a file's name and its range of table pages; COUNT 0: it has no
//   tables
//   range START END OFFSET ID   an executable mapping; ID 0: anonymous memory, `vdso`: the vDSO
//   word ADDRESS VALUE [N STEP] a word of the stack; the same N times, STEP bytes apart
//   name ID OFFSET TEXT         the function at this file offset
//   page ID NUMBER              a table page; the lines that follow it, beginning with a blank, are
//                               its bytes, `*N` standing for N zero bytes
// Input:   fixtures of this tree; Parse() still checks what it reads.
#ifndef STACKRAY_TESTS_RECORDER_RECORDED_WALK_H_
#define STACKRAY_TESTS_RECORDER_RECORDED_WALK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/records.h"
#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/unwind/host_walk.h"

namespace stackray {

struct RecordedFile {
  std::string name;  // Base name.
  PageRange pages;
};

struct RecordedWalk {
  unwind_registers leaf = {};
  uint64_t thread_pointer = 0;
  std::map<uint64_t, uint64_t> words;                          // By address.
  std::map<uint64_t, RecordedFile> files;                      // By ID: the inode in `ranges`.
  std::vector<code_range> ranges;                              // File identities are IDs.
  std::map<std::pair<uint64_t, uint64_t>, std::string> names;  // By ID and file offset.
  std::map<std::pair<uint64_t, uint32_t>, std::vector<uint8_t>> pages;  // By ID and page.
};

// Of a recording on arm64: Debian's kernels there have 48 bits.
inline constexpr uint64_t kUserAddresses = (uint64_t{1} << 48) - 1;
inline constexpr uint64_t kVdsoId = ~0ULL;  // As VDSO_INODE.

std::string FormatWalk(const RecordedWalk& walk);
// Errors: DataLoss, with the line.
absl::StatusOr<RecordedWalk> ParseWalk(const std::string& text);

// One line a frame, leaf first, and "end: REASON". A frame below an exact pc is marked " (exact)",
// a stack with guessed frames ends in " (guessed)".
std::string DescribeFrames(const RecordedWalk& walk, const WalkResult& result);
// The frames' pcs, leaf first.
std::vector<uint64_t> FramePcs(const WalkResult& result);

// In words, for expected.txt.
std::string EndText(uint32_t end);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RECORDED_WALK_H_
