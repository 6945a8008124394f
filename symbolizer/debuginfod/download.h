// One file from one HTTP server into an open file, within bounds of bytes and time.
//
// Input:   the server may be anything: it may hang, send garbage, or never stop. Nothing is kept of
// its headers. Threads: any; each call has its own connection.
#ifndef STACKRAY_SYMBOLIZER_DEBUGINFOD_DOWNLOAD_H_
#define STACKRAY_SYMBOLIZER_DEBUGINFOD_DOWNLOAD_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stackray::debuginfod {

struct DownloadLimits {
  uint64_t max_bytes = 0;
  absl::Duration connect = absl::Seconds(3);
  absl::Duration whole = absl::Seconds(60);
  // Slower than 1 KiB/s for this long ends it: so does a server that says nothing.
  absl::Duration slow = absl::Seconds(10);
};

// Writes the answer's body to `fd` from its beginning. `received` counts its bytes, also of one
// that failed. True in `stop` ends it within a second. Two redirections are followed, to http and
// https only. Errors: NotFound (the server does not have it), ResourceExhausted (over max_bytes),
// DeadlineExceeded, Unavailable (all else).
absl::Status Download(const std::string& url, int fd, const DownloadLimits& limits,
                      const std::atomic<bool>& stop, uint64_t* received);

}  // namespace stackray::debuginfod

#endif  // STACKRAY_SYMBOLIZER_DEBUGINFOD_DOWNLOAD_H_
