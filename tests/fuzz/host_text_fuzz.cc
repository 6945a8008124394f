// libs: stackray_kernel stackray_kernel_version
// What the host says of itself in text: its CPUs, its kernel's version and its users.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kernel/cpu_list.h"
#include "kernel/kernel_version.h"
#include "kernel/user_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto cpus = stackray::ParseCpuList(text); cpus.ok()) {
    if (cpus->size() > 8192 ||
        std::any_of(cpus->begin(), cpus->end(), [](int cpu) { return cpu < 0; }))
      std::abort();
  }
  const auto check = [](const std::optional<stackray::KernelVersion>& version) {
    if (!version) return;
    if (version->major < 0 || version->minor < 0 || version->patch < 0) std::abort();
    const auto again = stackray::ParseKernelVersion(version->ToString());
    if (!again || *again != *version) std::abort();
    stackray::JudgeKernel(*version);
  };
  check(stackray::ParseKernelVersion(text));
  for (const auto& [user, name] : stackray::ParsePasswd(text))
    if (name.empty() || name.size() >= stackray::kMostNameBytes) std::abort();
  stackray::EffectiveUserOf(text);
  const size_t third = size / 3;
  check(stackray::UpstreamVersion(text.substr(0, third), text.substr(third, third),
                                  text.substr(2 * third)));
  return 0;
}
