#include "reporter/export/tls_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace stackray {

absl::StatusOr<std::string> ReadPemFile(const std::string& path, const std::string& what) {
  constexpr size_t kMaxBytes = 1 << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int code = errno;
    return absl::ErrnoToStatus(
        code,
        fmt::format("{} file {} cannot be opened; check the path and its permissions", what, path));
  }
  std::string bytes(kMaxBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (bytes.size() > kMaxBytes)
    return absl::InvalidArgumentError(fmt::format("{} file {} is larger than 1 MiB", what, path));
  if (bytes.find("-----BEGIN ") == std::string::npos)
    return absl::InvalidArgumentError(fmt::format(
        "{} file {} is not PEM (it has no \"-----BEGIN\" line); convert it with openssl", what,
        path));
  return bytes;
}

}  // namespace stackray
