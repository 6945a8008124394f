// Inlined functions and source lines of native code, from debug information wherever it is: in the
// executable, in a separate debug file, and for stripped executables the names of that file's
// symbol table or of .gnu_debugdata. Go programs have a table of their own, which the runtime uses:
// it is asked first, and debug information only where it does not know the address (C code in a Go
// program).
//
// This is the slow half of a native name; frame_names.h is the fast one. A function of (executable,
// address) as long as the files stay what they are; what is kept here only saves work.
//
// Input:   files of foreign processes; bounded by dwarf/debug_file.h and symbol_table.h. An
//          executable's debug file is looked for with the rights of the process that is asked for
//          first (debug_files.h), and what was found is every process's that runs this file.
// Memory:  `cache_bytes` of what files say, at most kMaxOpenFiles files open, and the file used
//          last. Disk: what is unpacked, at most dwarf::kMostScratchBytes; for a file that is
//          opened the files used longest ago give theirs back. Threads: one.
#ifndef STACKRAY_SYMBOLIZER_SOURCE_LINES_H_
#define STACKRAY_SYMBOLIZER_SOURCE_LINES_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profile/frame.h"
#include "symbolizer/debug_files.h"
#include "symbolizer/debuginfod/client.h"
#include "symbolizer/dwarf/debug_file.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/frame_names.h"

namespace stackray {

struct SourceLinesSettings {
  size_t cache_bytes = 8 << 20;
  dwarf::ScratchSettings scratch;
  std::string own_root = "/";
  std::string proc = "/proc";
  // Asked for debug files that are nowhere on this host. No servers: nobody is.
  debuginfod::ClientSettings debuginfod;
};

class SourceLines {
 public:
  static constexpr size_t kMaxOpenFiles = 32;

  explicit SourceLines(SourceLinesSettings settings);
  ~SourceLines();

  // Lines of the code at `elf_address` of a file that process `pid` runs, innermost first. The last
  // is the function that the code belongs to, by its symbol where one is known; it has no name
  // where only the line is known. Empty: nothing is known beyond what the executable's own symbols
  // say, or a file was overwritten while it was read.
  std::vector<SourceLine> Resolve(uint32_t pid, const ExecutableFilePtr& file,
                                  uint64_t elf_address);

  // True when Resolve() says nothing of any address of that file. Of the file asked last.
  bool IsBare() const;
  // True when more may be known of that file later: its debug file is being downloaded, or was
  // overwritten.
  bool IsPending() const;
  // Why there is no debuginfod though servers are set. OK: there is, or none are.
  const absl::Status& download_status() const { return download_status_; }

  void Wipe();
  // Files that are open keep the bound that they were opened with: they are closed where it becomes
  // less.
  void SetCacheBytes(size_t cache_bytes);
  // Closes executables that are deleted, so that their space is free again.
  void DropDeleted();
  size_t bytes() const;

 private:
  struct OpenFile;
  OpenFile& Find(uint32_t pid, const ExecutableFilePtr& file);
  void OpenDebug(uint32_t pid, const ElfImage& image, OpenFile& open);
  void FindDebug(uint32_t pid, const ElfImage& image, OpenFile& open) const;
  void Evict();
  void MakeRoomOnDisk();

  void TakeDownload(OpenFile& open) const;

  SourceLinesSettings settings_;
  absl::Status download_status_;
  std::unique_ptr<debuginfod::Client> downloads_;  // nullptr: not asked for, or not possible.
  std::list<std::unique_ptr<OpenFile>> files_;     // Used last first.
};

// `lines` of a frame whose executable calls it `own` (or not at all, when empty): the executable's
// name of the function stays, so that a function is called the same with and without debug
// information.
std::vector<SourceLine> WithOwnName(std::vector<SourceLine> lines,
                                    const std::vector<SourceLine>& own);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_SOURCE_LINES_H_
