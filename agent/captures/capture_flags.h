// The captures that are asked for by flags: `captures` of the configuration and the files of
// captures-dir. What is wanted here runs; what is no longer wanted stops.
//
// The agent's loop calls Look() each turn. It costs a read that finds nothing, and where inotify
// said something, or ten seconds have passed, a look at the directory's files.
// Threads: one.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_FLAGS_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_FLAGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/captures/capture_files.h"
#include "agent/captures/capture_spec.h"
#include "agent/captures/directory_watch.h"
#include "agent/settings/settings.h"

namespace stackray {

struct WantedCapture {
  // asked_by is the file. duration_ms is that of `for`; with `until`: 0.
  CaptureSpec spec;
  std::optional<int64_t> until_unix_ns;
  bool expired = false;  // `until` is over.
  std::string source;    // "/etc/stackray/captures.d/web.yaml:1", for messages.

  // With a duration: until `until` where there is one.
  CaptureSpec SpecAt(int64_t now_unix_ns) const;
  friend bool operator==(const WantedCapture&, const WantedCapture&) = default;
};

class CaptureFlags {
 public:
  // `steady_ms` is for tests: milliseconds since any moment.
  CaptureFlags(const std::string& directory, std::vector<CaptureEntry> from_config,
               std::string host_name, std::function<int64_t()> steady_ms = {});

  int fd() const { return watch_.fd(); }  // Readable when Look() is worth a turn of its own.

  // True: Wanted() or Problems() is another than before. Never waits. The first call reads all.
  bool Look(int64_t now_unix_ns);

  // Of this host: the configuration's first, then by the files' names. Different names.
  const std::vector<WantedCapture>& Wanted() const { return wanted_; }
  // A file's problem stops nothing that runs.
  const std::vector<CaptureFlagProblem>& Problems() const { return problems_; }

 private:
  bool IsTimeToRead();
  void Collect(int64_t now_unix_ns, std::vector<WantedCapture>& wanted,
               std::vector<CaptureFlagProblem>& problems) const;

  const std::vector<CaptureEntry> from_config_;
  const std::string host_name_;
  const std::function<int64_t()> steady_ms_;
  DirectoryWatch watch_;
  CaptureFiles files_;
  std::optional<int64_t> read_steady_ms_;  // Last; nothing: never.
  bool may_have_changed_ = true;
  int64_t next_expiry_unix_ns_ = 0;
  std::vector<WantedCapture> wanted_;
  std::vector<CaptureFlagProblem> problems_;
};

// What tells a flag from others, also after a restart: one that was changed is another one.
std::string KeyOf(const WantedCapture& wanted);

// Does a host's name match one of these? `*` stands for any letters, `?` for one; case does not
// matter. The name up to its first dot counts as well. Without any glob every name matches.
bool HostMatches(const std::vector<std::string>& globs, std::string_view host_name);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_FLAGS_H_
