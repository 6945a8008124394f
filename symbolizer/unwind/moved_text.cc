#include "symbolizer/unwind/moved_text.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/process_files.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMostPages = 256;    // That are compared, spread over the range.
constexpr size_t kPatchedBytes = 64;  // Of a page that may differ: breakpoints, patched jumps.

// `range` is to hold the file's bytes from `file_offset` on.
struct Place {
  ExecutableFilePtr file;
  uint64_t file_offset;
};

bool IsSameFile(const code_range& a, const code_range& b) {
  return a.file_size_bytes == b.file_size_bytes && a.file_mtime_s == b.file_mtime_s &&
         a.file_mtime_ns == b.file_mtime_ns;
}

// Where `address` would lie in the file if the file was loaded at `bias`, by each executable
// segment that has it.
void AddPlaces(const ExecutableFilePtr& file, uint64_t bias, uint64_t address,
               std::vector<Place>* places) {
  for (const ElfSegment& segment : file->info.segments) {
    const uint64_t begin = segment.address & ~(kPageBytes - 1);
    const uint64_t end = segment.address + segment.file_bytes;
    const uint64_t at = address - bias;
    if (!segment.executable || at < begin || at >= end) continue;
    const uint64_t offset = at - segment.address + segment.file_offset;
    const bool is_known = std::any_of(places->begin(), places->end(), [&](const Place& place) {
      return place.file == file && place.file_offset == offset;
    });
    if (!is_known) places->push_back({file, offset});
  }
}

// By another mapping of the file: a page at a segment's end belongs to two of them.
void AddPlacesBeside(const ExecutableFilePtr& file, const code_range& mapping, uint64_t address,
                     std::vector<Place>* places) {
  for (const ElfSegment& segment : file->info.segments) {
    const uint64_t begin = segment.file_offset & ~(kPageBytes - 1);
    const uint64_t end = segment.file_offset + segment.file_bytes;
    if (mapping.file_offset < begin || mapping.file_offset >= end) continue;
    const uint64_t linked = segment.address + (mapping.file_offset - segment.file_offset);
    AddPlaces(file, mapping.start - linked, address, places);
  }
}

// No mapping of the file is left: where the kernel has loaded the program is known by its entry
// point.
void AddPlacesByEntry(uint32_t pid, const ExecutableFilePtr& file, uint64_t address,
                      std::vector<Place>* places) {
  const absl::StatusOr<ElfImage> elf = ElfImage::Create(*file->source);
  const uint64_t entry = ReadProgramEntry(pid);
  if (elf.ok() && entry != 0) AddPlaces(file, entry - elf->entry(), address, places);
}

std::vector<Place> FindPlaces(uint32_t pid, const code_range& range, ExecutableFiles& files) {
  std::vector<Place> places;
  const absl::StatusOr<std::vector<code_range>> around =
      ReadFileRangesAround(pid, range.start, range.end);
  if (!around.ok()) return places;
  code_range opened = range;
  opened.kind = RANGE_FILE;
  for (const code_range& mapping : *around) {
    if (!IsSameFile(mapping, range)) continue;
    opened.start = mapping.start;
    opened.end = mapping.end;
    if (const absl::StatusOr<ExecutableFilePtr> file = files.Get(pid, opened); file.ok())
      AddPlacesBeside(*file, mapping, range.start, &places);
  }
  if (const absl::StatusOr<ExecutableFilePtr> file = files.Get(pid, opened); file.ok())
    AddPlacesByEntry(pid, *file, range.start, &places);
  return places;
}

// Pages of a process, copied at once. Empty: they cannot be read.
std::vector<uint8_t> ReadPages(uint32_t pid, const std::vector<uint64_t>& addresses) {
  std::vector<uint8_t> bytes(addresses.size() * kPageBytes);
  std::vector<iovec> remote;
  remote.reserve(addresses.size());
  for (const uint64_t address : addresses)
    remote.push_back({reinterpret_cast<void*>(address), kPageBytes});
  const ssize_t read = ReadForeignMemory(pid, remote, bytes);
  if (read != static_cast<ssize_t>(bytes.size())) bytes.clear();
  return bytes;
}

