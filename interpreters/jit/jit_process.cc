#include "interpreters/jit/jit_process.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "interpreters/jit/gdb_jit_rows.h"
#include "interpreters/jit/jit_file.h"
#include "kernel/wall_clock.h"
#include "symbolizer/byte_source.h"

namespace stackray {
namespace {

// A process that has said nothing so far is looked at again after these, ever more rarely.
constexpr uint64_t kFirstWaitNs = 20'000'000, kLongestWaitNs = 10'000'000'000;
constexpr uint32_t kMostDoublings = 9;
// A whole list is read so often, because an entry may go without the first one's changing.
constexpr uint64_t kListEveryNs = 2'000'000'000;
// Reading takes a tenth of the time at most.
constexpr int64_t kReadingShare = 10;
// File systems' clocks stand still for up to 10 ms, and wall clocks are set.
constexpr int64_t kWrittenBeforeNs = 1'000'000'000;
constexpr size_t kChunkBytes = 64 << 10;

uint64_t WaitAfter(uint32_t looks) {
  return std::min(kFirstWaitNs << std::min(looks, kMostDoublings), kLongestWaitNs);
}

struct FileNow {
  uint64_t size_bytes = 0;
  bool has_name = false;
};
FileNow LookAt(const UniqueFd& fd) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return {};
  return {.size_bytes = static_cast<uint64_t>(info.st_size), .has_name = info.st_nlink > 0};
}

}  // namespace

bool JitProcess::Reading::IsOver() const { return absl::Now() >= deadline; }

void JitProcess::LookForFiles(uint64_t now_ns, Reading& reading) {
  const std::optional<JitFileOwner> owner = ReadJitFileOwner(id_.pid);
  if (!owner) return;
  const ProcessPlace place = OpenProcessPlace("/proc", id_.pid);
  const auto refuse = [&](const absl::Status& status) {
    if (!absl::IsPermissionDenied(status) || refused_ == status.message()) return;
    refused_ = std::string(status.message());
    ++reading.counts.refused[refused_];
  };
  const auto age_ns = static_cast<int64_t>(now_ns - id_.start_time_ns);
  const int64_t begun_ns = static_cast<int64_t>(now_ns) + WallOffsetNs() - age_ns;
  if (!perf_map_.fd.valid()) {
    absl::StatusOr<UniqueFd> fd =
        OpenJitFile(place, "tmp/perf-" + std::to_string(owner->inner_pid) + ".map", *owner,
                    begun_ns - kWrittenBeforeNs);
    refuse(fd.status());
    if (fd.ok()) {
      perf_map_ = {.fd = *std::move(fd)};
      ++reading.counts.perf_maps;
    }
  }
  if (!jit_dump_.fd.valid()) {
    absl::StatusOr<UniqueFd> fd = OpenMarkedJitDump(id_.pid, *owner, place.user);
    refuse(fd.status());
    if (fd.ok()) {
      jit_dump_ = {.fd = *std::move(fd)};
      ++reading.counts.jit_dumps;
    }
  }
}

void JitProcess::LookForLists(const FindDescriptors& find, Reading& reading) {
  std::vector<uint64_t> descriptors;
  is_search_over_ = find(reading.deadline, &descriptors);
  for (const uint64_t descriptor : descriptors) {
    if (std::ranges::find(lists_, descriptor, &List::descriptor) != lists_.end()) continue;
    lists_.push_back({.descriptor = descriptor, .words = std::nullopt, .entries = {}});
    ++reading.counts.gdb_lists;
  }
}

void JitProcess::FollowPerfMap(Reading& reading) {
  if (!perf_map_.fd.valid()) return;
  const FileNow now = LookAt(perf_map_.fd);
  if (!now.has_name || now.size_bytes < perf_map_.read_bytes) {  // Another one is in its place.
    perf_map_ = {};
    next_look_ns_ = looks_ = 0;
    return;
  }
  const FdSource source(perf_map_.fd.get(), now.size_bytes);
  std::array<uint8_t, kChunkBytes> chunk;
  while (perf_map_.read_bytes < now.size_bytes && !reading.IsOver()) {
    const auto part = std::span(chunk).first(
        std::min<uint64_t>(chunk.size(), now.size_bytes - perf_map_.read_bytes));
    if (!source.ReadAt(perf_map_.read_bytes, part).ok()) break;
    perf_map_.reader.Take({reinterpret_cast<const char*>(part.data()), part.size()},
                          perf_map_.code);
    perf_map_.read_bytes += part.size();
  }
  perf_map_.is_behind = perf_map_.read_bytes < now.size_bytes;
}

