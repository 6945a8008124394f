#include "symbolizer/unwind/jit_tables.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "kernel/process_info.h"

namespace stackray {
namespace {

constexpr uint32_t kPagesOfRegion = JIT_REGION_BYTES >> PAGE_TEXT_SHIFT;

bool IsSame(const process_key& a, const process_key& b) {
  return a.pid == b.pid && a.exec_id == b.exec_id && a.start_time_ns == b.start_time_ns;
}

}  // namespace

FileIdentity JitTables::IdentityOf(const Known& known, size_t region) {
  return {.inode = known.id,
          .device = JIT_DEVICE,
          .generation = static_cast<uint32_t>(region),
          .size_bytes = 0,
          .mtime_s = 0,
          .mtime_ns = 0};
}

jit_process JitTables::ForBpf(const Known& known) {
  jit_process process = {};
  process.id = known.id;
  process.list = known.list.descriptor;
  std::ranges::copy(known.list.words, process.list_words);
  process.same_row = known.same_row;
  for (size_t i = 0; i < MAX_JIT_REGIONS; ++i)
    process.regions[i] = {.start = known.regions.at(i).start, .bytes = known.regions.at(i).bytes};
  return process;
}

JitTables::Known& JitTables::Find(const process_key& process) {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return IsSame(known.process, process); });
  if (found != known_.end()) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  while (known_.size() >= MAX_JIT_PROCESSES) Remove(std::prev(known_.end()));
  known_.push_front({.process = process, .list = {}, .id = ++last_id_});
  return known_.front();
}

JitTables::Entries::iterator JitTables::Remove(Entries::iterator known) {
  store_.memory().RemoveJitProcess(known->process);
  for (size_t i = 0; i < MAX_JIT_REGIONS; ++i)
    if (known->regions.at(i).bytes != 0) store_.DropFile(IdentityOf(*known, i));
  return known_.erase(known);
}

void JitTables::Remove(const process_key& process) {
  for (auto at = known_.begin(); at != known_.end();)
    at = IsSame(at->process, process) ? Remove(at) : std::next(at);
}

void JitTables::RemoveGone() {
  for (auto at = known_.begin(); at != known_.end();) {
    const process_key& key = at->process;
    const bool is_there =
        IsSameProcess({.pid = key.pid, .exec_id = key.exec_id, .start_time_ns = key.start_time_ns});
    at = is_there ? std::next(at) : Remove(at);
  }
}

// Regions whose file has gone are made anew when a page of theirs is put.
void JitTables::ForgetEvicted(Known& known) {
  for (size_t i = 0; i < MAX_JIT_REGIONS; ++i)
    if (store_.FindFile(IdentityOf(known, i)) == nullptr) known.regions.at(i) = {};
}

// The row store may have given pages away, or whole files.
bool JitTables::HasAllPages(const Known& known) const {
  for (size_t i = 0; i < MAX_JIT_REGIONS; ++i)
    if (known.regions.at(i).bytes != 0 &&
        store_.PresentPages(IdentityOf(known, i)) != known.regions.at(i).pages)
      return false;
  return true;
}

// The index of the region that begins at `start`; a new one takes the place of one without pages.
std::optional<uint32_t> JitTables::RegionOf(uint64_t start, Known& known) {
  std::optional<uint32_t> unused;
  for (uint32_t i = 0; i < MAX_JIT_REGIONS; ++i) {
    const Region& region = known.regions.at(i);
    if ((known.same_row >> i & 1) != 0) continue;
    if (region.bytes != 0 && region.start == start) return i;
    if (!unused && region.pages == 0) unused = i;
  }
  if (!unused) return std::nullopt;
  Region& region = known.regions.at(*unused);
  const FileIdentity identity = IdentityOf(known, *unused);
  if (region.bytes != 0) {
    // BPF reads of it until it is told otherwise.
    region = {};
    store_.memory().PutJitProcess(known.process, ForBpf(known));
    store_.DropFile(identity);
  }
  if (!store_.AddFile(identity, {0, kPagesOfRegion}).ok()) return std::nullopt;
  region = {.start = start, .bytes = JIT_REGION_BYTES};
  return unused;
}

void JitTables::PutPage(uint64_t page, const cfi::JitRows& rows, Known& known) {
  const uint64_t address = page << PAGE_TEXT_SHIFT;
  const std::vector<uint8_t> blob = rows.EncodePage(page);
  const std::optional<uint32_t> index = RegionOf(address - address % JIT_REGION_BYTES, known);
  if (!index) {
    left_out_ += blob.empty() ? 0 : 1;
    return;
  }
  Region& region = known.regions.at(*index);
  const FileIdentity identity = IdentityOf(known, *index);
  const auto in_region = static_cast<uint32_t>((address - region.start) >> PAGE_TEXT_SHIFT);
  store_.DropPage(identity, in_region);
  if (!blob.empty() && !store_.PutPage(identity, in_region, blob).ok()) ++left_out_;
  region.pages = store_.PresentPages(identity);
}

void JitTables::PutPages(cfi::JitRows& rows, Known& known) {
  std::set<uint64_t> changed = rows.TakeChanged();
  if (known.is_new || !HasAllPages(known)) {
    ForgetEvicted(known);
    changed.merge(rows.Pages());
  }
  known.is_new = false;
  for (const uint64_t page : changed) PutPage(page, rows, known);
}

// The last region is for code of one row that is larger than a region.
void JitTables::PutLarge(const cfi::JitRows& rows, Known& known) {
  constexpr uint32_t kIndex = MAX_JIT_REGIONS - 1;
  const cfi::CodeRows* const large = rows.large();
  Region& region = known.regions.at(kIndex);
  const bool had_one = (known.same_row >> kIndex & 1) != 0;
  if (large == nullptr && !had_one) return;
  const FileIdentity identity = IdentityOf(known, kIndex);
  if (region.bytes != 0 && (large == nullptr || !had_one)) {
    store_.DropFile(identity);
    region = {};
    known.same_row = 0;
  }
  if (large == nullptr || !store_.AddFile(identity, {0, 1}).ok()) return;
  store_.DropPage(identity, 0);
  if (!store_.PutPage(identity, 0, rows.EncodeLarge()).ok()) return;
  known.same_row = 1U << kIndex;
  region = {.start = large->begin, .bytes = large->end - large->begin, .pages = 1};
}

void JitTables::Update(const process_key& process, const cfi::JitListState& list,
                       cfi::JitRows& rows) {
  if (rows.empty()) {
    rows.TakeChanged();
    Remove(process);
    return;
  }
  Known& known = Find(process);
  known.list = list;
  PutLarge(rows, known);
  PutPages(rows, known);
  store_.memory().PutJitProcess(process, ForBpf(known));
}

std::optional<jit_process> JitTables::Of(const process_key& process) const {
  for (const Known& known : known_)
    if (IsSame(known.process, process)) return ForBpf(known);
  return std::nullopt;
}

const file_entry* JitTables::FindFile(const file_key& region) const {
  return store_.FindFile({.inode = region.inode,
                          .device = region.device,
                          .generation = region.generation,
                          .size_bytes = 0,
                          .mtime_s = 0,
                          .mtime_ns = 0});
}

}  // namespace stackray
