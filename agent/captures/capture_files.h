// The files of captures-dir and what they ask for.
//
// Read are the names *.yaml, *.yml and *.json that do not begin with a dot; symbolic links are
// followed, as a Kubernetes ConfigMap's files are links. A file that cannot be read or understood
// keeps what it asked for before, until it is right again or gone. Files that others than root may
// change are not read (trusted_path.h).
// Input: the files may hold anything: at most 256 of them, 256 KiB each; pipes and devices are
// refused. Threads: one.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_FILES_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_FILES_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "agent/settings/settings.h"

namespace stackray {

struct CaptureFlagProblem {
  std::string file;
  std::string text;

  friend bool operator==(const CaptureFlagProblem&, const CaptureFlagProblem&) = default;
};

class CaptureFiles {
 public:
  static constexpr size_t kMostFiles = 256;
  static constexpr size_t kMostFileBytes = 256 * 1024;

  explicit CaptureFiles(std::string directory) : directory_(std::move(directory)) {}

  // Reads what has changed since the last call. False: nothing has.
  bool Read();

  // By the files' names, each in its order.
  std::vector<CaptureEntry> Entries() const;
  std::vector<CaptureFlagProblem> Problems() const;

 private:
  using Identity = std::array<int64_t, 7>;
  struct File {
    Identity identity = {};  // All zero: read it again.
    std::vector<CaptureEntry> entries;
    std::string problem;
  };

  // The names of such files, sorted. False: the directory cannot be read, and what is known stays.
  bool ListNames(std::vector<std::string>* names);
  bool ReadFile(const std::string& name);
  bool NoteFailure(const std::string& name, int error);
  absl::Status ReadEntries(int fd, const std::string& name, File& file) const;

  const std::string directory_;
  std::map<std::string, File> files_;
  std::string problem_;  // Of the directory.
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_FILES_H_
