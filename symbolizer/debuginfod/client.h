// Debug files by build id from debuginfod servers (their protocol: GET
// URL/buildid/BUILDID/debuginfo), in the background.
//
// A question is answered at once: the file, "not yet", or "no". A thread of its own downloads one
// file after the other; nobody ever waits for it. What a server does wrong costs that file's lines
// and nothing else:
//   - a file is bounded in bytes and time, and all of an hour in bytes;
//   - what is not an ELF file of that build id is thrown away;
//   - "no" of all servers is believed for an hour, a failure for five minutes; a server that failed
//     three times in a row is left alone for five minutes.
//
// Memory:  some 100 bytes a build id, at most kMaxKnown of them.
// Threads: Find() from any; the downloads have a thread of their own, which ends with this object
//          within a second.
#ifndef STACKRAY_SYMBOLIZER_DEBUGINFOD_CLIENT_H_
#define STACKRAY_SYMBOLIZER_DEBUGINFOD_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "symbolizer/debuginfod/download.h"
#include "symbolizer/debuginfod/file_cache.h"

namespace stackray::debuginfod {

struct ClientSettings {
  std::vector<std::string> urls;  // Asked in order; none: there is no client.
  std::string directory;          // Of the cache.
  uint64_t cache_bytes = 512 << 20;
  uint64_t hour_bytes = 1 << 30;  // Downloaded in an hour, at most.
  // Of one file; its bytes are bounded by the cache's as well.
  DownloadLimits file = {.max_bytes = 512 << 20};
  absl::Duration believe_no = absl::Hours(1);
  absl::Duration believe_failure = absl::Minutes(5);
};

struct Answer {
  std::unique_ptr<FileSource> file;  // nullptr: none, or not yet.
  bool is_pending = false;           // It may come.
};

struct ClientCounts {
  uint64_t downloaded = 0, not_found = 0, failed = 0;
  uint64_t bytes = 0;  // Received, of failed ones too.
};

class Client {
 public:
  static constexpr size_t kMaxKnown = 4096;
  static constexpr size_t kMaxQueue = 256;

  // Errors: as FileCache::Open.
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientSettings settings);
  ~Client();

  // `build_id` in lower-case hex. Never waits for a server.
  Answer Find(const std::string& build_id);
  ClientCounts counts() const;
  // Waits until nothing is left to download, for tests. False: not by then.
  bool WaitUntilIdle(absl::Time deadline);

 private:
  enum class State { kWanted, kNo };
  struct Known {
    State state;
    absl::Time until;  // kNo: when it may be asked again.
  };
  struct Server {
    int failures = 0;  // In a row.
    absl::Time silent_until = absl::InfinitePast();
  };

  Client(ClientSettings settings, FileCache cache);
  void Run();
  absl::Status Fetch(const std::string& build_id);
  absl::Status FetchFrom(size_t server, const std::string& build_id);
  uint64_t BytesLeftInHour();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || !queue_.empty(); }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty() && !busy_; }

  const ClientSettings settings_;
  const FileCache cache_;
  // The thread's alone.
  std::vector<Server> servers_;
  absl::Time hour_begin_;
  uint64_t hour_bytes_ = 0;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> queue_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  ClientCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace stackray::debuginfod

#endif  // STACKRAY_SYMBOLIZER_DEBUGINFOD_CLIENT_H_
