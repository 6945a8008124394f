#include "tests/symbolizer/unwind/own_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "kernel/raw_sample.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/symbol_table.h"

namespace stackray {
namespace {

constexpr uint64_t kStoreBytes = 64 << 20;

// A stack's bytes between two variables are AddressSanitizer's; its memcpy() refuses them.
__attribute__((no_sanitize("address"))) void CopyAnyBytes(uint64_t address, std::span<uint8_t> to) {
  const auto* from = reinterpret_cast<const volatile uint8_t*>(address);
  for (size_t i = 0; i < to.size(); ++i) to.data()[i] = from[i];
}

}  // namespace

OwnMemory::OwnMemory() : store_(rows_, kStoreBytes) { ReadMappings(); }

void OwnMemory::ReadMappings() {
  mappings_.clear();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    unsigned long start = 0, end = 0, offset = 0;
    char access[8] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &start, &end, access, &offset,
                    &path_at) != 4)
      continue;
    mapping.start = start;
    mapping.end = end;
    mapping.offset = offset;
    mapping.readable = access[0] == 'r' && !line.ends_with("[vvar]");
    mapping.executable = access[2] == 'x' && !line.ends_with("[vsyscall]");
    if (static_cast<size_t>(path_at) < line.size()) mapping.path = line.substr(path_at);
    mappings_.push_back(mapping);
  }
}

bool OwnMemory::Read(uint64_t address, std::span<uint8_t> to) {
  if (words_ != nullptr && to.size() == WINDOW_BYTES) return false;  // Only what is needed.
  uint64_t at = address;
  const uint64_t end = address + to.size();
  if (end < address) return false;
  for (const Mapping& mapping : mappings_)
    if (mapping.readable && at >= mapping.start && at < mapping.end) at = mapping.end;
  if (at < end || at == address) return false;
  CopyAnyBytes(address, to);
  for (size_t i = 0; words_ != nullptr && i + 8 <= to.size(); i += 8)
    std::memcpy(&(*words_)[address + i], to.data() + i, 8);
  return true;
}

// The table page that the frame's rule came from, and the frame's name.
void OwnMemory::KeepFrame(uint64_t word, const code_range& range, uint64_t id, RecordedWalk* walk) {
  const uint64_t exact = FrameWordOffset(word);
  const uint64_t offset = exact - (FrameWordKind(word) == FRAME_RETURN);
  std::string& name = walk->names[{id, id == 0 ? 0 : offset}];
  name = "[anonymous]";
  const file_entry* entry = store_.FindFile(IdentityOf(range));
  if (range.kind == RANGE_ANON || entry == nullptr) return;
  const std::string path = range.kind == RANGE_VDSO ? "[vdso]" : paths_.at(range.file.inode - 1);
  OpenedTables* opened = Open(path, range.start, range.end);
  const std::string base_name = path.substr(path.rfind('/') + 1);
  name = "[" + base_name + "]";
  if (absl::StatusOr<SymbolTable> symbols = SymbolTable::Create(*opened->elf, *opened->source);
      symbols.ok()) {
    const std::optional<uint64_t> address = opened->elf->AddressOfOffset(offset);
    if (address) name = symbols->FindName(*opened->source, *address).value_or(name);
  }
  walk->files[id] = {.name = base_name, .pages = {entry->first_page, entry->page_count}};
  for (const uint64_t at : {offset, exact - 1}) {
    const auto page = static_cast<uint32_t>(at >> PAGE_TEXT_SHIFT);
    const std::span<uint8_t> blob = FindBlob(rows_, *entry, page);
    if (!blob.empty()) walk->pages[{id, page}] = {blob.begin(), blob.end()};
  }
}

RecordedWalk OwnMemory::Record(HostWalk& walker, const unwind_registers& leaf, WalkResult* result) {
  RecordedWalk walk{.leaf = leaf};
  words_ = &walk.words;
  (void)walker.Walk(*this, leaf);
  words_ = nullptr;
  for (const uint64_t word : result->words) {
    const code_range& range = result->ranges.at(FrameWordRange(word));
    KeepFrame(word, range, range.kind == RANGE_VDSO ? kVdsoId : range.file.inode, &walk);
  }
  walk.ranges = result->ranges;
  return walk;
}

