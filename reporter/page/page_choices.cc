#include "reporter/page/page_choices.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/text.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr size_t kContainerUnits = 12;

struct Entry {
  uint32_t id = 0;  // Of a thread or process.
  int64_t value = 0;
};

// The entries with the most, and all of those that `is_chosen` says yes to.
template <typename F>
std::vector<Entry> Heaviest(std::vector<Entry> entries, F&& is_chosen) {
  if (entries.size() <= PageChoices::kMost) return entries;
  const auto most = entries.begin() + static_cast<std::ptrdiff_t>(PageChoices::kMost);
  std::ranges::nth_element(entries, most, std::greater(), &Entry::value);
  size_t kept = PageChoices::kMost;
  for (size_t i = kept; i < entries.size(); ++i)
    if (is_chosen(entries[i].id)) entries[kept++] = entries[i];
  entries.resize(kept);
  return entries;
}

}  // namespace

void PageChoices::AddThread(uint32_t thread, int64_t value) {
  if (thread >= values_.size()) values_.resize(tables_.threads.items().size());
  values_[thread] = SaturatingAdd(values_[thread], value);
}

void PageChoices::AddWait(uint32_t wait, int64_t value) {
  if (value > 0) waits_[wait] = SaturatingAdd(waits_[wait], value);
}

void PageChoices::Finish(PageSelection* out) const {
  out->processes = Processes();
  out->threads = Threads();
  out->waits = Waits();
  out->commands = Texts(&ViewProcess::command, question_.commands);
  // Where no command has several processes, the list of processes says it all.
  if (question_.commands.empty() && out->commands.count >= out->processes.count) out->commands = {};
  out->containers = Texts(&ViewProcess::container, question_.containers);
  out->services = Texts(&ViewProcess::service, question_.services);
  out->cgroups = Texts(&ViewProcess::cgroup, question_.cgroups);
  out->users = Texts(&ViewProcess::user, question_.users);
}

// A process that replaced its executable, or whose pid was used again, is one of each key.
PageChoices::List PageChoices::Processes() const {
  absl::flat_hash_map<std::pair<int64_t, uint32_t>, Entry> of_keys;
  for (uint32_t thread = 0; thread < values_.size(); ++thread) {
    if (values_[thread] == 0) continue;
    const uint32_t process = tables_.threads[thread].process;
    const ViewProcess& p = tables_.processes[process];
    Entry& entry = of_keys.try_emplace({p.pid, p.command}, Entry{process, 0}).first->second;
    entry.value = SaturatingAdd(entry.value, values_[thread]);
  }
  std::vector<Entry> entries;
  entries.reserve(of_keys.size());
  for (const auto& [key, entry] : of_keys) entries.push_back(entry);
  List out;
  out.count = entries.size();
  const auto is_chosen = [&](uint32_t process) {
    return !question_.processes.empty() &&
           question_.processes.contains(store_.ProcessKeyOf(process));
  };
  for (const Entry& entry : Heaviest(std::move(entries), is_chosen)) {
    const ViewProcess& p = tables_.processes[entry.id];
    Choice choice{.key = store_.ProcessKeyOf(entry.id),
                  .label = store_.ProcessLabel(entry.id),
                  .note = std::string(tables_.strings[p.executable]),
                  .count = entry.value};
    if (p.container != 0)
      AppendAll(&choice.note, " in container ",
                tables_.strings[p.container].substr(0, kContainerUnits));
    out.list.push_back(std::move(choice));
  }
  Sort(&out, question_.processes);
  return out;
}

// Of the chosen processes.
PageChoices::List PageChoices::Threads() const {
  std::vector<Entry> entries;
  for (uint32_t thread = 0; thread < values_.size(); ++thread) {
    if (values_[thread] == 0) continue;
    if (question_.processes.empty() ||
        question_.processes.contains(store_.ProcessKeyOf(tables_.threads[thread].process)))
      entries.push_back({thread, values_[thread]});
  }
  List out;
  out.count = entries.size();
  const auto is_chosen = [&](uint32_t thread) {
    return !question_.threads.empty() && question_.threads.contains(store_.ThreadKeyOf(thread));
  };
  for (const Entry& entry : Heaviest(std::move(entries), is_chosen)) {
    const PageThread& thread = tables_.threads[entry.id];
    const std::string process = store_.ProcessLabel(thread.process);
    out.list.push_back({.key = store_.ThreadKeyOf(entry.id),
                        .label = thread.tid == 0 ? Concat("whole process ", process)
                                                 : store_.ThreadLabel(entry.id),
                        .note = Concat("of ", process),
                        .count = entry.value});
  }
  Sort(&out, question_.threads);
  return out;
}

PageChoices::List PageChoices::Waits() const {
  List out;
  if (std::ranges::none_of(waits_, [](const auto& wait) { return wait.first != 0; })) return out;
  for (const auto& [wait, value] : waits_)
    out.list.push_back({std::string(tables_.strings[wait]), "", "", value});
  out.count = out.list.size();
  Sort(&out, question_.waits);
  return out;
}

PageChoices::List PageChoices::Texts(uint32_t ViewProcess::*text,
                                     const PageQuestion::Texts& chosen) const {
  absl::flat_hash_map<uint32_t, int64_t> sums;
  for (uint32_t thread = 0; thread < values_.size(); ++thread) {
    if (values_[thread] == 0) continue;
    int64_t& sum = sums[tables_.processes[tables_.threads[thread].process].*text];
    sum = SaturatingAdd(sum, values_[thread]);
  }
  List out;
  if (sums.size() < 2) return out;
  for (const auto& [id, sum] : sums) {
    const std::string name(tables_.strings[id]);
    out.list.push_back({.key = name, .label = name, .note = {}, .count = sum});
  }
  out.count = out.list.size();
  Sort(&out, chosen);
  return out;
}

void PageChoices::Sort(List* list, const PageQuestion::Texts& chosen) {
  std::ranges::sort(list->list, [](const Choice& a, const Choice& b) {
    return a.count != b.count ? a.count > b.count : a.key < b.key;
  });
  size_t kept = 0;
  for (size_t i = 0; i < list->list.size(); ++i) {
    if (i >= kMost && !chosen.contains(list->list[i].key)) continue;
    if (kept != i) list->list[kept] = std::move(list->list[i]);
    ++kept;
  }
  list->list.resize(kept);
}

}  // namespace stackray
