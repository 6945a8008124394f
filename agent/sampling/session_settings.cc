#include "agent/sampling/session_settings.h"

#include <unistd.h>

#include <algorithm>

#include "agent/host_facts.h"

namespace stackray {
namespace {

// How many samples a CPU makes in a second, waits too where these are asked for. Page faults come
// as they come.
uint64_t SamplesASecond(const SamplingSettings& sampling) {
  return (HasType(sampling.types, SampleOrigin::kCpuClock) ? sampling.frequency_hz : 0) +
         (HasType(sampling.types, SampleOrigin::kOffCpu) ? sampling.off_cpu_rate : 0);
}

// A power of two with room for about 4 s of samples of 2 KiB from every CPU, and a quarter of a
// second in which each has a slice of the stack, within 4 … 32 MiB. The least is what some large
// stacks need that are sent along at the first touches of a program (rustc's have 620 KB).
uint32_t RingBytes(uint64_t samples_a_second, uint64_t raw_budget_bytes) {
  constexpr uint64_t kSampleBytes = 2048, kSeconds = 4, kSliceBytes = 64 << 10;
  const auto cpus = static_cast<uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  const uint64_t a_second = cpus * samples_a_second;
  const uint64_t wanted =
      kSampleBytes * kSeconds * a_second + std::min(raw_budget_bytes, kSliceBytes * a_second / 4);
  uint32_t bytes = 4 << 20;
  while (bytes < wanted && bytes < (32u << 20)) bytes *= 2;
  return bytes;
}

}  // namespace

uint32_t RingBytesWithin(uint32_t ring_bytes, uint64_t bpf_budget_bytes) {
  constexpr uint32_t kLeast = 256 << 10;
  while (bpf_budget_bytes != 0 && ring_bytes > kLeast && ring_bytes > bpf_budget_bytes / 4)
    ring_bytes /= 2;
  return ring_bytes;
}

SessionSettings MakeSessionSettings(const SamplingSettings& sampling,
                                    const TargetSettings& target) {
  const HostFacts host = ReadHostFacts();
  SessionSettings settings;
  settings.types = sampling.types;
  settings.off_cpu_rate = sampling.off_cpu_rate;
  settings.sampler.frequency_hz = sampling.frequency_hz;
  settings.sampler.raw_budget_bytes = sampling.raw_slices_bytes;
  settings.sampler.sample_ring_bytes =
      RingBytes(SamplesASecond(sampling), sampling.raw_slices_bytes);
  if (target.kind == TargetKind::kPids || target.kind == TargetKind::kProgram)
    settings.sampler.target_pids = kMostTargetPids;
  settings.unwind_table_bytes = sampling.unwind_tables_bytes;
  settings.native.policy = sampling.symbols;
  settings.native.lines.seal_deadline = absl::Milliseconds(sampling.lines_deadline_ms);
  settings.native.lines.worker.lines.debuginfod = {.urls = sampling.debuginfod_urls,
                                                   .directory = sampling.debuginfod_directory,
                                                   .cache_bytes = sampling.debuginfod_cache_bytes};
  settings.loop_frames = sampling.interpreter_loops == "kept"     ? LoopFrames::kKept
                         : sampling.interpreter_loops == "folded" ? LoopFrames::kFolded
                                                                  : LoopFrames::kHidden;
  settings.async_parents = sampling.async_parents;
  settings.loop.batch = {.frequency_hz = static_cast<double>(sampling.frequency_hz),
                         .keep_timestamps = sampling.timestamps,
                         .thread_attributes = sampling.thread_attributes,
                         .cpu_attribute = sampling.cpu_attribute,
                         .name_unnamed = sampling.name_unnamed,
                         .host_name = host.name,
                         .host_id = host.id,
                         .host_arch = host.arch,
                         .os_version = host.kernel,
                         .resource_attributes = sampling.resource_attributes,
                         .left_out = sampling.left_out_attributes,
                         .agent_version = kAgentVersion};
  settings.sampler.context = sampling.context == "off"      ? CONTEXT_MODE_OFF
                             : sampling.context == "labels" ? CONTEXT_MODE_LABELS
                                                            : CONTEXT_MODE_LINKS;
  settings.loop.labels = {.labels = sampling.context == "labels", .names = sampling.context_labels};
  settings.loop.service_names.clear();
  for (const std::string& word : sampling.service_name_from)
    if (const auto source = ServiceNameSourceOf(word))
      settings.loop.service_names.push_back(*source);
  return settings;
}

}  // namespace stackray
