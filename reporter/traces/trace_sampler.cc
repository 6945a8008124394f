#include "reporter/traces/trace_sampler.h"

#include <cmath>

namespace stackray {

bool TraceSampler::Records(const TraceId& trace) const {
  if (ratio >= 1) return true;
  uint64_t low = 0;
  for (size_t i = 8; i < trace.size(); ++i) low = low << 8 | trace[i];
  return static_cast<double>(low >> 1) < ratio * std::ldexp(1.0, 63);
}

std::optional<TraceSampler> MakeTraceSampler(std::string_view name, double ratio) {
  constexpr std::string_view kParentBased = "parentbased_";
  if (name.starts_with(kParentBased)) name.remove_prefix(kParentBased.size());
  if (name == "always_on") return TraceSampler{.ratio = 1};
  if (name == "always_off") return TraceSampler{.ratio = 0};
  if (name == "traceidratio") return TraceSampler{.ratio = ratio};
  return std::nullopt;
}

}  // namespace stackray
