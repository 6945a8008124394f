#include "symbolizer/source_lines.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "symbolizer/dwarf/inflate.h"
#include "symbolizer/go/go_table.h"

namespace stackray {
namespace {

constexpr size_t kNameCacheBytes = 1 << 20;
constexpr uint64_t kMaxPackedSymbolBytes = 64 << 20;  // Of .gnu_debugdata when unpacked.

bool HasSection(const ElfImage& image, std::string_view name) {
  const ElfSection* section = image.FindSection(name);
  return section != nullptr && section->type != SHT_NOBITS && section->size_bytes > 0;
}

bool HasDebugInfo(const ElfImage& image) {
  return HasSection(image, ".debug_info") || HasSection(image, ".zdebug_info");
}

// The ELF file with further symbols that is in .gnu_debugdata; nullptr: there is none.
std::unique_ptr<ByteSource> UnpackSymbols(const ElfImage& image, const ByteSource& source,
                                          const dwarf::ScratchSettings& scratch) {
  const ElfSection* section = image.FindSection(".gnu_debugdata");
  if (section == nullptr || section->file_offset > source.size_bytes() ||
      section->size_bytes > source.size_bytes() - section->file_offset)
    return nullptr;
  absl::StatusOr<std::unique_ptr<dwarf::ScratchFile>> file =
      dwarf::ScratchFile::Create(scratch.directory, kMaxPackedSymbolBytes);
  if (!file.ok()) return nullptr;
  const dwarf::SectionPart packed{&source, section->file_offset, section->size_bytes};
  if (!dwarf::InflateXz(packed, **file).ok()) return nullptr;
  return *std::move(file);
}

}  // namespace

struct SourceLines::OpenFile {
  explicit OpenFile(ExecutableFilePtr executable)
      : file(std::move(executable)), names(kNameCacheBytes) {}

  ExecutableFilePtr file;
  std::optional<GoTable> go;
  bool is_debug_known = false;  // What follows was looked for.
  bool is_pending = false;      // Except for a debug file that is being downloaded.
  bool is_stale = false;        // A file of it was overwritten: to be opened anew.
  std::unique_ptr<DebugFiles> related;
  FoundFile separate;                          // The debug file, when it is not the executable.
  std::unique_ptr<ByteSource> packed_symbols;  // .gnu_debugdata.
  std::unique_ptr<dwarf::DebugFile> debug;     // nullptr: no debug information.
  const ByteSource* symbols = nullptr;         // Further symbols; nullptr: none.
  uint64_t scratch_bytes = 0;                  // On disk, when it was opened.
  FrameNames names;                            // Of these.

  bool IsDebugUnchanged() const {
    return (separate.source == nullptr || separate.source->IsUnchanged()) &&
           (debug == nullptr || debug->IsUnchanged());
  }
  // Of an executable that was overwritten nothing more can be known.
  void ForgetAll() {
    is_debug_known = true;
    is_pending = false;
    go.reset();
    debug.reset();
    symbols = nullptr;
    separate = {};
    packed_symbols.reset();
  }
  size_t bytes() const {
    return sizeof(*this) + names.bytes() + (debug != nullptr ? debug->bytes() : 0);
  }
};

SourceLines::SourceLines(SourceLinesSettings settings) : settings_(std::move(settings)) {
  if (settings_.debuginfod.urls.empty()) return;
  auto client = debuginfod::Client::Create(settings_.debuginfod);
  download_status_ = client.status();
  if (client.ok()) downloads_ = *std::move(client);
}
SourceLines::~SourceLines() = default;

SourceLines::OpenFile& SourceLines::Find(uint32_t pid, const ExecutableFilePtr& file) {
  const auto known = std::find_if(files_.begin(), files_.end(), [&](const auto& open) {
    return open->file->handle == file->handle;
  });
  if (known != files_.end()) {
    files_.splice(files_.begin(), files_, known);
    return *files_.front();
  }
  files_.push_front(std::make_unique<OpenFile>(file));
  OpenFile& open = *files_.front();
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file->source);
  if (!image.ok() || file->identity.inode == 0 || !file->fd.valid()) {
    open.is_debug_known = true;
    return open;
  }
  if (absl::StatusOr<GoTable> go = GoTable::Open(*image, *file->source); go.ok()) {
    open.go.emplace(*go);
  } else {
    OpenDebug(pid, *image, open);
  }
  return open;
}

// So that no file, whatever it is made to hold, keeps another from being opened.
void SourceLines::MakeRoomOnDisk() {
  const dwarf::ScratchSettings& scratch = settings_.scratch;
  while (dwarf::ScratchFile::BytesInUse() + scratch.max_unpacked_bytes >
         scratch.most_in_all_bytes) {
    const auto last = std::find_if(files_.rbegin(), files_.rend(),
                                   [](const auto& open) { return open->scratch_bytes > 0; });
    if (last == files_.rend()) return;
    files_.erase(std::prev(last.base()));
  }
}

