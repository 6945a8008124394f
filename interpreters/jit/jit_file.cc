#include "interpreters/jit/jit_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "kernel/foreign/foreign_reads.h"
#include "kernel/foreign/open_jobs.h"
#include "kernel/process_files.h"

namespace stackray {
namespace {

absl::Status Refused(absl::string_view why) { return absl::PermissionDeniedError(why); }

// `place`: O_PATH of a regular file. A copy would not grow with the file, so none is made.
absl::StatusOr<UniqueFd> OpenChecked(int place, const JitFileOwner& owner, int64_t oldest_unix_ns,
                                     uint32_t pid) {
  const std::optional<KnownFacts> facts = FactsOfPlace(place);
  if (!facts) return absl::NotFoundError("the file is gone");
  const uint32_t uid = facts->rights.uid;
  if (uid != 0 && std::ranges::find(owner.uids, uid) == owner.uids.end())
    return Refused("another user's");
  if (facts->mtime_ns < oldest_unix_ns) return Refused("older than the process");
  absl::StatusOr<FoundUserFile> found = OpenFound(place, 0, pid);
  if (!found.ok()) return found.status();
  return std::move(found->fd);
}

}  // namespace

std::optional<JitFileOwner> ParseJitFileOwner(const std::string& status) {
  JitFileOwner owner;
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    const std::vector<uint32_t> numbers(std::istream_iterator<uint32_t>(words), {});
    if (key == "Uid:") owner.uids = numbers;
    if (key == "NSpid:" && !numbers.empty()) owner.inner_pid = numbers.back();
  }
  if (owner.uids.empty() || owner.inner_pid == 0) return std::nullopt;
  return owner;
}

std::optional<JitFileOwner> ReadJitFileOwner(uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::ostringstream text;
  text << file.rdbuf();
  return ParseJitFileOwner(text.str());
}

absl::StatusOr<UniqueFd> OpenJitFile(const ProcessPlace& place, const std::string& path,
                                     const JitFileOwner& owner, int64_t oldest_unix_ns) {
  const absl::StatusOr<UniqueFd> found =
      FindUserFile(place.root.get(), path, place.user, FollowLinks::kOfDirectories, place.pid);
  if (!found.ok()) return found.status();
  return OpenChecked(found->get(), owner, oldest_unix_ns, place.pid);
}

bool IsJitDumpPath(std::string_view path) {
  constexpr std::string_view kBegin = "jit-", kEnd = ".dump", kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  path = path.substr(path.rfind('/') + 1);
  if (!path.starts_with(kBegin) || !path.ends_with(kEnd)) return false;
  path.remove_prefix(kBegin.size());
  if (path.size() <= kEnd.size()) return false;
  path.remove_suffix(kEnd.size());
  return path.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsMemoryFilePath(std::string_view path) { return path.starts_with("/memfd:"); }

absl::StatusOr<UniqueFd> OpenMarkedJitDump(uint32_t pid, const JitFileOwner& owner,
                                           const FileUser& user) {
  const absl::StatusOr<std::string> mapping = FindExecutableMapping(pid, IsJitDumpPath);
  if (!mapping.ok()) return mapping.status();
  const ForeignAnswer place = CallForeign(
      pid, &FindPlace, {reinterpret_cast<const uint8_t*>(mapping->data()), mapping->size()});
  if (!place.file.valid()) return absl::NotFoundError("the mapping is gone");
  if (absl::Status status = CheckUserFile(place.file.get(), user, pid); !status.ok()) return status;
  return OpenChecked(place.file.get(), owner, 0, pid);
}

}  // namespace stackray
