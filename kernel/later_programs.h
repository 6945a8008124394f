// Programs of the sampler's object that are loaded later, over the maps of the first: the object is
// opened a second time with these programs alone. A kernel that refuses them still samples.
//
// Cost:    programs that walk stacks take as long as the sampler's own to load, because the walk is
//          verified again.
// Threads: functions without state.
#ifndef STACKRAY_KERNEL_LATER_PROGRAMS_H_
#define STACKRAY_KERNEL_LATER_PROGRAMS_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

struct bpf_map;
struct sampler_bpf;

namespace stackray {

struct LaterProgram {
  std::string name;
  UniqueFd program, link;  // `link`: once it is attached.
};

// Before the sampler's object is loaded: leaves all of them and their maps out of it.
void LeaveOutLaterPrograms(sampler_bpf* sampler);

struct LaterLoad {
  std::string_view what;  // "to follow waits": for errors.
  std::span<const std::string_view> programs;
  // Sets up the maps that only these programs have, before and after they are loaded.
  std::function<void(sampler_bpf&)> prepare = [](sampler_bpf&) {};
  std::function<void(sampler_bpf&)> loaded = [](sampler_bpf&) {};
};

// `sampler` is loaded. Errors: FailedPrecondition, with what the kernel said.
absl::StatusOr<std::vector<LaterProgram>> LoadLater(const sampler_bpf& sampler,
                                                    const LaterLoad& load);

// Of a load, or an attachment.
absl::Status RefusedLater(std::string_view what, std::string_view step, int error,
                          const std::string& log = "");

}  // namespace stackray

#endif  // STACKRAY_KERNEL_LATER_PROGRAMS_H_