void SourceLines::OpenDebug(uint32_t pid, const ElfImage& image, OpenFile& open) {
  open.is_debug_known = true;
  MakeRoomOnDisk();
  const uint64_t before = dwarf::ScratchFile::BytesInUse();
  FindDebug(pid, image, open);
  open.scratch_bytes = dwarf::ScratchFile::BytesInUse() - before;
}

void SourceLines::FindDebug(uint32_t pid, const ElfImage& image, OpenFile& open) const {
  const ExecutableFilePtr& file = open.file;
  open.related = std::make_unique<DebugFiles>(settings_.proc, pid, settings_.own_root);
  const bool has_symbols = HasSection(image, ".symtab");
  const ByteSource* debug = file->source.get();
  std::string debug_path = file->info.path;
  if (!HasDebugInfo(image)) {
    open.separate = open.related->FindSeparate(image, *file->source, file->info);
    if (open.separate.source == nullptr) TakeDownload(open);
    debug = open.separate.source.get();
    debug_path = open.separate.path;
  }
  if (!has_symbols) {
    open.symbols = open.separate.source.get();
    if (open.symbols == nullptr) {
      open.packed_symbols = UnpackSymbols(image, *file->source, settings_.scratch);
      open.symbols = open.packed_symbols.get();
    }
  }
  if (debug == nullptr) return;
  const DebugFiles* related = open.related.get();
  open.debug = dwarf::DebugFile::Open(*debug, {.scratch = settings_.scratch,
                                               .cache_bytes = settings_.cache_bytes / 2,
                                               .open_related =
                                                   [related, debug_path](const std::string& path) {
                                                     return related->OpenRelated(debug_path, path);
                                                   },
                                               .packed_units_path = file->info.path + ".dwp"});
}

// Never waits: what is not here yet is asked for again with the next question.
void SourceLines::TakeDownload(OpenFile& open) const {
  if (downloads_ == nullptr || open.file->info.gnu_build_id.empty()) return;
  debuginfod::Answer answer = downloads_->Find(open.file->info.gnu_build_id);
  open.is_pending = answer.is_pending;
  if (answer.file == nullptr) return;
  open.separate.source = std::move(answer.file);
  open.separate.path = open.file->info.path;
}

void SourceLines::Evict() {
  while (files_.size() > 1 && (files_.size() > kMaxOpenFiles || bytes() > settings_.cache_bytes))
    files_.pop_back();
}

std::vector<SourceLine> SourceLines::Resolve(uint32_t pid, const ExecutableFilePtr& file,
                                             uint64_t elf_address) {
  if (const OpenFile& open = Find(pid, file);
      open.is_stale || (open.is_pending && !downloads_->Find(file->info.gnu_build_id).is_pending))
    files_.pop_front();
  OpenFile& open = Find(pid, file);
  std::vector<SourceLine> lines;
  if (open.go) lines = open.go->Resolve(*file->source, elf_address);
  if (lines.empty() && !open.is_debug_known) {
    const absl::StatusOr<ElfImage> image = ElfImage::Create(*file->source);
    if (image.ok()) OpenDebug(pid, *image, open);
  }
  if (lines.empty() && open.debug != nullptr) lines = open.debug->Resolve(elf_address);
  if (open.symbols != nullptr)
    lines =
        WithOwnName(std::move(lines), open.names.Resolve(file->handle, *open.symbols, elf_address));
  if (!file->source->IsUnchanged()) {
    open.ForgetAll();
    lines.clear();
  } else if (!open.IsDebugUnchanged()) {
    open.is_stale = true;
    lines.clear();
  }
  Evict();
  return lines;
}

bool SourceLines::IsBare() const {
  return files_.empty() || (!files_.front()->go && files_.front()->debug == nullptr &&
                            files_.front()->symbols == nullptr);
}

bool SourceLines::IsPending() const {
  return !files_.empty() && (files_.front()->is_pending || files_.front()->is_stale);
}

void SourceLines::Wipe() { files_.clear(); }

void SourceLines::SetCacheBytes(size_t cache_bytes) {
  if (cache_bytes < settings_.cache_bytes) Wipe();
  settings_.cache_bytes = cache_bytes;
}

void SourceLines::DropDeleted() {
  std::erase_if(files_, [](const auto& open) { return IsDeleted(*open->file); });
}

size_t SourceLines::bytes() const {
  size_t bytes = sizeof(*this);
  for (const auto& open : files_) bytes += open->bytes();
  return bytes;
}

std::vector<SourceLine> WithOwnName(std::vector<SourceLine> lines,
                                    const std::vector<SourceLine>& own) {
  if (own.empty()) return lines;
  if (lines.empty()) return own;
  lines.back().function = own.back().function;
  lines.back().system_name = own.back().system_name;
  return lines;
}

}  // namespace stackray
