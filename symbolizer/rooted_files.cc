#include "symbolizer/rooted_files.h"

#include <fcntl.h>

#include "kernel/foreign/copy_room.h"
#include "kernel/user_files.h"

namespace stackray {

RootedFiles::RootedFiles(const std::string& directory, FileUser user)
    : root_(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), user_(std::move(user)) {}

RootedFiles RootedFiles::OfProcess(const std::string& proc, uint32_t pid) {
  ProcessPlace place = OpenProcessPlace(proc, pid);
  return {std::move(place.root), std::move(place.user), pid};
}

std::unique_ptr<FileSource> RootedFiles::Open(const std::string& path) const {
  const absl::StatusOr<UniqueFd> found =
      FindUserFile(root_.get(), path, user_, FollowLinks::kAll, pid_);
  if (!found.ok()) return nullptr;
  absl::StatusOr<FoundUserFile> file = OpenFound(found->get(), CopyRoomLeft(), pid_);
  return file.ok() ? FileSource::Take(std::move(file->fd), std::move(file->share)) : nullptr;
}

std::vector<std::string> RootedFiles::List(const std::string& path, size_t most) const {
  return ListUserDirectory(root_.get(), path, user_, most, pid_)
      .value_or(std::vector<std::string>());
}

}  // namespace stackray
