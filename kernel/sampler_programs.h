// Loading the sampler's object. Where the verifier refuses it, it is loaded again without the walk
// of the newest runtime, then without the two newest, and so on: what one runtime's walk does to a
// kernel's verifier costs that runtime's frames and nothing else.
//
// Cost:    what the kernel takes to verify the programs, once for each attempt.
// Threads: functions without state.
#ifndef STACKRAY_KERNEL_SAMPLER_PROGRAMS_H_
#define STACKRAY_KERNEL_SAMPLER_PROGRAMS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sampler_bpf;

namespace stackray {

// Bits by enum runtime_kind.
using RuntimeSet = uint32_t;

// Their names, the newest first: "hotspot".
std::vector<std::string> RuntimeNames(RuntimeSet runtimes);

// Calls `load` with ever more runtimes left out, the newest first, until it is OK or fails for a
// reason that no runtime has (any but Internal). Returns what was left out; else the first error.
absl::StatusOr<RuntimeSet> LoadWithFewestLeftOut(
    const std::function<absl::Status(RuntimeSet left_out)>& load);

struct LoadedSampler {
  sampler_bpf* skeleton = nullptr;  // The caller's, to destroy.
  RuntimeSet left_out = 0;
  std::string refusal;  // The verifier's reason, where something was left out.
};

// `prepare` sets what has to be known before the programs are loaded; it is called for each
// attempt. Errors: those of Sampler::Create().
absl::StatusOr<LoadedSampler> LoadSamplerPrograms(
    const std::function<absl::Status(sampler_bpf*)>& prepare);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_SAMPLER_PROGRAMS_H_
