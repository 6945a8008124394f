#include "agent/file_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>

#include "reporter/batch_file.h"

namespace stackray {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kSmallFileBytes = 64 * kMiB, kTimesFile = 4;
constexpr uint64_t kProgramBytes = 24 * kMiB;  // Of its own files: text, not data.
constexpr uint64_t kSmallView = 12 * kMiB, kMostView = 256 * kMiB;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasBound = false;  // Their shadow memory is data, too.
#else
constexpr bool kHasBound = true;
#endif

uint64_t SizeOf(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return kMaxBatchFileFrameBytes;
  return static_cast<uint64_t>(facts.st_size);
}

// Takes back at its end what it has set.
class DataBound {
 public:
  explicit DataBound(uint64_t bytes) {
    if (!kHasBound || getrlimit(RLIMIT_DATA, &before_) != 0) return;
    const rlimit bound{std::min<rlim_t>(bytes, before_.rlim_cur), before_.rlim_max};
    set_ = setrlimit(RLIMIT_DATA, &bound) == 0;
  }
  ~DataBound() {
    if (set_) setrlimit(RLIMIT_DATA, &before_);
  }
  DataBound(const DataBound&) = delete;
  DataBound& operator=(const DataBound&) = delete;

 private:
  rlimit before_{};
  bool set_ = false;
};

}  // namespace

uint64_t FileMemoryBytes(const std::string& path) {
  return kSmallFileBytes + kTimesFile * SizeOf(path);
}

size_t ViewBytesOf(const std::string& path) {
  return static_cast<size_t>(std::min(kMostView, kSmallView + SizeOf(path)));
}

// Nothing else of this program throws; what has no memory unwinds to here.
absl::Status WithinFileMemory(const std::string& path, absl::FunctionRef<absl::Status()> read) {
  const uint64_t bytes = FileMemoryBytes(path);
  const DataBound bound(bytes - kProgramBytes);
  try {
    return read();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        fmt::format("{} would take more than {} MiB of memory, which is 64 MiB and four times its "
                    "size: it is damaged, or made to do harm",
                    path, bytes / kMiB));
  }
}

}  // namespace stackray
