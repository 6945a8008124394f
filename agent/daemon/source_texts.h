// Lines of source files that debug information or scripts of profiled processes name, for one
// answer of the page.
//
// A name is the word of a foreign process, which may lie: it must not show what that process could
// not read itself. So a file is looked for in the root (or, of a relative name, the working
// directory) of a process that samples are of and that still runs under its name; no part of the
// way may be a link or "..", and the user that the samples have must be able to read it
// (kernel/user_files.h). It must be a regular file of a real file system, text of at most
// kMostFileBytes, and older than the process: what was written later need not be what runs.
//
// Input:   any bytes. Memory: kMostBytes. Threads: one owns it. Errors: none; no text.
#ifndef STACKRAY_AGENT_DAEMON_SOURCE_TEXTS_H_
#define STACKRAY_AGENT_DAEMON_SOURCE_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/unique_fd.h"
#include "kernel/user_names.h"
#include "reporter/page/page_answer.h"

namespace stackray {

class SourceTexts {
 public:
  static constexpr size_t kMostFileBytes = size_t{4} << 20, kMostBytes = size_t{16} << 20;
  static constexpr size_t kMostFiles = 64;     // That are looked for.
  static constexpr size_t kLongestLine = 300;  // Bytes of a line; the rest is left out.
  static constexpr size_t kLongestName = 4096, kMostParts = 64;

  // Valid UTF-8 in one line, without the space around it. Lines count from 1.
  std::optional<std::string> Line(std::string_view file, uint32_t line,
                                  const std::vector<PageProcess>& processes);

 private:
  struct Text {
    std::string bytes;
    std::vector<size_t> begins;  // Of its lines.
  };
  Text Read(const std::string& file, const std::vector<PageProcess>& processes);
  UniqueFd Open(const std::string& file, const PageProcess& process);

  std::map<std::string, Text, std::less<>> files_;
  size_t bytes_ = 0;
  UserNames users_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_SOURCE_TEXTS_H_
