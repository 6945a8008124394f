#include "kernel/foreign/foreign_reads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernel/foreign/reader_pool.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr size_t kMostSpilledBytes = 64 << 20;
constexpr size_t kMostPieces = kInputBytes / sizeof(iovec);

ReaderPool* g_pool = nullptr;  // Lives as long as the process; set before there are threads.

std::string ReadSpilled(const UniqueFd& file, size_t bytes) {
  std::string text(std::min(bytes, kMostSpilledBytes), '\0');
  size_t have = 0;
  while (file.valid() && have < text.size()) {
    const ssize_t n =
        pread(file.get(), text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<size_t>(n);
  }
  text.resize(have);
  return text;
}

ForeignAnswer CallHere(uint32_t pid, ForeignWork work, std::span<const uint8_t> question) {
  std::vector<uint8_t> room(kRoomBytes);
  ForeignJob job(pid, question, room, nullptr, {});
  work(job);
  ForeignAnswer answer{.error = job.error(), .file = std::move(job.file())};
  answer.bytes = job.spilled().valid()
                     ? ReadSpilled(job.spilled(), job.room_used())
                     : std::string(reinterpret_cast<char*>(room.data()), job.room_used());
  return answer;
}

// The pieces are the question, the bytes are the answer.
void ReadMemory(ForeignJob& job) {
  const std::string question = job.InputText(0);
  std::array<iovec, kMostPieces> pieces;
  const size_t count = std::min(question.size() / sizeof(iovec), pieces.size());
  std::memcpy(pieces.data(), question.data(), count * sizeof(iovec));
  const iovec room = {job.room().data(), job.room().size()};
  const ssize_t got =
      process_vm_readv(static_cast<pid_t>(job.pid()), &room, 1, pieces.data(), count, 0);
  if (got < 0) job.Fail(errno);
  job.UseRoom(got < 0 ? 0 : static_cast<size_t>(got));
}

// As many pieces as one answer has room for; the last one may be a part.
struct Part {
  std::array<iovec, kMostPieces> pieces;
  size_t count = 0, bytes = 0;
};
Part TakePart(std::span<const iovec>* remote, size_t* used_of_first) {
  Part part;
  while (!remote->empty() && part.count < part.pieces.size() && part.bytes < kRoomBytes) {
    const iovec& whole = remote->front();
    const size_t left = whole.iov_len - *used_of_first;
    const size_t bytes = std::min(left, kRoomBytes - part.bytes);
    part.pieces[part.count++] = {static_cast<char*>(whole.iov_base) + *used_of_first, bytes};
    part.bytes += bytes;
    *used_of_first = bytes == left ? 0 : *used_of_first + bytes;
    if (bytes == left) *remote = remote->subspan(1);
  }
  return part;
}

// -1 with an errno, or how many bytes of it were read.
ssize_t ReadPart(uint32_t pid, const Part& part, std::span<uint8_t> to) {
  const std::span question(reinterpret_cast<const uint8_t*>(part.pieces.data()),
                           part.count * sizeof(iovec));
  ssize_t got = -1;
  const int error = g_pool->Call(
      pid, &ReadMemory, question, [&](const ReaderSlot& slot, const std::vector<UniqueFd>&) {
        errno = slot.error;
        if (slot.error != 0) return;
        got = static_cast<ssize_t>(std::min<size_t>(slot.room_bytes, part.bytes));
        std::copy_n(slot.room, got, to.data());
      });
  if (error != 0) errno = error;
  return got;
}

struct TextQuestion {
  uint64_t most_bytes;
};

void ReadText(ForeignJob& job) {
  const auto question = job.Input<TextQuestion>();
  const std::string name = job.InputText(sizeof(question));
  const UniqueFd fd(open(fmt::format("/proc/{}/{}", job.pid(), name).c_str(),
                         O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return job.Fail(errno);
  std::array<uint8_t, 16 << 10> bytes;
  for (uint64_t left = question.most_bytes; left > 0;) {
    const ssize_t n = read(fd.get(), bytes.data(), std::min<uint64_t>(bytes.size(), left));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return job.Fail(errno);
    if (n == 0) return;
    job.Append({bytes.data(), static_cast<size_t>(n)});
    left -= static_cast<uint64_t>(n);
  }
}

void ReadLink(ForeignJob& job) {
  char target[PATH_MAX];
  const std::string name = job.InputText(0);
  const ssize_t n =
      readlink(fmt::format("/proc/{}/{}", job.pid(), name).c_str(), target, sizeof(target));
  if (n < 0) return job.Fail(errno);
  job.AppendText({target, static_cast<size_t>(n)});
}

}  // namespace

absl::Status StartForeignReaders(const ReaderLimits& limits) {
  absl::StatusOr<std::unique_ptr<ReaderPool>> pool = ReaderPool::Start(limits);
  if (!pool.ok()) return pool.status();
  g_pool = pool->release();
  return absl::OkStatus();
}

ForeignAnswer CallForeign(uint32_t pid, ForeignWork work, std::span<const uint8_t> question) {
  if (g_pool == nullptr) return CallHere(pid, work, question);
  ForeignAnswer answer;
  const int error =
      g_pool->Call(pid, work, question, [&](const ReaderSlot& slot, std::vector<UniqueFd> files) {
        answer.error = slot.error;
        if (slot.has_spilled != 0) {
          answer.bytes =
              ReadSpilled(files.empty() ? UniqueFd() : std::move(files.front()), slot.room_bytes);
        } else {
          answer.bytes.assign(reinterpret_cast<const char*>(slot.room),
                              std::min<size_t>(slot.room_bytes, kRoomBytes));
        }
        if (slot.has_file != 0 && !files.empty()) answer.file = std::move(files.back());
      });
  if (error != 0) answer.error = error;
  return answer;
}

ssize_t ReadForeignMemory(uint32_t pid, std::span<const iovec> remote, std::span<uint8_t> to) {
  if (g_pool == nullptr) {
    const iovec local = {to.data(), to.size()};
    return process_vm_readv(static_cast<pid_t>(pid), &local, 1, remote.data(), remote.size(), 0);
  }
  ssize_t read = 0;
  for (size_t used_of_first = 0; !remote.empty();) {
    const Part part = TakePart(&remote, &used_of_first);
    if (part.bytes > to.size()) return read;
    const ssize_t got = ReadPart(pid, part, to);
    if (got < 0) return read > 0 ? read : -1;
    read += got;
    if (static_cast<size_t>(got) < part.bytes) return read;
    to = to.subspan(static_cast<size_t>(got));
  }
  return read;
}

std::string ReadForeignText(uint32_t pid, std::string_view name, size_t most_bytes) {
  ForeignAnswer answer = CallForeign(pid, &ReadText, TextQuestion{most_bytes}, name);
  errno = answer.error;
  return std::move(answer.bytes);
}

std::string ReadForeignLink(uint32_t pid, std::string_view name) {
  return CallForeign(pid, &ReadLink, {reinterpret_cast<const uint8_t*>(name.data()), name.size()})
      .bytes;
}

bool IsLeftAlone(uint32_t pid) {
  return g_pool != nullptr && g_pool->left_alone().Has(pid, BootTimeNs());
}

ForeignReadCounts CountForeignReads() {
  if (g_pool == nullptr) return {};
  return {.left_alone = g_pool->left_alone().counts(BootTimeNs()),
          .readers = g_pool->live(),
          .readers_hanging = g_pool->hanging()};
}

}  // namespace stackray
