// Text that has left its file: programs copy their code into anonymous memory, or into a file of a
// memory file system, to have it in huge pages, and move the copy to where the text was. The
// kernel's side presumes which file it is (bpf/moved_text.h); here the process's memory is compared
// with that file. Only what was compared is taken for the file's.
//
// Input:   a foreign process's memory and mappings; nothing in them is trusted.
// Memory:  MAX_MOVED_TEXTS verdicts of about 200 bytes, the least recently asked for first to go.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_MOVED_TEXT_H_
#define STACKRAY_SYMBOLIZER_UNWIND_MOVED_TEXT_H_

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bpf/shared/records.h"
#include "kernel/row_memory.h"
#include "symbolizer/executable_files.h"

namespace stackray {

// The memory `range` of process `pid`, presumed to be text of the file that the range names, as a
// range of that file. nullopt: its bytes are others, or cannot be compared (the process or its file
// is gone, not permitted).
std::optional<code_range> CompareWithFile(uint32_t pid, const code_range& range,
                                          ExecutableFiles& files);

// Is it presumed to be text, with no verdict so far?
inline bool IsPresumedText(const code_range& range) {
  return range.kind == RANGE_ANON && range.file.inode != 0;
}

// Moves `words`, whose range `index` was `before`, to that range as it is now (a moved text's).
void Rebase(std::span<uint64_t> words, size_t index, const code_range& before,
            const code_range& now);

class MovedTexts {
 public:
  // Both outlive this.
  MovedTexts(ExecutableFiles& files, RowMemory& memory) : files_(files), memory_(memory) {}

  // The verdict on a presumed range, from before or made now; BPF gets it as well. nullopt: it is
  // none of the file's.
  std::optional<code_range> Find(const process_key& process, const code_range& range);

  // Forgets verdicts that do not hold any more: of processes that are gone, of memory that holds
  // something else by now, and those against a file, because the copy may have been in the making.
  // What is sampled again is compared again. Every 10 seconds.
  void Recheck();

  size_t size() const { return verdicts_.size(); }

 private:
  struct Verdict {
    process_key process;
    code_range presumed;
    std::optional<code_range> text;
  };
  using Verdicts = std::list<Verdict>;  // Most recently asked for first.
  struct KeyLess {
    bool operator()(const moved_key& a, const moved_key& b) const;
  };
  Verdicts::iterator Forget(Verdicts::iterator verdict);

  ExecutableFiles& files_;
  RowMemory& memory_;
  Verdicts verdicts_;
  std::map<moved_key, Verdicts::iterator, KeyLess> by_key_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_MOVED_TEXT_H_
