#include "tests/recorder/replay.h"

#include <algorithm>
#include <cstring>

namespace stackray {
namespace {

constexpr uint64_t kStoreBytes = 8 << 20;
constexpr uint8_t kNotRecorded = 0xa5;

uint64_t IdOf(const code_range& range) {
  return range.kind == RANGE_VDSO ? kVdsoId : range.file.inode;
}

}  // namespace

ReplayEnvironment::ReplayEnvironment(const RecordedWalk& walk, Options options)
    : walk_(walk), options_(options), store_(rows_, kStoreBytes) {
  if (options.lazy) return;
  for (const auto& [id, file] : walk.files)
    store_.AddFile(IdentityOf(id), file.pages).IgnoreError();
  for (const auto& [place, blob] : walk.pages) PutPage(place.first, place.second);
}

bool ReplayEnvironment::PutPage(uint64_t id, uint32_t page) {
  const auto blob = walk_.pages.find({id, page});
  return blob != walk_.pages.end() && store_.PutPage(IdentityOf(id), page, blob->second).ok();
}

bool ReplayEnvironment::Read(uint64_t address, std::span<uint8_t> to) {
  if (options_.windows && walk_.words.contains(address)) {
    std::fill(to.begin(), to.end(), kNotRecorded);
  } else {
    for (uint64_t at = 0; at < to.size(); at += 8)
      if (!walk_.words.contains(address + at)) return false;
  }
  for (auto word = walk_.words.lower_bound(address); word != walk_.words.end(); ++word) {
    const uint64_t at = word->first - address;
    if (at + sizeof(word->second) > to.size()) break;
    std::memcpy(to.data() + at, &word->second, sizeof(word->second));
  }
  return true;
}

std::optional<code_range> ReplayEnvironment::FindRange(uint64_t pc) {
  for (const code_range& range : walk_.ranges)
    if (pc >= range.start && pc < range.end) return range;
  return std::nullopt;
}

range_table ReplayEnvironment::DescribeTable(const code_range& range) {
  if (range.kind == RANGE_ANON) return {.state = RANGE_NO_TABLE};
  const file_entry* entry = store_.FindFile(IdentityOf(IdOf(range)));
  if (entry == nullptr) return {.state = RANGE_NOT_LOADED};
  return {.directory = entry->directory,
          .first_page = entry->first_page,
          .page_count = entry->page_count,
          .state = static_cast<u32>(entry->page_count > 0 ? RANGE_HAS_TABLE : RANGE_NO_TABLE)};
}

bool ReplayEnvironment::Load(const code_range& range, uint64_t file_offset) {
  const uint64_t id = IdOf(range);
  const auto file = walk_.files.find(id);
  if (!options_.lazy || file == walk_.files.end()) return false;
  if (!store_.AddFile(IdentityOf(id), file->second.pages).ok()) return false;
  return file->second.pages.page_count == 0 ||
         PutPage(id, static_cast<uint32_t>(file_offset >> PAGE_TEXT_SHIFT));
}

std::span<uint8_t> ReplayEnvironment::PageBytes(uint64_t id, uint32_t page) {
  const file_entry* entry = store_.FindFile(IdentityOf(id));
  const auto blob = walk_.pages.find({id, page});
  if (entry == nullptr || blob == walk_.pages.end()) return {};
  const std::span<uint8_t> bytes = FindBlob(rows_, *entry, page);  // Its size may be damaged.
  return bytes.empty() ? bytes : std::span<uint8_t>(bytes.data(), blob->second.size());
}

}  // namespace stackray
