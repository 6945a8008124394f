#include "agent/history/whole_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "kernel/unique_fd.h"

namespace stackray {
namespace {

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    if (wrote == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return 0;
}

}  // namespace

int WriteWholeFile(int directory, const std::string& name, const std::string& making,
                   std::string_view bytes) {
  unlinkat(directory, making.c_str(), 0);
  const UniqueFd file(openat(directory, making.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return errno;
  int error = WriteAll(file.get(), bytes);
  if (error == 0 && renameat(directory, making.c_str(), directory, name.c_str()) != 0)
    error = errno;
  if (error != 0) unlinkat(directory, making.c_str(), 0);
  return error;
}

}  // namespace stackray
