#include "reporter/page/page_lanes.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr size_t kMostLanes = 500;       // Processes; the others are too thin to be seen.
constexpr size_t kMostThreadLanes = 64;  // Of one process.

using Counts = std::vector<std::pair<uint32_t, int64_t>>;

struct Entry {
  uint32_t process = 0;
  int64_t sum = 0;
  std::vector<ThreadTime> threads;
};

void Merge(Counts* counts) {
  std::ranges::sort(*counts, {}, &std::pair<uint32_t, int64_t>::first);
  size_t kept = 0;
  for (const auto& [bucket, count] : *counts) {
    if (kept > 0 && (*counts)[kept - 1].first == bucket)
      (*counts)[kept - 1].second = SaturatingAdd((*counts)[kept - 1].second, count);
    else
      (*counts)[kept++] = {bucket, count};
  }
  counts->resize(kept);
}

std::vector<Entry> ByProcess(const PageStore& store, std::vector<ThreadTime> times) {
  absl::flat_hash_map<uint32_t, size_t> places;
  std::vector<Entry> entries;
  for (ThreadTime& time : times) {
    const uint32_t process = store.tables().threads[time.thread].process;
    const auto [place, fresh] = places.try_emplace(process, entries.size());
    if (fresh) entries.push_back({.process = process, .sum = 0, .threads = {}});
    Entry& entry = entries[place->second];
    entry.sum = SaturatingAdd(entry.sum, time.sum);
    entry.threads.push_back(std::move(time));
  }
  std::ranges::stable_sort(entries, std::greater(), &Entry::sum);
  return entries;
}

}  // namespace

std::vector<PageSelection::Lane> LanesOf(const PageStore& store, std::vector<ThreadTime> times) {
  std::vector<Entry> entries = ByProcess(store, std::move(times));
  if (entries.size() > kMostLanes) entries.resize(kMostLanes);
  std::vector<PageSelection::Lane> lanes;
  for (Entry& entry : entries) {
    PageSelection::Lane whole{.label = store.ProcessLabel(entry.process),
                              .process = store.ProcessKeyOf(entry.process),
                              .thread = {},
                              .sum = entry.sum,
                              .counts = {}};
    for (const ThreadTime& thread : entry.threads)
      whole.counts.insert(whole.counts.end(), thread.counts.begin(), thread.counts.end());
    Merge(&whole.counts);
    const std::string key = whole.process;
    lanes.push_back(std::move(whole));
    if (entry.threads.size() < 2) continue;
    std::ranges::stable_sort(entry.threads, std::greater(), &ThreadTime::sum);
    if (entry.threads.size() > kMostThreadLanes) entry.threads.resize(kMostThreadLanes);
    for (ThreadTime& thread : entry.threads) {
      Merge(&thread.counts);
      lanes.push_back({store.ThreadLabel(thread.thread), key, store.ThreadKeyOf(thread.thread),
                       thread.sum, std::move(thread.counts)});
    }
  }
  return lanes;
}

}  // namespace stackray
