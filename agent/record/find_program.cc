#include "agent/record/find_program.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "kernel/text.h"

namespace stackray {
namespace {

constexpr mode_t kAnyExecute = S_IXUSR | S_IXGRP | S_IXOTH;

// 0: it may be started; else errno.
int WhyNot(const std::string& file) {
  struct stat facts = {};
  if (stat(file.c_str(), &facts) != 0) return errno;
  if (S_ISDIR(facts.st_mode)) return EISDIR;
  return (facts.st_mode & kAnyExecute) != 0 ? 0 : EACCES;
}

absl::Status CannotExecute(const std::string& name, int error) {
  return absl::PermissionDeniedError(fmt::format("{}: {}", name, strerror(error)));
}

}  // namespace

absl::Status FindProgram(const std::string& name, const std::string& path) {
  const absl::Status not_found = absl::NotFoundError(fmt::format("{}: command not found", name));
  if (name.empty()) return not_found;
  if (name.find('/') != std::string::npos) {
    const int error = WhyNot(name);
    if (error == ENOENT || error == ENOTDIR) return not_found;
    return error == 0 ? absl::OkStatus() : CannotExecute(name, error);
  }
  int refused = 0;
  for (const std::string_view folder : Split(path, ':')) {
    const int error = WhyNot(fmt::format("{}/{}", folder.empty() ? "." : folder, name));
    if (error == 0) return absl::OkStatus();
    if (error == EACCES) refused = error;
  }
  return refused == 0 ? not_found : CannotExecute(name, refused);
}

int ExitCodeOfExec(const absl::Status& failure) {
  return absl::IsNotFound(failure) ? kExitNotFound : kExitCannotExecute;
}

}  // namespace stackray
