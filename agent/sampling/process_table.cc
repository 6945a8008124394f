#include "agent/sampling/process_table.h"

#include <algorithm>
#include <utility>

#include "agent/sampling/claimed_attributes.h"
#include "agent/sampling/java_program.h"
#include "kernel/process_info.h"

namespace stackray {
namespace {

// A task is sampled in do_exit() and in exec() after the event that ends its image.
constexpr int64_t kLingerNs = 1'000'000'000;

// Neither a list nor /proc has it: only its exit tells of its end.
bool IsOutside(const ProcessId& id) { return (id.pid & PID_OUTSIDE) != 0; }

ProcessId ImageBefore(ProcessId id) {
  --id.exec_id;
  return id;
}

}  // namespace

void ProcessTable::Advance(uint64_t record_time_ns) {
  now_ns_ = record_time_ns;
  while (!ended_.empty() && static_cast<int64_t>(now_ns_ - ended_.front().time_ns) > kLingerNs) {
    const Ended ended = ended_.front();
    ended_.pop_front();
    const auto it = by_id_.find(ended.id);
    if (it == by_id_.end()) continue;
    const uint64_t last_ns = it->second->ended_ns;
    if (static_cast<int64_t>(now_ns_ - last_ns) > kLingerNs) {
      entries_.erase(it->second);
      by_id_.erase(it);
    } else {
      ended_.push_back({last_ns, ended.id});  // A sample of it came later.
    }
  }
}

ProcessTable::Entry* ProcessTable::Find(const ProcessId& id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it->second);
  return &*it->second;
}

ProcessTable::Entry& ProcessTable::Add(const ProcessId& id) {
  entries_.push_front({.id = id, .image = std::make_shared<Image>(), .since_ns = id.start_time_ns});
  by_id_[id] = entries_.begin();
  if (entries_.size() > max_processes_) {
    by_id_.erase(entries_.back().id);
    entries_.pop_back();
  }
  return entries_.front();
}

// /proc instead of an event.
void ProcessTable::AskProc(Entry& entry) {
  entry.image->path_asked = true;
  const std::optional<ProcProcess> process = ReadProcProcess(entry.id);
  if (!process) return;
  if (entry.image->path.empty()) entry.image->path = process->executable_path;
  if (entry.cgroup == nullptr)
    entry.cgroup =
        InternCgroup(process->cgroup_text, [&] { return ReadProcCgroup(process->cgroup_text); });
}

ProcessTable::Entry& ProcessTable::FindOrAsk(const ProcessId& id) {
  if (Entry* entry = Find(id)) return *entry;
  Entry& entry = Add(id);
  AskProc(entry);
  return entry;
}

std::shared_ptr<const CgroupFacts> ProcessTable::InternCgroup(const std::string& key, auto read) {
  const auto it = cgroups_.find(key);
  if (it != cgroups_.end()) return it->second;
  if (cgroups_.size() >= cgroups_limit_) {
    absl::erase_if(cgroups_, [](const auto& known) { return known.second.use_count() == 1; });
    cgroups_limit_ = std::max<size_t>(64, 2 * cgroups_.size());
  }
  return cgroups_[key] = std::make_shared<const CgroupFacts>(read());
}

std::shared_ptr<const CgroupFacts> ProcessTable::CgroupOf(const ProcessEvent& event) {
  // Where v2 ends and v1 begins is part of what the names say.
  std::string key = std::to_string(event.cgroup.size());
  key += event.cgroups;
  return InternCgroup(key, [&] {
    const std::string v2 = PathOf(event.cgroup);
    return ChooseCgroup(v2.empty() ? "/" : v2, PathOf(event.cgroup_v1));
  });
}

// The child runs its parent's image, in its cgroup unless the event says otherwise.
void ProcessTable::TakeFork(const ProcessEvent& event) {
  const ProcessId id = ProcessIdOf(event.record->process);
  if (Find(id) != nullptr) return;  // The iterator was first.
  const Entry& parent = FindOrAsk(ProcessIdOf(event.record->parent));
  const std::shared_ptr<Image> image = parent.image;
  const std::shared_ptr<const CgroupFacts> cgroup = parent.cgroup;
  Entry& child = Add(id);
  child.image = image;
  child.cgroup = (event.record->flags & PROCESS_SAME_CGROUP) != 0 ? cgroup : CgroupOf(event);
  child.is_kernel_thread = (event.record->flags & PROCESS_KERNEL_THREAD) != 0;
}

