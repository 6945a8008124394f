#include "kernel/process_files.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "kernel/foreign/copy_room.h"
#include "kernel/foreign/foreign_reads.h"
#include "kernel/foreign/mapping_jobs.h"
#include "kernel/foreign/open_jobs.h"
#include "kernel/refused_files.h"

namespace stackray {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

bool HasIdentity(const struct stat& info, const code_range& range) {
  return S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == range.file_size_bytes &&
         info.st_mtim.tv_sec == range.file_mtime_s &&
         static_cast<uint64_t>(info.st_mtim.tv_nsec) == range.file_mtime_ns;
}

absl::Status FailedOpen(int error, std::string_view path) {
  if (error == ETIMEDOUT)
    return absl::DeadlineExceededError(fmt::format("{}: left alone: reads did not return", path));
  return absl::UnavailableError(fmt::format("{}: {}", path, strerror(error)));
}

// The kernel adds " (deleted)" to the path of a file that has lost its name; a name may end so,
// too. Of a copy nobody knows.
void TakePathOfCopy(std::string path, OpenedFile* file) {
  file->deleted = path.ends_with(kDeleted);
  if (file->deleted) path.resize(path.size() - kDeleted.size());
  file->path = std::move(path);
}

// What only the process's user may read.
absl::StatusOr<OpenedFile> CopyRefused(uint32_t pid, const code_range& range, const UniqueFd& place,
                                       std::string path) {
  if (GetRefusedFiles() == nullptr)
    return absl::PermissionDeniedError(fmt::format("root may not read {}", path));
  absl::StatusOr<CopiedFile> copied = GetRefusedFiles()->Copy(place.get(), pid);
  if (!copied.ok())
    return absl::Status(copied.status().code(),
                        fmt::format("{}: {}", path, std::string(copied.status().message())));
  if (!HasIdentity(copied->info, range))
    return absl::FailedPreconditionError(fmt::format("{} was replaced", path));
  OpenedFile file;
  file.fd = std::move(copied->fd);
  file.share = std::move(copied->share);
  TakePathOfCopy(std::move(path), &file);
  return file;
}

struct Opened {
  OpenReply reply;
  std::string path;
  UniqueFd file;
};
absl::StatusOr<Opened> TakeOpened(ForeignAnswer answer, uint32_t pid) {
  Opened opened{.reply = AnswerValue<OpenReply>(answer), .file = std::move(answer.file)};
  if (answer.bytes.size() >= sizeof(OpenReply))
    opened.path = answer.bytes.substr(sizeof(OpenReply));
  if (answer.error == 0 && opened.reply.outcome != OpenOutcome::kFailed) return opened;
  return FailedOpen(answer.error,
                    opened.path.empty() ? fmt::format("process {}", pid) : opened.path);
}

OpenedFile FileOf(Opened opened) {
  OpenedFile file{.fd = std::move(opened.file),
                  .path = std::move(opened.path),
                  .deleted = opened.reply.is_deleted != 0};
  if (opened.reply.file.is_copy != 0)
    file.share = TakeCopyRoom(static_cast<uint64_t>(opened.reply.file.info.st_size));
  return file;
}

// The facts of files that root may not read, from who reads them; as KnownFiles of the job did not
// have them.
void FillRefused(uint32_t pid, std::vector<code_range>* ranges) {
  std::map<std::pair<uint32_t, uint64_t>, struct stat> known;
  for (code_range& range : *ranges) {
    if (range.kind != RANGE_FILE || range.file_mtime_ns != kRefusedFacts) continue;
    range.file_mtime_ns = 0;
    const auto [it, is_new] = known.try_emplace({range.file.device, range.file.inode});
    if (is_new && GetRefusedFiles() != nullptr) {
      const std::string name = MapFileName(range.start, range.end);
      const ForeignAnswer place = CallForeign(
          pid, &FindPlace, {reinterpret_cast<const uint8_t*>(name.data()), name.size()});
      absl::StatusOr<CopiedFile> looked = absl::NotFoundError("");
      if (place.file.valid()) looked = GetRefusedFiles()->Look(place.file.get(), pid);
      if (looked.ok()) it->second = looked->info;
    }
    range.file_size_bytes = static_cast<uint64_t>(it->second.st_size);
    range.file_mtime_s = it->second.st_mtim.tv_sec;
    range.file_mtime_ns = static_cast<uint32_t>(it->second.st_mtim.tv_nsec);
  }
}

absl::StatusOr<std::vector<code_range>> TakeRanges(const ForeignAnswer& answer, uint32_t pid) {
  if (answer.error == ESRCH) return absl::NotFoundError(fmt::format("process {} is gone", pid));
  if (answer.error != 0)
    return FailedOpen(answer.error, fmt::format("mappings of process {}", pid));
  std::vector<code_range> ranges(answer.bytes.size() / sizeof(code_range));
  std::memcpy(ranges.data(), answer.bytes.data(), ranges.size() * sizeof(code_range));
  FillRefused(pid, &ranges);
  return ranges;
}

}  // namespace

