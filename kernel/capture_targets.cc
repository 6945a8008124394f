#include "kernel/capture_targets.h"

#include <bpf/bpf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bpf/shared/records.h"
#include "kernel/process_info.h"
#include "kernel/process_tree.h"

namespace stackray {
namespace {

constexpr int kMostLooksForDescendants = 64;
constexpr int kMostKeys = 1 << 17;  // Of a map that is written while it is read.

uint32_t Bit(int capture) { return 1u << capture; }

// The programs read these at any time; none depends on another.
void SetBit(uint32_t* mask, int capture) {
  __atomic_fetch_or(mask, Bit(capture), __ATOMIC_SEQ_CST);
}
void ClearBit(uint32_t* mask, int capture) {
  __atomic_fetch_and(mask, ~Bit(capture), __ATOMIC_SEQ_CST);
}

// The fork event may write the same key; it never takes a bit away.
template <typename Key>
bool AddToMap(int map, const Key& key, int capture) {
  uint32_t mask = Bit(capture);
  if (bpf_map_update_elem(map, &key, &mask, BPF_NOEXIST) == 0) return true;
  if (errno != EEXIST || bpf_map_lookup_elem(map, &key, &mask) != 0) return false;
  mask |= Bit(capture);
  return bpf_map_update_elem(map, &key, &mask, BPF_EXIST) == 0;
}

template <typename Key>
void TakeFromMap(int map, int capture) {
  std::vector<Key> keys;
  Key key = {};
  for (bool more = bpf_map_get_next_key(map, nullptr, &key) == 0; more && keys.size() < kMostKeys;
       more = bpf_map_get_next_key(map, &keys.back(), &key) == 0)
    keys.push_back(key);
  for (const Key& one : keys) {
    uint32_t mask = 0;
    if (bpf_map_lookup_elem(map, &one, &mask) != 0 || (mask & Bit(capture)) == 0) continue;
    mask &= ~Bit(capture);
    if (mask == 0) {
      bpf_map_delete_elem(map, &one);
    } else {
      bpf_map_update_elem(map, &one, &mask, BPF_EXIST);
    }
  }
}

struct CommandKey {
  char bytes[COMMAND_BYTES] = {};
};

absl::Status NoRoom(const char* what) {
  return absl::ResourceExhaustedError(absl::StrCat("no room for another target ", what));
}

}  // namespace

void CaptureTargets::AddHost(int capture) { SetBit(&control_->of_host, capture); }

absl::Status CaptureTargets::AddPid(int capture, uint32_t pid) {
  const bool added = AddToMap(maps_.pids, pid, capture);
  const int error = errno;
  __atomic_fetch_add(&control_->target_generation, 1, __ATOMIC_SEQ_CST);
  if (added) {
    named_pids_[static_cast<size_t>(capture)].push_back(pid);
    return absl::OkStatus();
  }
  if (error == E2BIG)
    return absl::ResourceExhaustedError(absl::StrCat(
        "more than ", maps_.max_pids,
        " processes are targets: choose a smaller tree, a cgroup, or the whole host (-a)"));
  return absl::ResourceExhaustedError(
      absl::StrCat("no room for another target process: ", strerror(error)));
}

absl::Status CaptureTargets::AddPids(int capture, std::span<const uint32_t> pids, bool inherit) {
  for (uint32_t pid : pids)
    if (absl::Status status = AddPid(capture, pid); !status.ok()) return status;
  if (inherit) SetBit(&control_->inherit, capture);
  SetBit(&control_->of_pids, capture);
  return absl::OkStatus();
}

absl::Status CaptureTargets::AddCgroup(int capture, const std::string& directory) {
  struct stat info;
  if (stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return absl::NotFoundError(absl::StrCat(
        directory,
        ": no such cgroup directory. Give its full path, such as /sys/fs/cgroup/system.slice."));
  const uint64_t id = info.st_ino;
  if (!AddToMap(maps_.cgroups, id, capture)) return NoRoom("cgroup");
  __atomic_fetch_add(&control_->cgroup_generation, 1, __ATOMIC_SEQ_CST);
  SetBit(&control_->of_cgroups, capture);
  return absl::OkStatus();
}

absl::Status CaptureTargets::AddCommand(int capture, const std::string& command) {
  CommandKey key;
  std::memcpy(key.bytes, command.data(), std::min<size_t>(command.size(), COMMAND_BYTES - 1));
  if (!AddToMap(maps_.commands, key, capture)) return NoRoom("command");
  SetBit(&control_->of_commands, capture);
  return absl::OkStatus();
}

absl::Status CaptureTargets::AddUser(int capture, uint32_t uid) {
  if (!AddToMap(maps_.users, uid, capture)) return NoRoom("user");
  SetBit(&control_->of_users, capture);
  return absl::OkStatus();
}

absl::Status CaptureTargets::AddLabel(int capture, std::string_view name, std::string_view value) {
  if (name.empty() || name.size() > CONTEXT_KEY_BYTES || value.size() > CONTEXT_VALUE_BYTES)
    return absl::InvalidArgumentError("a label's name has 1 to 64 bytes, its value at most 255");
  auto slot = std::ranges::find(label_names_, name);
  if (slot == label_names_.end()) slot = std::ranges::find(label_names_, "");
  if (slot == label_names_.end()) return NoRoom("label");
  const auto number = static_cast<uint32_t>(slot - label_names_.begin());
  label_name key = {};
  std::memcpy(key.bytes, name.data(), name.size());
  label_target wanted = {
      .target = static_cast<u16>(number), .bytes = static_cast<u16>(value.size()), .value = {}};
  std::memcpy(wanted.value, value.data(), value.size());
  if (bpf_map_update_elem(maps_.label_names, &key, &number, BPF_ANY) != 0 ||
      !AddToMap(maps_.labels, wanted, capture))
    return NoRoom("label");
  *slot = name;
  captures_of_label_[number] |= Bit(capture);
  SetBit(&control_->of_labels, capture);
  return absl::OkStatus();
}

// A name that nobody wants any more leaves its number to another one.
void CaptureTargets::ForgetLabels(int capture) {
  TakeFromMap<label_target>(maps_.labels, capture);
  for (size_t i = 0; i < label_names_.size(); ++i) {
    if ((captures_of_label_[i] & Bit(capture)) == 0) continue;
    captures_of_label_[i] &= ~Bit(capture);
    if (captures_of_label_[i] != 0) continue;
    label_name key = {};
    std::memcpy(key.bytes, label_names_[i].data(), label_names_[i].size());
    bpf_map_delete_elem(maps_.label_names, &key);
    label_names_[i].clear();
  }
}

bool CaptureTargets::IsPid(int capture, uint32_t pid) const {
  uint32_t mask = 0;
  return bpf_map_lookup_elem(maps_.pids, &pid, &mask) == 0 && (mask & Bit(capture)) != 0;
}

void CaptureTargets::ForgetPid(uint32_t pid) { bpf_map_delete_elem(maps_.pids, &pid); }

// Makes targets of the descendants that /proc shows. Returns how many were none yet. A process that
// ends before it is a target stays none, because its end has been and nobody would take its pid out
// again.
absl::StatusOr<int> CaptureTargets::AddTree(int capture) {
  const std::vector<uint32_t> named = named_pids_[static_cast<size_t>(capture)];
  int added = 0;
  for (const ListedProcess& process : SelectTree(ListLivingProcesses(), named)) {
    if (IsPid(capture, process.pid)) continue;
    if (!AddToMap(maps_.pids, process.pid, capture)) return AddPid(capture, process.pid);
    ++added;
    if (!StillLives(process)) ForgetPid(process.pid);
  }
  __atomic_fetch_add(&control_->target_generation, 1, __ATOMIC_SEQ_CST);
  return added;
}

// A child that a target forks once the hooks are there becomes a target by the hook; one that it
// forked before is listed by every look that begins after its parent became a target. So none is
// missed when a look finds nothing new.
absl::Status CaptureTargets::AddDescendants(int capture) {
  for (const uint32_t pid : named_pids_[static_cast<size_t>(capture)]) {
    const std::optional<ProcStat> stat = ReadProcStat(pid);
    if (!stat || stat->ended) ForgetPid(pid);
  }
  if ((control_->inherit & Bit(capture)) == 0) return absl::OkStatus();
  for (int looks = 0; looks < kMostLooksForDescendants; ++looks) {
    const absl::StatusOr<int> added = AddTree(capture);
    if (!added.ok()) return added.status();
    if (*added == 0) break;
  }
  return absl::OkStatus();
}

bool CaptureTargets::HasPids(int capture) const {
  uint32_t key = 0, next = 0;
  const uint32_t* from = nullptr;
  for (int i = 0; i < kMostKeys && bpf_map_get_next_key(maps_.pids, from, &next) == 0; ++i) {
    if (IsPid(capture, next)) return true;
    key = next;
    from = &key;
  }
  return false;
}

bool CaptureTargets::HearsOfAll() const {
  return (control_->of_host | control_->of_cgroups | control_->of_commands | control_->of_users |
          control_->of_labels) != 0;
}

void CaptureTargets::Forget(int capture) {
  for (uint32_t* mask :
       {&control_->of_host, &control_->inherit, &control_->of_pids, &control_->of_cgroups,
        &control_->of_commands, &control_->of_users, &control_->of_labels})
    ClearBit(mask, capture);
  TakeFromMap<uint32_t>(maps_.pids, capture);
  TakeFromMap<uint64_t>(maps_.cgroups, capture);
  TakeFromMap<CommandKey>(maps_.commands, capture);
  TakeFromMap<uint32_t>(maps_.users, capture);
  ForgetLabels(capture);
  named_pids_[static_cast<size_t>(capture)].clear();
  __atomic_fetch_add(&control_->target_generation, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&control_->cgroup_generation, 1, __ATOMIC_SEQ_CST);
}

}  // namespace stackray
