// Where the debug information of an executable is, when it is not in the executable itself:
//   1. /usr/lib/debug/.build-id/xx/yyyy.debug, by the executable's GNU build id
//   2. .gnu_debuglink: beside the executable, in .debug/ there, and under /usr/lib/debug
// Each first in the root of a process that runs it, as that process's user, then in the agent's own
// root, where only what every user may read is taken. A file counts only when its build id is the
// executable's or, where one has none, its CRC-32 is the link's: so a container cannot pass another
// file off as the debug information of what it does not run itself.
// Input:   names and links are hostile; see rooted_files.h.
// Threads: one.
#ifndef STACKRAY_SYMBOLIZER_DEBUG_FILES_H_
#define STACKRAY_SYMBOLIZER_DEBUG_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "symbolizer/debug_links.h"
#include "symbolizer/executable_info.h"
#include "symbolizer/rooted_files.h"

namespace stackray {

// A file that was found, and how what it names in turn is found.
struct FoundFile {
  std::unique_ptr<ByteSource> source;  // nullptr: not found.
  std::string path;                    // In its root.
};

class DebugFiles {
 public:
  // Of process `pid`. `proc` is "/proc" and `own_root` is "/" but in tests.
  DebugFiles(const std::string& proc, uint32_t pid, const std::string& own_root)
      : process_(RootedFiles::OfProcess(proc, pid)), own_(own_root, Everybody()) {}

  // Of the executable with these headers and bytes, known under `info.path` in the process's root.
  FoundFile FindSeparate(const ElfImage& image, const ByteSource& source,
                         const ExecutableInfo& info) const;
  // A file that the one at `from` names: absolute, or relative to the directory of `from`. In the
  // process's root, then in our own. Callers check that it is the one that was meant.
  std::unique_ptr<ByteSource> OpenRelated(const std::string& from, const std::string& path) const;

 private:
  std::unique_ptr<ByteSource> OpenAnywhere(const std::string& path) const;
  FoundFile FindByBuildId(const std::string& build_id) const;
  FoundFile FindByLink(const DebugLink& link, const ExecutableInfo& info) const;

  RootedFiles process_, own_;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_DEBUG_FILES_H_