std::string PathOfRange(uint32_t pid, const code_range& range) {
  return ReadForeignLink(pid, MapFileName(range.start, range.end));
}

absl::StatusOr<std::string> FindExecutableMapping(uint32_t pid, AcceptsPath accepts) {
  const ForeignAnswer answer = CallForeign(pid, &FindMappingOfPath, accepts);
  if (answer.error == ENOENT) return absl::NotFoundError("no such mapping");
  if (answer.error != 0) return absl::NotFoundError(fmt::format("process {} is gone", pid));
  const auto bounds = AnswerValue<MappingBounds>(answer);
  return MapFileName(bounds.start, bounds.end);
}

uint32_t KernelDevice(uint64_t st_dev) {
  return static_cast<uint32_t>(major(st_dev) << 20 | minor(st_dev));
}

absl::StatusOr<OpenedFile> OpenRangeFile(uint32_t pid, const code_range& range,
                                         const std::string& hint_path) {
  const RangeFileQuestion question = {.range = range, .most_copy_bytes = CopyRoomLeft()};
  absl::StatusOr<Opened> opened =
      TakeOpened(CallForeign(pid, &OpenFileOfRange, question, hint_path), pid);
  if (!opened.ok()) return opened.status();
  switch (opened->reply.outcome) {
    case OpenOutcome::kOpened: return FileOf(*std::move(opened));
    case OpenOutcome::kRefused: return CopyRefused(pid, range, opened->file, opened->path);
    case OpenOutcome::kReplaced:
      return absl::FailedPreconditionError(fmt::format("{} was replaced", opened->path));
    default: return absl::NotFoundError("the mapping is gone");
  }
}

absl::StatusOr<OpenedFile> OpenProgramFile(uint32_t pid, const file_key& key,
                                           const std::string& path, code_range* seen) {
  const ProgramFileQuestion question = {.key = key, .most_copy_bytes = CopyRoomLeft()};
  absl::StatusOr<Opened> opened =
      TakeOpened(CallForeign(pid, &OpenFileOfProgram, question, path), pid);
  if (!opened.ok()) return opened.status();
  if (opened->reply.outcome == OpenOutcome::kReplaced)
    return absl::FailedPreconditionError(fmt::format("{} has another inode", path));
  if (opened->reply.outcome != OpenOutcome::kOpened)
    return absl::NotFoundError(fmt::format("{} is not there any more", path));
  const struct stat& info = opened->reply.file.info;
  *seen = {.file = key,
           .file_size_bytes = static_cast<uint64_t>(info.st_size),
           .file_mtime_s = info.st_mtim.tv_sec,
           .file_mtime_ns = static_cast<uint32_t>(info.st_mtim.tv_nsec),
           .kind = RANGE_FILE};
  OpenedFile file = FileOf(*std::move(opened));
  file.path = path;
  return file;
}

absl::StatusOr<std::vector<code_range>> ReadExecutableRanges(uint32_t pid) {
  return TakeRanges(CallForeign(pid, &ListExecutableRanges, {}), pid);
}

absl::StatusOr<code_range> FindExecutableRange(uint32_t pid, uint64_t address) {
  const ForeignAnswer answer = CallForeign(pid, &FindRangeAt, address);
  switch (answer.error) {
    case 0: break;
    case ENOENT: return absl::NotFoundError("no such mapping");
    case ENOTTY: return absl::UnimplementedError("this kernel cannot say one mapping");
    default: return absl::FailedPreconditionError("the process is gone");
  }
  std::vector<code_range> one = {AnswerValue<code_range>(answer)};
  FillRefused(pid, &one);
  return one.front();
}

absl::StatusOr<std::vector<code_range>> ReadFileRangesAround(uint32_t pid, uint64_t start,
                                                             uint64_t end) {
  return TakeRanges(CallForeign(pid, &ListRangesAround, AroundQuestion{start, end}), pid);
}

uint64_t ReadProgramEntry(uint32_t pid) {
  constexpr size_t kMostBytes = 128 * sizeof(uint64_t);  // Pairs of a type and a value, to AT_NULL.
  const std::string bytes = ReadForeignText(pid, "auxv", kMostBytes);
  std::array<uint64_t, 2> pair;
  for (size_t at = 0; at + sizeof(pair) <= bytes.size(); at += sizeof(pair)) {
    std::memcpy(pair.data(), bytes.data() + at, sizeof(pair));
    if (pair[0] == AT_ENTRY) return pair[1];
  }
  return 0;
}

}  // namespace stackray
