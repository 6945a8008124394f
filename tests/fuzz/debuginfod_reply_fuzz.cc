// libs: stackray_debuginfod stackray_fmt Threads::Threads
// What a debuginfod server answers: any bytes as a whole reply, and as the file in it, which the
// cache keeps when it is an ELF file of the build id that was asked for.
//
// All that libcurl would ask elsewhere, because of a redirection, goes to the same server on the
// loopback interface, as its proxy.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "symbolizer/build_id.h"
#include "symbolizer/debuginfod/download.h"
#include "symbolizer/debuginfod/file_cache.h"
#include "symbolizer/elf_image.h"
#include "tests/symbolizer/debuginfod/loopback_server.h"

namespace {

namespace debuginfod = stackray::debuginfod;
using stackray::test::LoopbackServer;

constexpr uint64_t kMostFileBytes = 64 << 10, kCacheBytes = 128 << 10;
constexpr uint32_t kAnswersOfOneServer = 4096;  // It remembers what it was asked for.
constexpr char kNobodysId[] = "00000000000000000000000000000000deadbeef";

void Check(bool holds) {
  if (!holds) std::abort();
}

// A server that answers these bytes to everything.
class Server {
 public:
  const std::string& url(std::string_view reply) {
    if (answers_++ % kAnswersOfOneServer == 0) {
      server_ = nullptr;
      server_ = std::make_unique<LoopbackServer>(
          [this](const std::string&, const LoopbackServer::Send& send) { send(reply_); });
      url_ = server_->url();
      for (const char* variable : {"http_proxy", "https_proxy", "all_proxy"})
        setenv(variable, url_.c_str(), 1);
      for (const char* variable : {"no_proxy", "NO_PROXY"}) unsetenv(variable);
    }
    reply_ = reply;  // Nobody is asking now.
    return url_;
  }

 private:
  std::string reply_, url_;
  uint32_t answers_ = 0;
  std::unique_ptr<LoopbackServer> server_;
};

class CacheDirectory {
 public:
  CacheDirectory() {
    char pattern[] = "/tmp/stackray-debuginfod-fuzz-XXXXXX";
    Check(mkdtemp(pattern) != nullptr);
    path_ = pattern;
  }
  ~CacheDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) sum += entry.file_size();
    return sum;
  }

 private:
  std::string path_;
};

void FetchReply(std::string_view reply) {
  static Server server;
  const stackray::UniqueFd file(memfd_create("reply", MFD_CLOEXEC));
  Check(file.valid());
  const std::atomic<bool> stop{false};
  uint64_t received = 0;
  const absl::Status status = debuginfod::Download(
      server.url(reply) + "/buildid/" + kNobodysId + "/debuginfo", file.get(),
      {.max_bytes = kMostFileBytes, .whole = absl::Seconds(5)}, stop, &received);
  struct stat info = {};
  Check(fstat(file.get(), &info) == 0);
  Check(static_cast<uint64_t>(info.st_size) <= std::min(received, kMostFileBytes));
  Check(!absl::IsDeadlineExceeded(status));  // The server always ends the connection.
}

void KeepFile(std::string_view bytes) {
  static const CacheDirectory directory;
  const auto cache = debuginfod::FileCache::Open(directory.path(), kCacheBytes);
  Check(cache.ok());
  const absl::StatusOr<stackray::UniqueFd> file = cache->Create();
  Check(file.ok());
  Check(write(file->get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const stackray::MemorySource source(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  const auto image = stackray::ElfImage::Create(source);
  const std::string id = image.ok() ? stackray::GnuBuildId(*image) : std::string();
  if (id != kNobodysId) Check(!cache->Keep(*file, kNobodysId).ok());
  const bool is_kept = cache->Keep(*file, id).ok();
  Check(is_kept == debuginfod::IsBuildId(id));
  if (const auto found = cache->Find(id)) Check(is_kept && found->size_bytes() <= kCacheBytes);
  Check(directory.bytes() <= kCacheBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view reply(reinterpret_cast<const char*>(data), size);
  FetchReply(reply);
  const size_t head = std::min(reply.find("\n\n"), reply.size());
  KeepFile(reply.substr(std::min(head + 2, reply.size())));
  return 0;
}