std::optional<code_range> OwnMemory::FindRange(uint64_t pc) {
  for (const Mapping& mapping : mappings_) {
    // qemu-user's way out of a signal handler is a page's first instruction, where no kernel's is;
    // and a handler's return address is looked up one byte before.
    const uint64_t start = mapping.start - (mapping.path.empty() ? 1 : 0);
    if (!mapping.executable || pc < start || pc >= mapping.end) continue;
    code_range range = {};
    range.start = start;
    range.end = mapping.end;
    range.kind = RANGE_ANON;
    range.file_offset = start;
    if (mapping.path == "[vdso]") {
      range.kind = RANGE_VDSO;
      range.file_offset = 0;
    } else if (mapping.path.starts_with("/")) {
      const auto known = std::ranges::find(paths_, mapping.path);
      range.kind = RANGE_FILE;
      range.file_offset = mapping.offset;
      range.file.inode = static_cast<u64>(known - paths_.begin()) + 1;
      if (known == paths_.end()) paths_.push_back(mapping.path);
    }
    return range;
  }
  return std::nullopt;
}

range_table OwnMemory::DescribeTable(const code_range& range) {
  if (range.kind == RANGE_ANON) return {.state = RANGE_NO_TABLE};
  const file_entry* entry = store_.FindFile(IdentityOf(range));
  if (entry == nullptr) return {.state = RANGE_NOT_LOADED};
  return {.directory = entry->directory,
          .first_page = entry->first_page,
          .page_count = entry->page_count,
          .state = static_cast<u32>(entry->page_count > 0 ? RANGE_HAS_TABLE : RANGE_NO_TABLE)};
}

OpenedTables* OwnMemory::Open(const std::string& path, uint64_t start, uint64_t end) {
  std::unique_ptr<OpenedTables>& opened = files_[path];
  if (opened != nullptr) return opened.get();
  if (path == "[vdso]") {
    const auto* bytes = reinterpret_cast<const uint8_t*>(start);
    opened = OpenBytes({bytes, bytes + (end - start)});
  } else {
    opened = OpenFile(path);
  }
  return opened.get();
}

bool OwnMemory::Load(const code_range& range, uint64_t file_offset) {
  const std::string path = range.kind == RANGE_VDSO ? "[vdso]" : paths_.at(range.file.inode - 1);
  OpenedTables* opened = Open(path, range.start, range.end);
  const PageRange pages = opened->tables ? opened->tables->pages() : PageRange{};
  if (store_.FindFile(IdentityOf(range)) == nullptr &&
      !store_.AddFile(IdentityOf(range), pages).ok())
    return false;
  const auto page = static_cast<uint32_t>(file_offset >> PAGE_TEXT_SHIFT);
  if (!opened->tables || store_.StateOf(IdentityOf(range), page) != RowStore::PageState::kAbsent)
    return true;
  const absl::StatusOr<std::vector<uint8_t>> blob = opened->tables->BuildPage(page);
  return blob.ok() && store_.PutPage(IdentityOf(range), page, *blob).ok();
}

unwind_registers RegistersOf(const ucontext_t& context) {
  unwind_registers out = {};
  const mcontext_t& machine = context.uc_mcontext;
#ifdef STACKRAY_ARM64
  for (int i = 0; i < UNWIND_SP; ++i) out.r[i] = machine.regs[i];
  out.r[UNWIND_SP] = machine.sp;
  out.pc = machine.pc;
  out.address_mask = kUserAddresses;
#else
  constexpr int kNumbers[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                              REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
  for (int i = 0; i < UNWIND_REGISTERS; ++i)
    out.r[i] = static_cast<u64>(machine.gregs[kNumbers[i]]);
  out.pc = static_cast<u64>(machine.gregs[REG_RIP]);
#endif
  out.known = static_cast<u32>((uint64_t{1} << UNWIND_REGISTERS) - 1);
  out.exact_pc = 1;
  return out;
}

}  // namespace stackray
