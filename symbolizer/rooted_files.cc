#include "symbolizer/rooted_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "kernel/user_files.h"

namespace stackray {

RootedFiles::RootedFiles(const std::string& directory, FileUser user)
    : root_(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), user_(std::move(user)) {}

RootedFiles RootedFiles::OfProcess(const std::string& proc, uint32_t pid) {
  ProcessPlace place = OpenProcessPlace(proc, pid);
  return {std::move(place.root), std::move(place.user)};
}

std::unique_ptr<FileSource> RootedFiles::Open(const std::string& path) const {
  const absl::StatusOr<UniqueFd> found = FindUserFile(root_.get(), path, user_, FollowLinks::kAll);
  absl::StatusOr<UniqueFd> file = found.ok() ? OpenFound(found->get()) : found.status();
  return file.ok() ? FileSource::Take(*std::move(file)) : nullptr;
}

std::vector<std::string> RootedFiles::List(const std::string& path, size_t most) const {
  const absl::StatusOr<UniqueFd> place =
      FindUserDirectory(root_.get(), path, user_, FollowLinks::kAll);
  UniqueFd fd(place.ok() ? openat(place->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  DIR* const stream = fd.valid() ? fdopendir(fd.get()) : nullptr;
  if (stream == nullptr) return {};
  fd.release();  // closedir() closes it.
  std::vector<std::string> names;
  for (const dirent* entry; names.size() < most && (entry = readdir(stream)) != nullptr;)
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  closedir(stream);
  return names;
}

}  // namespace stackray
