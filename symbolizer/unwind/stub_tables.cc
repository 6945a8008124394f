#include "symbolizer/unwind/stub_tables.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "kernel/process_info.h"

namespace stackray {
namespace {

bool IsSame(const process_key& a, const process_key& b) {
  return a.pid == b.pid && a.exec_id == b.exec_id && a.start_time_ns == b.start_time_ns;
}

}  // namespace

FileIdentity StubTables::IdentityOf(uint64_t id) {
  return {.inode = id,
          .device = STUB_DEVICE,
          .generation = 0,
          .size_bytes = 0,
          .mtime_s = 0,
          .mtime_ns = 0};
}

StubTables::Entries::iterator StubTables::Remove(Entries::iterator known) {
  store_.DropFile(IdentityOf(known->id));
  return known_.erase(known);
}

StubTables::Known& StubTables::Find(const process_key& process, uint64_t id) {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return IsSame(known.process, process); });
  if (found != known_.end() && found->id == id) {
    known_.splice(known_.begin(), known_, found);
    return known_.front();
  }
  if (found != known_.end()) Remove(found);
  while (known_.size() >= kMostProcesses) Remove(std::prev(known_.end()));
  known_.push_front({.process = process, .id = id});
  return known_.front();
}

void StubTables::Put(const process_key& process, uint64_t id, uint64_t begin,
                     const cfi::JitRows& rows) {
  const std::set<uint64_t> pages = rows.Pages();
  const uint64_t first = begin >> PAGE_TEXT_SHIFT;
  if (pages.empty() || *pages.begin() < first) return;
  const FileIdentity identity = IdentityOf(id);
  Known& known = Find(process, id);
  const bool is_there = store_.FindFile(identity) != nullptr;
  if (is_there && store_.PresentPages(identity) == known.pages) return;
  const auto count = static_cast<uint32_t>(*pages.rbegin() - first + 1);
  if (!is_there && !store_.AddFile(identity, {0, count}).ok()) return;
  for (const uint64_t page : pages) {
    const auto in_file = static_cast<uint32_t>(page - first);
    if (store_.StateOf(identity, in_file) == RowStore::PageState::kPresent) continue;
    const std::vector<uint8_t> blob = rows.EncodePage(page);
    if (!blob.empty()) (void)store_.PutPage(identity, in_file, blob);
  }
  known.pages = store_.PresentPages(identity);
}

void StubTables::RemoveGone() {
  for (auto at = known_.begin(); at != known_.end();) {
    const process_key& key = at->process;
    const bool is_there =
        IsSameProcess({.pid = key.pid, .exec_id = key.exec_id, .start_time_ns = key.start_time_ns});
    at = is_there ? std::next(at) : Remove(at);
  }
}

}  // namespace stackray