// The first page, the last one that the file has in full, and others between them.
std::vector<uint64_t> ChoosePages(const code_range& range, const Place& place) {
  const uint64_t in_file = place.file->source->size_bytes() -
                           std::min(place.file->source->size_bytes(), place.file_offset);
  const uint64_t pages = std::min<uint64_t>(range.end - range.start, in_file) / kPageBytes;
  const uint64_t count = std::min<uint64_t>(pages, kMostPages);
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < count; ++i)
    addresses.push_back(range.start +
                        (count == 1 ? 0 : i * (pages - 1) / (count - 1)) * kPageBytes);
  return addresses;
}

// A page of zeros in the file proves nothing.
bool HoldsFile(uint32_t pid, const code_range& range, const Place& place) {
  const std::vector<uint64_t> addresses = ChoosePages(range, place);
  const std::vector<uint8_t> memory = ReadPages(pid, addresses);
  if (memory.empty()) return false;
  size_t proofs = 0;
  std::vector<uint8_t> page(kPageBytes);
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (!place.file->source->ReadAt(addresses[i] - range.start + place.file_offset, page).ok())
      return false;
    if (std::ranges::all_of(page, [](uint8_t byte) { return byte == 0; })) continue;
    size_t differing = 0;
    for (size_t at = 0; at < kPageBytes; ++at)
      differing += page[at] != memory[i * kPageBytes + at] ? 1 : 0;
    if (differing > kPatchedBytes) return false;
    ++proofs;
  }
  return proofs > 0;
}

}  // namespace

std::optional<code_range> CompareWithFile(uint32_t pid, const code_range& range,
                                          ExecutableFiles& files) {
  for (const Place& place : FindPlaces(pid, range, files)) {
    if (place.file_offset % kPageBytes != 0 || !HoldsFile(pid, range, place)) continue;
    code_range text = range;
    text.kind = RANGE_FILE;
    text.file_offset = place.file_offset;
    return text;
  }
  return std::nullopt;
}

void Rebase(std::span<uint64_t> words, size_t index, const code_range& before,
            const code_range& now) {
  const uint64_t move = (now.file_offset - now.start) - (before.file_offset - before.start);
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t word = words[i], kind = word >> FRAME_KIND_SHIFT;
    if (kind == FRAME_RUNTIME || kind == FRAME_OF_STACK) {
      ++i;  // Its second word is no frame's.
      continue;
    }
    const uint64_t plain = kind & ~uint64_t{FRAME_OF_RUNTIME};
    if (plain != FRAME_RETURN && plain != FRAME_EXACT) continue;
    if ((word >> FRAME_RANGE_SHIFT & FRAME_RANGE_MASK) != index) continue;
    words[i] = (word & ~FRAME_OFFSET_MASK) | ((word + move) & FRAME_OFFSET_MASK);
  }
}

bool MovedTexts::KeyLess::operator()(const moved_key& a, const moved_key& b) const {
  const auto tie = [](const moved_key& key) {
    return std::tie(key.process.pid, key.process.exec_id, key.process.start_time_ns, key.start);
  };
  return tie(a) < tie(b);
}

MovedTexts::Verdicts::iterator MovedTexts::Forget(Verdicts::iterator verdict) {
  const moved_key key = {.process = verdict->process, .start = verdict->presumed.start};
  memory_.RemoveMovedText(key);
  by_key_.erase(key);
  return verdicts_.erase(verdict);
}

std::optional<code_range> MovedTexts::Find(const process_key& process, const code_range& range) {
  const moved_key key = {.process = process, .start = range.start};
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    if (known->second->presumed.end == range.end) {
      verdicts_.splice(verdicts_.begin(), verdicts_, known->second);
      return known->second->text;
    }
    Forget(known->second);
  }
  if (verdicts_.size() >= MAX_MOVED_TEXTS) Forget(std::prev(verdicts_.end()));
  verdicts_.push_front({process, range, CompareWithFile(process.pid, range, files_)});
  by_key_[key] = verdicts_.begin();
  const std::optional<code_range>& text = verdicts_.front().text;
  memory_.PutMovedText(key, {.end = range.end,
                             .file_offset = text ? text->file_offset : 0,
                             .is_of_file = text ? 1u : 0u,
                             .reserved = 0});
  return text;
}

void MovedTexts::Recheck() {
  for (auto it = verdicts_.begin(); it != verdicts_.end();) {
    const std::optional<code_range> now =
        it->text ? CompareWithFile(it->process.pid, it->presumed, files_) : std::nullopt;
    it = now && now->file_offset == it->text->file_offset ? std::next(it) : Forget(it);
  }
}

}  // namespace stackray
