#include "kernel/task_records.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bpf/shared/records.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kBufferBytes = 64 << 10;  // Larger than the largest record.

// Hands over the whole records at the front; returns how many bytes they have. -1: no record.
ssize_t TakeWhole(const uint8_t* bytes, size_t size, const TakeRecord& take) {
  size_t at = 0;
  while (size - at >= sizeof(record_header)) {
    const auto* header = reinterpret_cast<const record_header*>(bytes + at);
    const size_t record = header->size_bytes;
    if (record < sizeof(record_header) || record % 8 != 0 || record > kBufferBytes) return -1;
    if (record > size - at) break;
    take({bytes + at, record});
    at += record;
  }
  return static_cast<ssize_t>(at);
}

}  // namespace

absl::Status ReadTaskRecords(int link, const TakeRecord& take) {
  const UniqueFd list(bpf_iter_create(link));
  if (!list.valid())
    return absl::InternalError(absl::StrCat("cannot list tasks: ", strerror(errno)));
  std::vector<uint64_t> words(kBufferBytes / 8);  // Records are aligned to 8 bytes.
  auto* const buffer = reinterpret_cast<uint8_t*>(words.data());
  for (size_t held = 0;;) {
    const ssize_t n = read(list.get(), buffer + held, kBufferBytes - held);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0 || (n == 0 && held != 0))
      return absl::InternalError(absl::StrCat("the list of tasks broke off: ", strerror(errno)));
    if (n == 0) return absl::OkStatus();
    held += static_cast<size_t>(n);
    const ssize_t taken = TakeWhole(buffer, held, take);
    if (taken < 0) return absl::InternalError("the list of tasks holds something else");
    held -= static_cast<size_t>(taken);
    std::memmove(buffer, buffer + taken, held);
  }
}

}  // namespace stackray
