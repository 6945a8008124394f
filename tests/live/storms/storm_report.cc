#include "tests/live/storms/storm_report.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernel/unique_fd.h"
#include "reporter/batch_file.h"
#include "symbolizer/elf_image.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr uint64_t kEntryBytes = 64;  // A _start is not longer.

std::string NameOf(const DecodedFrame& frame) {
  if (!frame.lines.empty()) return frame.lines.back().function;
  return fmt::format("{}+0x{:x}", frame.mapping_path, frame.address);
}

uint64_t EntryOf(const std::string& path) {
  const std::optional<OpenedFile> file = OpenFile(path);
  if (!file) return 0;
  const absl::StatusOr<ElfImage> elf = ElfImage::Create(*file->source);
  return elf.ok() ? elf->entry() : 0;
}

struct SplitStack {
  std::vector<const DecodedFrame*> kernel, user;  // Leaf first.
  std::string marker;
};

SplitStack Split(const DecodedBatch& batch, const DecodedSample& sample) {
  SplitStack stack;
  for (int32_t index : sample.frames) {
    const DecodedFrame& frame = batch.frames[static_cast<size_t>(index)];
    if (frame.type == "abort-marker")
      stack.marker = NameOf(frame);
    else
      (frame.type == "kernel" ? stack.kernel : stack.user).push_back(&frame);
  }
  return stack;
}

// The leaf, the user frame below it and the root: enough to find the place.
std::string Outline(const SplitStack& stack) {
  std::string text =
      fmt::format("{} kernel, {} user frames", stack.kernel.size(), stack.user.size());
  if (!stack.kernel.empty())
    text += fmt::format(", kernel {} … {}", NameOf(*stack.kernel.front()),
                        NameOf(*stack.kernel.back()));
  for (size_t i = 0; i < std::min<size_t>(stack.user.size(), 4); ++i)
    text += fmt::format("{}{}", i == 0 ? ", user " : " < ", NameOf(*stack.user[i]));
  if (stack.user.size() > 4) text += fmt::format(" … {}", NameOf(*stack.user.back()));
  return text;
}

bool IsUnopened(const DecodedFrame& frame) { return NameOf(frame).starts_with("[inode "); }

}  // namespace

void StormClass::Add(const StormClass& other) {
  samples += other.samples;
  with_user_stack += other.with_user_stack;
  complete += other.complete;
  to_entry += other.to_entry;
  with_executable += other.with_executable;
  unopened += other.unopened;
}

StormClass StormReport::sum() const {
  StormClass sum;
  for (const auto& [command, counts] : classes_) sum.Add(counts);
  return sum;
}

bool StormReport::IsEntry(const DecodedFrame& frame) {
  if (NameOf(frame) == "_start") return true;
  const auto [entry, inserted] = entries_.try_emplace(frame.mapping_path);
  if (inserted) entry->second = EntryOf(frame.mapping_path);
  return entry->second != 0 && frame.address - entry->second < kEntryBytes;
}

void StormReport::AddSample(const DecodedBatch& batch, const DecodedSample& sample) {
  const DecodedResource& resource = batch.resources[static_cast<size_t>(sample.resource)];
  const std::string command = resource.Find("process.command");
  const int64_t count = std::max<int64_t>(sample.count, 1);
  const SplitStack stack = Split(batch, sample);
  if (stack.marker.starts_with("[lost:")) lost_ += count;
  if (std::find(commands_.begin(), commands_.end(), command) == commands_.end()) return;
  StormClass& counts = classes_[command];
  counts.samples += count;
  if (resource.Find("process.executable.name") == command) counts.with_executable += count;
  if (stack.user.empty() && stack.marker.empty()) return;
  counts.with_user_stack += count;
  if (std::any_of(stack.user.begin(), stack.user.end(), [](auto* f) { return IsUnopened(*f); })) {
    counts.unopened += count;
    unopened_[fmt::format("{}: {}", command, Outline(stack))] += count;
  }
  if (!stack.marker.empty()) {
    cut_[fmt::format("{}: {} above {}", command, stack.marker, Outline(stack))] += count;
    return;
  }
  counts.complete += count;
  if (IsEntry(*stack.user.back()))
    counts.to_entry += count;
  else
    other_roots_[fmt::format("{}: {}", command, NameOf(*stack.user.back()))] += count;
}

void StormReport::Add(const DecodedBatch& batch) {
  for (const DecodedSample& sample : batch.samples) AddSample(batch, sample);
}

absl::Status StormReport::AddFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::NotFoundError(fmt::format("cannot open {}", path));
  BatchFileReader reader = BatchFileReader::FromFd(fd.get());
  for (;;) {
    absl::StatusOr<std::optional<std::string>> bytes = reader.Next();
    if (!bytes.ok()) return bytes.status();
    if (!*bytes) return absl::OkStatus();
    absl::StatusOr<DecodedBatch> batch = DecodeBatch(**bytes);
    if (!batch.ok()) return batch.status();
    Add(*batch);
  }
}

}  // namespace stackray::test
