#include "kernel/file_user.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>
#include <string>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/text.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMostStatusBytes = 1 << 20;  // 65,536 groups are 700 KiB at most.
constexpr size_t kMostAuxvBytes = 4096;
constexpr uint64_t kOverrides = 1 << 1 | 1 << 2;  // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH.

std::optional<uint64_t> Number(std::string_view digits, int base) {
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, number, base);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

// Numbers of a line; nullopt: something else is in it.
std::optional<std::vector<uint32_t>> Numbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    if (end > 0) {
      const std::optional<uint64_t> number = Number(text.substr(0, end), 10);
      if (!number || *number > UINT32_MAX) return std::nullopt;
      numbers.push_back(static_cast<uint32_t>(*number));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

// Empty: it cannot be read, or is longer than `most_bytes`.
std::string ReadWhole(int directory, const char* name, size_t most_bytes) {
  const UniqueFd fd(openat(directory, name, O_RDONLY | O_CLOEXEC));
  std::string text;
  char chunk[4096];
  while (fd.valid() && text.size() <= most_bytes) {
    const ssize_t got = read(fd.get(), chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "";
    if (got == 0) return text;
    text.append(chunk, static_cast<size_t>(got));
  }
  return "";
}

void ReadAuxv(ForeignJob& job) {
  job.AppendText(ReadWhole(job.Borrow(job.Input<int>()).get(), "auxv", kMostAuxvBytes));
}

bool IsInOwnNamespace(int process_directory) {
  char its[64], own[64];
  const ssize_t its_bytes = readlinkat(process_directory, "ns/user", its, sizeof(its));
  const ssize_t own_bytes = readlink("/proc/self/ns/user", own, sizeof(own));
  // Without user namespaces in the kernel nobody has another one.
  if (own_bytes < 0) return errno == ENOENT;
  return its_bytes == own_bytes && std::memcmp(its, own, static_cast<size_t>(own_bytes)) == 0;
}

}  // namespace

FileUser ParseFileUser(std::string_view status, bool is_own_namespace) {
  constexpr size_t kForFiles = 3;  // Behind the real, the effective and the saved one.
  FileUser user;
  bool has_groups = false;
  uint64_t capabilities = 0;
  for (const std::string_view line : Split(status, '\n')) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view key = line.substr(0, colon), value = line.substr(colon + 1);
    if (key == "CapEff")
      capabilities = Number(value.substr(std::min<size_t>(1, value.size())), 16).value_or(0);
    if (key != "Uid" && key != "Gid" && key != "Groups") continue;
    std::optional<std::vector<uint32_t>> numbers = Numbers(value);
    if (!numbers || (key != "Groups" && numbers->size() <= kForFiles)) return Everybody();
    if (key == "Uid") user.uid = (*numbers)[kForFiles];
    if (key == "Gid") user.gid = (*numbers)[kForFiles];
    if (key == "Groups") user.groups = *std::move(numbers);
    has_groups = has_groups || key == "Groups";
  }
  if (user.uid == FileUser::kNoId || user.gid == FileUser::kNoId || !has_groups) return Everybody();
  user.reads_all = is_own_namespace && (capabilities & kOverrides) != 0;
  return user;
}

bool HasGainedRights(std::string_view auxv) {
  struct Entry {
    uint64_t type, value;
  };
  for (; auxv.size() >= sizeof(Entry); auxv.remove_prefix(sizeof(Entry))) {
    Entry entry;
    std::memcpy(&entry, auxv.data(), sizeof(entry));
    if (entry.type == AT_SECURE) return entry.value != 0;
    if (entry.type == AT_NULL) break;
  }
  return true;
}

FileUser ReadFileUser(int process_directory, uint32_t pid) {
  if (process_directory < 0) return Everybody();
  // Reading it takes a lock of the process's memory.
  const ForeignAnswer auxv = CallForeign(pid, &ReadAuxv, process_directory);
  if (auxv.error != 0 || HasGainedRights(auxv.bytes)) return Everybody();
  return ParseFileUser(ReadWhole(process_directory, "status", kMostStatusBytes),
                       IsInOwnNamespace(process_directory));
}

bool MayUse(const FileUser& user, const FileRights& file, FileUse use) {
  const auto others = static_cast<uint32_t>(use), group = others << 3, owner = others << 6;
  const auto has = [&](uint32_t bits) { return (file.mode & bits) == bits; };
  if (user.reads_all) return true;
  if (user.uid == FileUser::kNoId) return has(owner | group | others) && !file.has_list;
  if (user.uid == file.uid) return has(owner);
  if (file.has_list) return false;
  const bool is_in_group =
      user.gid == file.gid || std::ranges::find(user.groups, file.gid) != user.groups.end();
  return has(is_in_group ? group : others);
}

}  // namespace stackray
