#include "symbolizer/debuginfod/download.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace stackray::debuginfod {
namespace {

constexpr long kSlowBytesPerSecond = 1024;
constexpr long kMaxRedirects = 2;
constexpr long kNotFound = 404;

struct Transfer {
  CURL* easy;
  int fd;
  uint64_t max_bytes;
  const std::atomic<bool>* stop;
  uint64_t received = 0;
  bool is_too_large = false;
};

bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

// The bodies of errors and redirections are counted like others, and not kept.
size_t TakeBody(char* data, size_t size, size_t count, void* user_data) {
  auto* transfer = static_cast<Transfer*>(user_data);
  const size_t bytes = size * count;
  transfer->received += bytes;
  transfer->is_too_large = transfer->received > transfer->max_bytes;
  if (transfer->is_too_large) return 0;
  long status = 0;
  curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200 && !WriteAll(transfer->fd, data, bytes)) return 0;
  return bytes;
}

int CheckStop(void* user_data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user_data)->stop->load(std::memory_order_relaxed) ? 1 : 0;
}

void SetOptions(CURL* easy, const std::string& url, const DownloadLimits& limits,
                Transfer* transfer) {
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "stackray");
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, CheckStop);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(limits.connect)));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(limits.whole)));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                   std::max<long>(1, static_cast<long>(absl::ToInt64Seconds(limits.slow))));
  curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limits.max_bytes));
}

}  // namespace

absl::Status Download(const std::string& url, int fd, const DownloadLimits& limits,
                      const std::atomic<bool>& stop, uint64_t* received) {
  static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (global != CURLE_OK || easy == nullptr)
    return absl::UnavailableError("libcurl does not start");
  Transfer transfer{easy.get(), fd, limits.max_bytes, &stop};
  SetOptions(easy.get(), url, limits, &transfer);
  const CURLcode code = curl_easy_perform(easy.get());
  *received = transfer.received;
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (transfer.is_too_large || code == CURLE_FILESIZE_EXCEEDED)
    return absl::ResourceExhaustedError("the file is larger than allowed");
  if (code == CURLE_OPERATION_TIMEDOUT)
    return absl::DeadlineExceededError("the server did not answer in time");
  if (code != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(code));
  if (status == kNotFound) return absl::NotFoundError("the server does not have it");
  if (status != 200) return absl::UnavailableError(fmt::format("the server answered {}", status));
  return absl::OkStatus();
}

}  // namespace stackray::debuginfod
