// Whom each capture samples: the masks that the programs ask at every tick (bpf/filter.h).
//
// A host is sampled once for several purposes. Capture 0 is the continuous profile, or what
// `record` records; captures 1 to 15 are closer looks beside it. Each has targets of any kinds, and
// a task is sampled for it when one of them matches.
//
// Threads: one at a time. Errors: NotFound (no such cgroup directory), ResourceExhausted (no room
// for another target).
#ifndef STACKRAY_KERNEL_CAPTURE_TARGETS_H_
#define STACKRAY_KERNEL_CAPTURE_TARGETS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/thread_context.h"

namespace stackray {

class CaptureTargets {
 public:
  // The programs' maps, whose descriptors outlive this, and their settings.
  struct Maps {
    int pids = -1, cgroups = -1, commands = -1, users = -1, label_names = -1, labels = -1;
    uint32_t max_pids = 0;
  };
  CaptureTargets(const Maps& maps, control* controls) : maps_(maps), control_(controls) {}

  // Each takes effect at the next tick. `capture`: 0 to MAX_CAPTURES - 1.
  void AddHost(int capture);
  // `inherit`: with all their descendants, those that AddDescendants() finds as well as those to
  // come. No pid at all: those that AddPid() names.
  absl::Status AddPids(int capture, std::span<const uint32_t> pids, bool inherit);
  absl::Status AddPid(int capture, uint32_t pid);
  absl::Status AddCgroup(int capture, const std::string& directory);
  absl::Status AddCommand(int capture, const std::string& command);
  // Tasks whose effective user is this one, as the host numbers it.
  absl::Status AddUser(int capture, uint32_t uid);
  // Tasks while they work on something with this label (bpf/label_filter.h), of at most
  // CONTEXT_KEY_BYTES and CONTEXT_VALUE_BYTES. Of a name that is new, each process's row in
  // "thread_contexts" has to say the index: LabelNames().
  absl::Status AddLabel(int capture, std::string_view name, std::string_view value);
  // By their numbers as targets; an empty one is not in use.
  std::span<const std::string> LabelNames() const { return label_names_; }
  // Once the hooks of fork and exit are there: the descendants that run already. Targets that have
  // ended are none any more.
  absl::Status AddDescendants(int capture);
  // Has a process that the capture's pids name, or a descendant, not ended yet?
  bool HasPids(int capture) const;
  // The processes that it names, as /proc numbers them, without descendants that AddDescendants()
  // finds. Valid until targets change.
  std::span<const uint32_t> NamedPids(int capture) const {
    return named_pids_[static_cast<size_t>(capture)];
  }
  // True while some capture's targets are not all known by their numbers: the programs then report
  // every process's events.
  bool HearsOfAll() const;
  // The capture has no targets any more.
  void Forget(int capture);

 private:
  absl::StatusOr<int> AddTree(int capture);
  bool IsPid(int capture, uint32_t pid) const;
  void ForgetPid(uint32_t pid);
  void ForgetLabels(int capture);

  const Maps maps_;
  control* const control_;
  std::array<std::vector<uint32_t>, MAX_CAPTURES> named_pids_;
  std::array<std::string, MAX_LABEL_TARGETS> label_names_;
  std::array<uint32_t, MAX_LABEL_TARGETS> captures_of_label_{};  // Masks.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_CAPTURE_TARGETS_H_