void JitProcess::FollowJitDump(Reading& reading) {
  if (!jit_dump_.fd.valid() || jit_dump_.is_broken) return;
  const FileNow now = LookAt(jit_dump_.fd);
  if (now.size_bytes < jit_dump_.reader.offset()) {
    jit_dump_ = {};
    rows_.EraseAll(cfi::JitRows::From::kDump);
    next_look_ns_ = looks_ = 0;
    return;
  }
  const FdSource source(jit_dump_.fd.get(), now.size_bytes);
  bool is_over = false;
  const absl::Status status = jit_dump_.reader.ReadOn(
      source, jit_dump_.code, rows_, [&] { return is_over = is_over || reading.IsOver(); });
  jit_dump_.is_broken = absl::IsUnimplemented(status) || absl::IsDataLoss(status);
  if (jit_dump_.is_broken) ++reading.counts.refused["jitdump that makes no sense"];
  jit_dump_.is_behind = is_over;
}

void JitProcess::TakeElf(const GdbJitEntry& entry, Reading& reading) {
  absl::StatusOr<std::vector<JitFunction>> functions =
      FunctionsOfJitElf(ProcessBytes(reading.memory, entry.elf, entry.size_bytes));
  if (!functions.ok()) {
    ++listed_damaged_;
    return;
  }
  for (JitFunction& function : *functions)
    ++(listed_.Put(std::move(function)) ? listed_functions_ : listed_damaged_);
}

void JitProcess::TakeRows(const GdbJitEntry& entry, Reading& reading) {
  absl::StatusOr<JitElfRows> found = RowsOfJitElf(reading.memory, entry);
  if (!found.ok()) return;
  for (const cfi::AddressRange& code : found->code) rows_.Erase(code.begin, code.end);
  for (cfi::CodeRows& rows : found->rows) rows_.Put(std::move(rows), cfi::JitRows::From::kList);
}

// Of an entry that is gone its functions are not known: what is there is read again.
void JitProcess::ForgetLists() {
  listed_.Clear();
  rows_.EraseAll(cfi::JitRows::From::kList);
  for (List& list : lists_) {
    list.entries.clear();
    list.words.reset();
  }
}

// The oldest first, so that a newer function takes an older one's place.
void JitProcess::TakeEntries(const GdbJitList& now, List& list, Reading& reading) {
  for (auto entry = now.entries.rbegin(); entry != now.entries.rend(); ++entry) {
    const auto [known, is_new] = list.entries.insert({entry->entry, *entry});
    if (!is_new && known->second == *entry) continue;
    if (reading.IsOver()) {
      list.entries.erase(known);
      is_list_behind_ = true;
      return;
    }
    known->second = *entry;
    TakeElf(*entry, reading);
    TakeRows(*entry, reading);
  }
}

void JitProcess::FollowList(uint64_t now_ns, List& list, Reading& reading) {
  const absl::StatusOr<GdbJitWords> words = ReadGdbJitWords(reading.memory, list.descriptor);
  if (!words.ok() || (list.words == *words && now_ns < next_list_ns_)) return;
  const GdbJitList now = ReadGdbJitList(reading.memory, (*words)[JIT_FIRST_ENTRY], kMostGdbEntries);
  absl::flat_hash_set<uint64_t> there;
  for (const GdbJitEntry& entry : now.entries) there.insert(entry.entry);
  if (now.is_whole && std::ranges::any_of(list.entries, [&](const auto& known) {
        return !there.contains(known.first);
      }))
    ForgetLists();
  list.words.reset();
  TakeEntries(now, list, reading);
  // It may have changed while it was read.
  const absl::StatusOr<GdbJitWords> after = ReadGdbJitWords(reading.memory, list.descriptor);
  if (now.is_whole && !is_list_behind_ && after.ok() && *after == *words) list.words = *words;
}

