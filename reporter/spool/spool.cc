#include "reporter/spool/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

#include "reporter/spool/spool_directory.h"
#include "reporter/spool/spool_file.h"

namespace stackray {
namespace {

constexpr size_t kMaxNames = 262'144;

// 0 when all of both parts is in the file, else the error; a full disk may first write a part.
int WriteBoth(int fd, std::string_view head, std::string_view body) {
  off_t offset = 0;
  while (!head.empty() || !body.empty()) {
    const iovec parts[] = {{const_cast<char*>(head.data()), head.size()},
                           {const_cast<char*>(body.data()), body.size()}};
    const ssize_t wrote = pwritev(fd, parts, 2, offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return wrote < 0 ? errno : ENOSPC;
    offset += wrote;
    const size_t of_head = std::min(head.size(), static_cast<size_t>(wrote));
    head.remove_prefix(of_head);
    body.remove_prefix(static_cast<size_t>(wrote) - of_head);
  }
  return 0;
}

bool IsWhole(int directory, const SpoolEntry& entry) {
  struct stat facts;
  return fstatat(directory, entry.FileName().c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(facts.st_mode) && entry.MayHaveSize(static_cast<uint64_t>(facts.st_size));
}

}  // namespace

Spool::Spool(SpoolSettings settings, UniqueFd directory, UniqueFd lock)
    : settings_(std::move(settings)), directory_(std::move(directory)), lock_(std::move(lock)) {}

int64_t Spool::NowMs() const {
  if (settings_.now_ms) return settings_.now_ms();
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<OpenedSpool> Spool::Open(SpoolSettings settings) {
  OpenedSpool opened;
  absl::StatusOr<SpoolDirectory> directory =
      OpenSpoolDirectory(settings.directory, settings.receiver);
  if (absl::IsFailedPrecondition(directory.status())) return directory.status();
  if (!directory.ok()) {
    opened.warnings.push_back(
        fmt::format("no spool on disk, so batches wait in memory and do not outlive this process: "
                    "{}",
                    std::string(directory.status().message())));
    return opened;
  }
  opened.spool.reset(
      new Spool(std::move(settings), std::move(directory->directory), std::move(directory->lock)));
  opened.spool->List(opened.warnings);
  return opened;
}

// A part lies there beside its whole where WriteParts() was interrupted: the whole counts.
void Spool::List(std::vector<std::string>& warnings) {
  const ListedNames listed = NamesIn(directory_.get(), kMaxNames);
  std::vector<SpoolEntry> entries;
  size_t strange = 0;
  for (const std::string& name : listed.names) {
    if (std::optional<SpoolEntry> entry = SpoolEntry::FromFileName(name))
      entries.push_back(*std::move(entry));
    else
      ++strange;
  }
  std::ranges::sort(entries, SpoolEntry::Before);
  const SpoolEntry* whole = nullptr;
  for (const SpoolEntry& entry : entries) {
    if (whole != nullptr && entry.IsPartOf(*whole)) {
      static_cast<void>(Remove(entry));
      continue;
    }
    whole = &entry;
    (IsWhole(directory_.get(), entry) ? found_ : torn_).push_back(entry);
    next_sequence_ = entry.sequence + 1;
  }
  for (const SpoolEntry& entry : torn_) static_cast<void>(Remove(entry));
  if (strange > 0)
    warnings.push_back(fmt::format("{} files in the spool of {} are not ours and are left alone",
                                   strange, settings_.receiver));
  if (!listed.all)
    warnings.push_back(fmt::format(
        "the spool of {} has too many files; some wait for the next start", settings_.receiver));
}

absl::Status Spool::WriteFile(const SpoolEntry& entry, const Payload& payload) {
  const std::string name = entry.FileName();
  if (payload.bytes.size() > SpoolEntry::kMaxPayloadBytes)
    return absl::ResourceExhaustedError(
        fmt::format("a batch of {} bytes is too large to spool", payload.bytes.size()));
  const UniqueFd file(openat(directory_.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return SpoolError("cannot write", name, errno);
  const std::string header = EncodeSpoolHeader(payload);
  const int error = WriteBoth(file.get(), header, payload.bytes);
  if (error == 0) return absl::OkStatus();
  unlinkat(directory_.get(), name.c_str(), 0);
  return SpoolError("cannot write", name, error);
}

absl::StatusOr<SpoolEntry> Spool::Write(const Payload& payload) {
  SpoolEntry entry{.sequence = next_sequence_++,
                   .added_unix_ms = std::max<int64_t>(NowMs(), 0),
                   .items = payload.items,
                   .markers = std::min(payload.markers, payload.items),
                   .payload_bytes = payload.bytes.size()};
  if (absl::Status status = WriteFile(entry, payload); !status.ok()) return status;
  return entry;
}

absl::StatusOr<std::vector<SpoolEntry>> Spool::WriteParts(const SpoolEntry& whole,
                                                          const std::vector<Payload>& parts,
                                                          bool sync) {
  std::vector<SpoolEntry> entries;
  absl::Status status;
  if (parts.size() > SpoolEntry::kMaxParts || whole.part.size() >= SpoolEntry::kMaxPartDigits)
    status = absl::ResourceExhaustedError("too many parts of one batch");
  for (size_t i = 0; i < parts.size() && status.ok(); ++i) {
    SpoolEntry entry = whole.Part(i);
    entry.items = parts[i].items;
    entry.markers = std::min(parts[i].markers, parts[i].items);
    entry.payload_bytes = parts[i].bytes.size();
    status = WriteFile(entry, parts[i]);
    if (status.ok()) entries.push_back(std::move(entry));
  }
  if (status.ok() && sync) status = Sync(entries);
  if (status.ok()) status = Remove(whole);
  if (!status.ok()) {
    for (const SpoolEntry& entry : entries) static_cast<void>(Remove(entry));
    return status;
  }
  // Its removal must not be undone once a part has been delivered and removed.
  if (sync && fsync(directory_.get()) != 0)
    return SpoolError("cannot sync", settings_.receiver, errno);
  return entries;
}

absl::StatusOr<Payload> Spool::Read(const SpoolEntry& entry) const {
  const std::string name = entry.FileName();
  // Non-blocking: opening a pipe of that name must not hang.
  const UniqueFd file(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return absl::DataLossError(name + " is gone");
  struct stat facts;
  if (!file.valid() || fstat(file.get(), &facts) != 0)
    return SpoolError("cannot read", name, errno);
  if (!S_ISREG(facts.st_mode) || !entry.MayHaveSize(static_cast<uint64_t>(facts.st_size)))
    return absl::DataLossError(name + ": torn");
  std::string bytes(static_cast<size_t>(facts.st_size), '\0');
  for (size_t have = 0; have < bytes.size();) {
    const ssize_t got =
        pread(file.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SpoolError("cannot read", name, errno);
    if (got == 0) return absl::DataLossError(name + ": torn");
    have += static_cast<size_t>(got);
  }
  absl::StatusOr<Payload> payload = DecodeSpoolFile(std::move(bytes));
  if (!payload.ok())
    return absl::DataLossError(
        fmt::format("{}: {}", name, std::string(payload.status().message())));
  if (payload->items != entry.items || payload->markers != entry.markers ||
      payload->bytes.size() != entry.payload_bytes)
    return absl::DataLossError(name + ": is another batch");
  return payload;
}

BatchTrace Spool::ReadTrace(const SpoolEntry& entry) const {
  const UniqueFd file(openat(directory_.get(), entry.FileName().c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return {};
  std::string head(SpoolEntry::kMaxHeaderBytes, '\0');
  const ssize_t got = pread(file.get(), head.data(), head.size(), 0);
  if (got <= 0) return {};
  return DecodeSpoolTrace(std::string_view(head).substr(0, static_cast<size_t>(got)));
}

absl::Status Spool::Remove(const SpoolEntry& entry) {
  const std::string name = entry.FileName();
  if (unlinkat(directory_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return SpoolError("cannot remove", name, errno);
  return absl::OkStatus();
}

absl::Status Spool::Sync(const std::vector<SpoolEntry>& entries) {
  if (entries.empty()) return absl::OkStatus();
  for (const SpoolEntry& entry : entries) {
    const std::string name = entry.FileName();
    const UniqueFd file(
        openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) continue;
    if (!file.valid() || fdatasync(file.get()) != 0) return SpoolError("cannot sync", name, errno);
  }
  if (fsync(directory_.get()) != 0) return SpoolError("cannot sync", settings_.receiver, errno);
  return absl::OkStatus();
}

}  // namespace stackray
