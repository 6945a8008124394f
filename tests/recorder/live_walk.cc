#include "tests/recorder/live_walk.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "kernel/process_files.h"
#include "kernel/raw_sample.h"
#include "symbolizer/demangle.h"
#include "symbolizer/go/go_function.h"
#include "symbolizer/go/go_table.h"
#include "symbolizer/symbol_table.h"
#include "tests/recorder/replay.h"

namespace stackray {
namespace {

constexpr uint64_t kStoreBytes = 64 << 20;
constexpr size_t kTableBytes = 64 << 20;
constexpr size_t kMaxFiles = 100;
constexpr uint64_t kThreadBytes =
    4096;  // Thread-local variables of a program end at the thread pointer.

uint64_t InodeOf(const code_range& range) {
  return range.kind == RANGE_VDSO ? kVdsoId : range.file.inode;
}

bool SameWalk(const WalkResult& a, const WalkResult& b) {
  return a.words == b.words && a.end == b.end && a.flags == b.flags;
}

}  // namespace

struct LiveWalk::NamedFile {
  ExecutableFilePtr file;
  std::string base_name;
  std::optional<ElfImage> elf;
  std::optional<SymbolTable> symbols;
  std::optional<GoTable> go;
};

LiveWalk::LiveWalk(const StoppedThread& thread, std::vector<code_range> ranges)
    : thread_(thread),
      ranges_(std::move(ranges)),
      store_(rows_, kStoreBytes),
      files_(kMaxFiles),
      loader_(files_, store_, kTableBytes) {}

LiveWalk::~LiveWalk() = default;

absl::StatusOr<std::unique_ptr<LiveWalk>> LiveWalk::Create(const StoppedThread& thread) {
  absl::StatusOr<std::vector<code_range>> ranges =
      ReadExecutableRanges(static_cast<uint32_t>(thread.pid()));
  if (!ranges.ok()) return ranges.status();
  return std::unique_ptr<LiveWalk>(new LiveWalk(thread, *std::move(ranges)));
}

bool LiveWalk::Read(uint64_t address, std::span<uint8_t> to) {
  // Without the window only what is needed is read, and kept.
  if (words_ != nullptr && to.size() == WINDOW_BYTES) return false;
  if (!thread_.ReadMemory(address, to)) return false;
  for (size_t at = 0; words_ != nullptr && at + 8 <= to.size(); at += 8)
    std::memcpy(&(*words_)[address + at], to.data() + at, 8);
  return true;
}

std::optional<code_range> LiveWalk::FindRange(uint64_t pc) {
  for (const code_range& range : ranges_)
    if (pc >= range.start && pc < range.end) return range;
  return std::nullopt;
}

range_table LiveWalk::DescribeTable(const code_range& range) {
  if (range.kind == RANGE_ANON) return {.state = RANGE_NO_TABLE};
  const file_entry* entry = store_.FindFile(IdentityOf(range));
  if (entry == nullptr) return {.state = RANGE_NOT_LOADED};
  return {.directory = entry->directory,
          .first_page = entry->first_page,
          .page_count = entry->page_count,
          .state = static_cast<u32>(entry->page_count > 0 ? RANGE_HAS_TABLE : RANGE_NO_TABLE)};
}

bool LiveWalk::Load(const code_range& range, uint64_t file_offset) {
  loads_.emplace_back(range, file_offset);
  return loader_.LoadPage(static_cast<uint32_t>(thread_.pid()), range, file_offset).ok();
}

LiveWalk::NamedFile* LiveWalk::Open(const code_range& range) {
  std::unique_ptr<NamedFile>& named = named_files_[InodeOf(range)];
  if (named != nullptr) return named.get();
  named = std::make_unique<NamedFile>();
  absl::StatusOr<ExecutableFilePtr> file = files_.Get(static_cast<uint32_t>(thread_.pid()), range);
  if (!file.ok()) return named.get();
  named->file = *file;
  const std::string& path = (*file)->info.path;
  named->base_name = path.substr(path.rfind('/') + 1);
  absl::StatusOr<ElfImage> elf = ElfImage::Create(*(*file)->source);
  if (!elf.ok()) return named.get();
  named->elf = *std::move(elf);
  if (absl::StatusOr<SymbolTable> symbols = SymbolTable::Create(*named->elf, *(*file)->source);
      symbols.ok())
    named->symbols = *std::move(symbols);
  if (absl::StatusOr<GoTable> go = GoTable::Open(*named->elf, *(*file)->source); go.ok())
    named->go.emplace(*std::move(go));
  return named.get();
}

std::string LiveWalk::NameInRange(const code_range& range, uint64_t file_offset) {
  if (range.kind == RANGE_ANON) return "[anonymous]";
  NamedFile* named = Open(range);
  if (named->symbols) {
    const std::optional<uint64_t> address = named->elf->AddressOfOffset(file_offset);
    const std::optional<std::string> name =
        address ? named->symbols->FindName(*named->file->source, *address) : std::nullopt;
    if (name) return Demangle(*name);
  }
  if (named->go) {
    const ByteSource& source = *named->file->source;
    const std::optional<uint64_t> address = named->elf->AddressOfOffset(file_offset);
    const std::optional<uint64_t> function =
        address ? named->go->FindFunction(source, *address) : std::nullopt;
    if (function) return named->go->NameOf(source, *function).value_or("");
  }
  return fmt::format("[{}]", named->base_name);
}

std::string LiveWalk::NameAt(uint64_t address) {
  const std::optional<code_range> range = FindRange(address);
  return range ? NameInRange(*range, address - range->start + range->file_offset) : "";
}

// Of a Go program whose symbols were taken out.
std::optional<uint64_t> LiveWalk::FindGoFunction(const code_range& program,
                                                 const std::string& name) {
  const NamedFile* named = Open(program);
  if (!named->go || !named->elf) return std::nullopt;
  const GoLayout& layout = named->go->layout();
  GoReader reader(layout, *named->file->source, ~uint64_t{0});
  for (uint64_t number = 0; number < layout.function_count; ++number) {
    const std::optional<GoFunction> function = reader.ReadFunction(number);
    if (!function || reader.Name(function->name) != name) continue;
    const std::optional<uint64_t> offset = named->elf->OffsetOfAddress(function->entry);
    if (offset) return program.start + (*offset - program.file_offset);
  }
  return std::nullopt;
}

std::optional<uint64_t> LiveWalk::FindSymbol(const std::string& name) {
  const std::optional<code_range> program = FindRange(thread_.entry());
  if (!program) return std::nullopt;
  if (const NamedFile* named = Open(*program);
      named->go && !named->symbols->FindName(*named->file->source, named->elf->entry()))
    return FindGoFunction(*program, name);
  for (uint64_t address = program->start; address < program->end; ++address) {
    const std::string found = NameAt(address);
    if (found == name || found.starts_with(name + "::h")) return address;
  }
  return std::nullopt;
}

// The table page that the frame's rule came from, and the frame's name.
void LiveWalk::KeepFrame(uint64_t word, const code_range& range, uint64_t id, RecordedWalk* walk) {
  const uint64_t exact = FrameWordOffset(word);
  const uint64_t offset = exact - (FrameWordKind(word) == FRAME_RETURN);
  walk->names[{id, id == 0 ? 0 : offset}] = NameInRange(range, offset);
  // A trampoline is looked up a byte before its first, too.
  for (const uint64_t at : {offset, exact - 1}) KeepPage(range, id, at, walk);
}

void LiveWalk::KeepPage(const code_range& range, uint64_t id, uint64_t file_offset,
                        RecordedWalk* walk) {
  const file_entry* entry = store_.FindFile(IdentityOf(range));
  if (range.kind == RANGE_ANON || entry == nullptr) return;
  walk->files[id] = {.name = Open(range)->base_name,
                     .pages = {entry->first_page, entry->page_count}};
  const auto page = static_cast<uint32_t>(file_offset >> PAGE_TEXT_SHIFT);
  const std::span<uint8_t> blob = FindBlob(rows_, *entry, page);
  if (!blob.empty()) walk->pages[{id, page}] = {blob.begin(), blob.end()};
}

void LiveWalk::KeepRanges(const WalkResult& result, RecordedWalk* walk) {
  std::map<uint64_t, uint64_t> ids;  // By inode.
  for (code_range range : result.ranges) {
    if (range.kind == RANGE_FILE) {
      const uint64_t id = ids.try_emplace(range.file.inode, ids.size() + 1).first->second;
      range.file = {.inode = id};
      range.file_size_bytes = 0;
      range.file_mtime_s = 0;
      range.file_mtime_ns = 0;
    }
    walk->ranges.push_back(range);
  }
  for (const uint64_t word : result.words) {
    if (FrameWordKind(word) == FRAME_NO_RANGE) continue;
    const code_range& range = result.ranges[FrameWordRange(word)];
    const uint64_t id = range.kind == RANGE_FILE   ? ids.at(range.file.inode)
                        : range.kind == RANGE_VDSO ? kVdsoId
                                                   : 0;
    KeepFrame(word, range, id, walk);
  }
  // What was looked up for a return address that is no frame: the base of a stack that was made by
  // hand.
  for (const auto& [range, offset] : loads_) {
    const auto id = ids.find(range.file.inode);
    if (range.kind == RANGE_FILE && id != ids.end()) KeepPage(range, id->second, offset, walk);
  }
}

absl::StatusOr<RecordedWalk> LiveWalk::Record(WalkResult* result) {
  absl::StatusOr<unwind_registers> leaf = thread_.Registers();
  if (!leaf.ok()) return leaf.status();
  HostWalk walker;
  *result = walker.Walk(*this, *leaf);
  RecordedWalk walk{.leaf = *leaf};
  words_ = &walk.words;
  const WalkResult word_by_word = walker.Walk(*this, *leaf);
  words_ = nullptr;
  if (!SameWalk(*result, word_by_word))
    return absl::InternalError("walks with and without the window differ");
  const uint64_t thread_pointer = thread_.thread_pointer();
  const auto near_thread = walk.words.lower_bound(thread_pointer - kThreadBytes);
  if (near_thread != walk.words.end() && near_thread->first <= thread_pointer)
    walk.thread_pointer = thread_pointer;
  KeepRanges(*result, &walk);
  result->ranges = walk.ranges;
  ReplayEnvironment replay(walk, {});
  if (!SameWalk(*result, walker.Walk(replay, *leaf)))
    return absl::InternalError("the recording does not replay");
  return walk;
}

}  // namespace stackray
