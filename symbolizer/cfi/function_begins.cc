#include "symbolizer/cfi/function_begins.h"

#include <algorithm>
#include <utility>

#include "symbolizer/cfi/fde_index.h"
#include "symbolizer/cfi/frame_entries.h"
#include "symbolizer/cfi/frame_section.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

constexpr uint64_t kMostScannedBytes = 4 << 20;
constexpr int64_t kBudget = 1 << 16;  // Of one question, as FrameEntries counts.

// The readers keep a source for good; here it is another's and comes anew with each question.
class LentSource : public ByteSource {
 public:
  void Lend(const ByteSource* source) { source_ = source; }
  uint64_t size_bytes() const override { return source_->size_bytes(); }
  absl::Status ReadAt(uint64_t offset, std::span<uint8_t> out) const override {
    return source_->ReadAt(offset, out);
  }

 private:
  const ByteSource* source_ = nullptr;
};

}  // namespace

struct FunctionBegins::File {
  uint64_t handle = 0;
  LentSource source;
  std::optional<cfi::FrameEntries> entries;
  std::unique_ptr<cfi::FdeIndex> index;  // nullptr: nothing is known of any address.

  void Open(const ElfImage& image);
  std::optional<uint64_t> Find(uint64_t elf_address);
  size_t bytes() const {
    return sizeof(*this) + (entries ? entries->memory_bytes() : 0) +
           (index != nullptr ? index->memory_bytes() : 0);
  }
};

void FunctionBegins::File::Open(const ElfImage& image) {
  const std::optional<cfi::FrameSection> section = cfi::FindFrameSection(source, image);
  if (!section || section->region.compressed) return;
  entries.emplace(&source, section->region);
  if (section->table) {
    index = cfi::MakeHeaderIndex(&source, *section->table, section->region);
    return;
  }
  if (section->region.scan_end - section->region.scan_begin > kMostScannedBytes) return;
  uint64_t begin = ~uint64_t{0}, end = 0;
  for (const ElfSegment& segment : image.segments()) {
    if (!segment.executable) continue;
    begin = std::min(begin, segment.address);
    end = std::max(end, segment.address + segment.memory_bytes);
  }
  auto scanned = cfi::ScanEntries(&*entries, begin, end);
  if (scanned.ok()) index = *std::move(scanned);
}

std::optional<uint64_t> FunctionBegins::File::Find(uint64_t elf_address) {
  if (index == nullptr) return std::nullopt;
  index->ClearStatus();
  entries->ClearStatus();
  const std::optional<uint64_t> count = index->CountUpTo(elf_address);
  const std::optional<cfi::IndexedEntry> indexed =
      count && *count > 0 ? index->Entry(*count - 1) : std::nullopt;
  if (!indexed) return std::nullopt;
  cfi::FrameEntry entry;
  int64_t budget = kBudget;
  if (entries->Read(indexed->position, &budget, &entry) != cfi::FrameEntries::ReadResult::kOk ||
      elf_address < entry.begin || elf_address >= entry.end)
    return std::nullopt;
  return entry.begin;
}

FunctionBegins::FunctionBegins() = default;
FunctionBegins::~FunctionBegins() = default;

FunctionBegins::File& FunctionBegins::FileOf(uint64_t handle, const ByteSource& source) {
  const auto known = std::find_if(files_.begin(), files_.end(),
                                  [&](const auto& file) { return file->handle == handle; });
  if (known != files_.end()) {
    files_.splice(files_.begin(), files_, known);
    files_.front()->source.Lend(&source);
    return *files_.front();
  }
  files_.push_front(std::make_unique<File>());
  if (files_.size() > kMostFiles) files_.pop_back();
  File& file = *files_.front();
  file.handle = handle;
  file.source.Lend(&source);
  if (const absl::StatusOr<ElfImage> image = ElfImage::Create(source); image.ok())
    file.Open(*image);
  return file;
}

std::optional<uint64_t> FunctionBegins::Find(uint64_t handle, const ByteSource& source,
                                             uint64_t elf_address) {
  const std::optional<uint64_t> begin = FileOf(handle, source).Find(elf_address);
  if (source.IsUnchanged()) return begin;
  files_.pop_front();
  return std::nullopt;
}

void FunctionBegins::Wipe() { files_.clear(); }

size_t FunctionBegins::bytes() const {
  size_t bytes = 0;
  for (const auto& file : files_) bytes += file->bytes();
  return bytes;
}

}  // namespace stackray