// An exec, or a process of the list.
ProcessTable::Entry& ProcessTable::TakeImage(const ProcessEvent& event) {
  const ProcessId id = ProcessIdOf(event.record->process);
  const bool is_cut = (event.record->flags & PROCESS_NAMES_CUT) != 0;
  const std::string path = is_cut ? std::string() : PathOf(event.executable);
  Entry* entry = Find(id);
  if (entry == nullptr) {
    ServiceEnvironment environment;
    if (const Entry* before = Find(ImageBefore(id))) environment = before->image->environment;
    entry = &Add(id);
    entry->image->environment = std::move(environment);
  }
  if (entry->image->path != path && !path.empty()) {
    // A new one: the old may be shared with a parent. What is known of its environment stays.
    entry->image = std::make_shared<Image>(*entry->image);
    entry->image->path = path;
  }
  entry->cgroup = CgroupOf(event);
  entry->is_kernel_thread = (event.record->flags & PROCESS_KERNEL_THREAD) != 0;
  if (is_cut) AskProc(*entry);
  return *entry;
}

void ProcessTable::End(const ProcessId& id) {
  if (on_end_) on_end_(id);
  const auto it = by_id_.find(id);
  if (it == by_id_.end() || it->second->ended_ns != 0) return;
  it->second->ended_ns = std::max<uint64_t>(now_ns_, 1);
  ended_.push_back({it->second->ended_ns, id});
}

void ProcessTable::Take(const ProcessEvent& event) {
  const ProcessId id = ProcessIdOf(event.record->process);
  switch (event.record->header.type) {
    case RECORD_FORK: TakeFork(event); break;
    case RECORD_EXEC: {
      Entry& entry = TakeImage(event);
      entry.since_ns = now_ns_;
      entry.image->command = CommandText(event.record->leader_command);
      End(ImageBefore(id));
      break;
    }
    case RECORD_EXISTING: TakeImage(event).listed = list_; break;
    case RECORD_MOVED:
      if (Entry* entry = Find(id)) entry->cgroup = CgroupOf(event);
      break;
    case RECORD_EXIT: End(id); break;
  }
}

void ProcessTable::EndList() {
  for (const Entry& entry : entries_)
    if (entry.listed != list_ && !IsOutside(entry.id)) End(entry.id);
}

void ProcessTable::EndGone() {
  for (const Entry& entry : entries_)
    if (entry.ended_ns == 0 && !IsOutside(entry.id) && !IsSameProcess(entry.id)) End(entry.id);
}

void ProcessTable::ReadEnvironment(Entry& entry) {
  Image& image = *entry.image;
  if (image.environment_read || entry.is_kernel_thread || IsOutside(entry.id) ||
      entry.ended_ns != 0)
    return;
  absl::StatusOr<ServiceEnvironment> read = ReadServiceEnvironment(entry.id);
  image.environment_read = !absl::IsUnavailable(read.status());
  // A process that is gone has the one of the image before, as exec() passes it on.
  if (read.ok()) image.environment = *std::move(read);
}

// The name as of the exec: a leader may have another one by now (node calls its own "MainThread").
// Where that exec was not seen, or its name was cut, the process's memory still has it.
std::string ProcessTable::CommandOf(Entry& entry) {
  if (entry.is_kernel_thread) return "kernel";
  constexpr size_t kCutBytes = COMMAND_BYTES - 1;
  Image& image = *entry.image;
  const bool is_known = !image.command.empty() && image.command.size() < kCutBytes;
  if (!is_known && !image.called_asked && entry.ended_ns == 0) {
    image.called = NameAsCalled(entry.id);
    image.called_asked = true;
  }
  std::string_view command = image.command;
  if (command.empty() && image.called.empty()) command = described_.command;
  return CommandName(command, image.called, image.path);
}

std::string ProcessTable::JavaProgram(Entry& entry) {
  Image& image = *entry.image;
  if (!image.java_asked && entry.ended_ns == 0 && !entry.is_kernel_thread && !IsOutside(entry.id) &&
      IsJavaLauncher(image.path)) {
    image.java_program = JavaProgramOf(ReadCommandLine(entry.id));
    image.java_asked = true;
  }
  return image.java_program;
}

const std::string& ProcessTable::UserOf(Entry& entry) {
  constexpr uint64_t kAskedForNs = 60'000'000'000;
  if (entry.ended_ns != 0 || IsOutside(entry.id) ||
      (entry.user_ns != 0 && now_ns_ - entry.user_ns < kAskedForNs))
    return entry.user;
  entry.user_ns = std::max<uint64_t>(now_ns_, 1);
  std::string user = users_.OfProcess(entry.id.pid);
  if (!user.empty() && IsSameProcess(entry.id)) entry.user = std::move(user);
  return entry.user;
}