cfi::JitRows* JitProcess::rows() {
  const bool is_behind = is_late_ || jit_dump_.is_behind || is_list_behind_;
  const bool is_list_known = std::ranges::all_of(
      lists_, [](const List& list) { return list.entries.empty() || list.words.has_value(); });
  return is_behind || !is_list_known ? nullptr : &rows_;
}

// Of several lists with code the first one, which is nearly always the only one.
cfi::JitListState JitProcess::list_state() const {
  for (const List& list : lists_)
    if (!list.entries.empty() && list.words)
      return {.descriptor = list.descriptor, .words = *list.words};
  return {};
}

void JitProcess::Count(JitCounts* counts) {
  const auto add = [](uint64_t now, uint64_t* before, uint64_t* sum) {
    *sum += now - std::min(now, *before);
    *before = now;
  };
  add(perf_map_.reader.functions() + jit_dump_.reader.functions() + listed_functions_,
      &counted_functions_, &counts->functions);
  add(perf_map_.reader.damaged() + jit_dump_.reader.damaged() + listed_damaged_, &counted_damaged_,
      &counts->damaged);
  add(perf_map_.code.forgotten() + jit_dump_.code.forgotten() + listed_.forgotten(),
      &counted_forgotten_, &counts->forgotten);
}

void JitProcess::Follow(uint64_t now_ns, ProcessMemory& memory, const FindDescriptors& find,
                        JitCounts* counts) {
  const auto since = absl::Nanoseconds(now_ns - std::min(now_ns, followed_ns_));
  may_read_ = std::min(may_read_ + since / kReadingShare, kReadingAhead);
  followed_ns_ = now_ns;
  is_late_ = may_read_ <= absl::ZeroDuration();
  if (is_late_) return;
  const absl::Time begin = absl::Now();
  Reading reading{.memory = memory, .counts = *counts};
  const auto give_time = [&] { reading.deadline = absl::Now() + kMostReading; };
  const bool lacks_some = !perf_map_.fd.valid() || !jit_dump_.fd.valid() || !is_search_over_;
  const bool looks = lacks_some && now_ns >= next_look_ns_;
  give_time();
  if (looks) {
    next_look_ns_ = now_ns + WaitAfter(looks_++);
    LookForFiles(now_ns, reading);
  }
  FollowPerfMap(reading);
  FollowJitDump(reading);
  may_read_ -= absl::Now() - begin;
  give_time();
  if (looks) LookForLists(find, reading);  // Ever more rarely, so it counts for itself.
  const absl::Time lists_begin = absl::Now();
  give_time();
  is_list_behind_ = false;
  for (List& list : lists_) FollowList(now_ns, list, reading);
  if (now_ns >= next_list_ns_) next_list_ns_ = now_ns + kListEveryNs;
  Count(counts);
  if (perf_map_.is_behind || jit_dump_.is_behind || is_list_behind_) ++counts->too_slow;
  may_read_ -= absl::Now() - lists_begin;
}

// A jitdump says most of a function, so it is asked first.
const JitFunction* JitProcess::Find(uint64_t address) const {
  const JitFunction* found = nullptr;
  if (is_late_) return found;
  if (!jit_dump_.is_behind) found = jit_dump_.code.Find(address);
  if (found == nullptr && !perf_map_.is_behind) found = perf_map_.code.Find(address);
  if (found == nullptr && !is_list_behind_) found = listed_.Find(address);
  return found;
}

size_t JitProcess::bytes() const {
  return sizeof(*this) + perf_map_.code.bytes() + jit_dump_.code.bytes() + listed_.bytes() +
         rows_.bytes();
}

void JitProcess::Forget() {
  perf_map_ = {};
  jit_dump_ = {};
  lists_.clear();
  listed_.Clear();
  rows_.Clear();
  is_search_over_ = false;
  followed_ns_ = next_look_ns_ = next_list_ns_ = 0;
  looks_ = 0;
}

}  // namespace stackray