// Attributes: the context's first, then the environment's; of equal keys the first counts.
void ProcessTable::TakeServiceFacts(Entry& entry, const CgroupFacts& cgroup) {
  const ServiceEnvironment& environment = entry.image->environment;
  const ProcessContext* context = entry.context.context.get();
  const auto claim = [this](const auto& attributes) {
    for (const auto& [key, value] : attributes)
      if (std::optional<std::string> claimed = ClaimedKey(key))
        described_.claimed.emplace_back(*std::move(claimed), value);
  };
  if (context != nullptr) claim(context->attributes);
  claim(environment.attributes);
  ChosenServiceName chosen = ChooseServiceName(
      service_names_, {.context = context != nullptr ? std::string_view(context->service_name) : "",
                       .environment = environment.service_name,
                       .unit = cgroup.service,
                       .info = described_,
                       .command = [&] { return CommandOf(entry); },
                       .java = [&] { return JavaProgram(entry); }});
  described_.service_name = std::move(chosen.name);
  described_.is_service_claimed =
      !entry.is_kernel_thread &&
      (IsOwnWord(chosen.source) ||
       (chosen.source == ServiceNameSource::kSystemd ? cgroup.is_service_claimed
                                                     : cgroup.is_container_claimed));
}

const ProcessInfo& ProcessTable::Describe(const ProcessId& id, std::string_view command,
                                          int64_t wall_offset_ns) {
  Entry& entry = FindOrAsk(id);
  if (entry.image->path.empty() && !entry.image->path_asked && !entry.is_kernel_thread)
    AskProc(entry);
  ReadEnvironment(entry);
  if (entry.creation_time_unix_ns == 0)
    entry.creation_time_unix_ns = static_cast<int64_t>(id.start_time_ns) + wall_offset_ns;
  static const CgroupFacts kNoCgroup;
  const CgroupFacts& cgroup = entry.cgroup == nullptr ? kNoCgroup : *entry.cgroup;
  if (entry.ended_ns == 0 && !entry.is_kernel_thread && !IsOutside(id))
    contexts_.Follow(id, entry.since_ns, now_ns_, entry.context);
  described_ = {.pid = id.pid & ~PID_OUTSIDE,
                .is_outside = IsOutside(id),
                .command = std::string(command),
                .executable_path = entry.image->path,
                .creation_time_unix_ns = entry.creation_time_unix_ns,
                .cgroup_path = cgroup.path,
                .container_id = cgroup.container_id,
                .container_name = cgroup.container_name,
                .pod_uid = cgroup.pod_uid,
                .is_container_claimed = cgroup.is_container_claimed,
                .is_pod_claimed = cgroup.is_pod_claimed};
  TakeServiceFacts(entry, cgroup);
  if (const std::string& user = UserOf(entry); !user.empty())
    described_.extra.emplace_back("process.user.name", user);
  return described_;
}

std::vector<ProcessTable::ServiceOf> ProcessTable::Services() {
  std::vector<ServiceOf> services;
  for (const Entry& entry : entries_)  // Describe() changes their order.
    if (entry.ended_ns == 0 && !entry.is_kernel_thread && !IsOutside(entry.id))
      services.push_back({entry.id, ""});
  for (ServiceOf& service : services) {
    Entry* const entry = Find(service.process);
    if (entry == nullptr) continue;
    const std::string command = CommandOf(*entry);
    service.name = Describe(service.process, command, 0).service_name;
  }
  return services;
}

std::vector<ExecutableFilePtr>* ProcessTable::FilesOf(const ProcessId& id) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return nullptr;
  if (it->second->ended_ns != 0) it->second->ended_ns = std::max<uint64_t>(now_ns_, 1);
  it->second->was_sampled = true;
  return &it->second->files;
}

void ProcessTable::DropDeletedFiles(uint64_t now_ns) {
  absl::flat_hash_map<const ExecutableFile*, bool> known;
  const auto goes = [&](const ExecutableFilePtr& file) {
    if (now_ns < file->sampled_ns + kUnsampledNs) return false;
    const auto [deleted, is_new] = known.try_emplace(file.get(), false);
    if (is_new) deleted->second = IsDeleted(*file);
    return deleted->second;
  };
  // A file may go with its last holder; its address must not come to mean another one meanwhile.
  std::vector<ExecutableFilePtr> going;
  for (Entry& entry : entries_)
    std::erase_if(entry.files, [&](ExecutableFilePtr& file) {
      if (!goes(file)) return false;
      going.push_back(std::move(file));
      return true;
    });
}

void ProcessTable::FollowContexts(const TakeContext& take) {
  for (Entry& entry : entries_) {
    if (!std::exchange(entry.was_sampled, false) || entry.ended_ns != 0 || entry.is_kernel_thread ||
        IsOutside(entry.id))
      continue;
    contexts_.Follow(entry.id, entry.since_ns, now_ns_, entry.context);
    take(entry.id, entry.context);
  }
}

const ProcessContext* ProcessTable::ContextOf(const ProcessId& id, bool is_outdated) {
  constexpr uint64_t kLeastBetweenNs = 100'000'000;
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return nullptr;
  Entry& entry = *it->second;
  if (is_outdated && entry.ended_ns == 0 && now_ns_ - entry.context_ns > kLeastBetweenNs) {
    entry.context_ns = now_ns_;
    contexts_.Follow(id, entry.since_ns, now_ns_, entry.context);
  }
  return entry.context.context.get();
}

}  // namespace stackray
