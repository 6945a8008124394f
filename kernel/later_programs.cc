#include "kernel/later_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "bpf/shared/counters.h"
#include "bpf/shared/waits.h"
// Behind the structs that it names.
#include "bpf/sampler.skel.h"
#include "kernel/libbpf_log.h"

namespace stackray {
namespace {

constexpr std::string_view kAll[] = {"on_switch", "on_wakeup", "on_wakeup_new",
                                     "list_waiting_threads", "on_deadly_signal"};
constexpr size_t kLogTail = 2000;

bool IsOneOf(std::span<const std::string_view> names, const bpf_program* program) {
  return std::ranges::find(names, bpf_program__name(program)) != names.end();
}

struct DestroySkeleton {
  void operator()(sampler_bpf* skeleton) const { sampler_bpf__destroy(skeleton); }
};

bool IsOfWaits(const sampler_bpf& sampler, const bpf_map* map) {
  return map == sampler.maps.waiting_threads || map == sampler.maps.listed_threads;
}

// Every map but these programs' own is the first object's.
absl::Status ShareMaps(const sampler_bpf& from, std::string_view what, sampler_bpf* to) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, to->obj) {
    if (IsOfWaits(*to, map)) continue;
    const bpf_map* const shared = bpf_object__find_map_by_name(from.obj, bpf_map__name(map));
    if (shared == nullptr || bpf_map__reuse_fd(map, bpf_map__fd(shared)) != 0)
      return RefusedLater(what, fmt::format("map {}", bpf_map__name(map)), errno);
  }
  return absl::OkStatus();
}

void LeaveOutMapsOfWaits(sampler_bpf* sampler) {
  bpf_map__set_autocreate(sampler->maps.waiting_threads, false);
  bpf_map__set_autocreate(sampler->maps.listed_threads, false);
}

}  // namespace

absl::Status RefusedLater(std::string_view what, std::string_view step, int error,
                          const std::string& log) {
  std::string text = fmt::format("the kernel refused {}: {}: {}", what, step, strerror(error));
  if (!log.empty()) text += "\n" + log.substr(log.size() - std::min(log.size(), kLogTail));
  return absl::FailedPreconditionError(text);
}

void LeaveOutLaterPrograms(sampler_bpf* sampler) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, sampler->obj) {
    if (IsOneOf(kAll, program)) bpf_program__set_autoload(program, false);
  }
  LeaveOutMapsOfWaits(sampler);
}

absl::StatusOr<std::vector<LaterProgram>> LoadLater(const sampler_bpf& sampler,
                                                    const LaterLoad& load) {
  const LibbpfLog log;
  const std::unique_ptr<sampler_bpf, DestroySkeleton> skeleton(sampler_bpf__open());
  if (skeleton == nullptr) return RefusedLater(load.what, "open", errno, log.text());
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj)
      bpf_program__set_autoload(program, IsOneOf(load.programs, program));
  LeaveOutMapsOfWaits(skeleton.get());
  load.prepare(*skeleton);
  if (absl::Status status = ShareMaps(sampler, load.what, skeleton.get()); !status.ok())
    return status;
  if (const int error = sampler_bpf__load(skeleton.get()); error != 0)
    return RefusedLater(load.what, "load", -error, log.text());
  load.loaded(*skeleton);
  // The descriptors outlive the object, whose parsed form would only take memory.
  std::vector<LaterProgram> programs;
  bpf_object__for_each_program(program, skeleton->obj) {
    if (IsOneOf(load.programs, program))
      programs.push_back({bpf_program__name(program),
                          UniqueFd(fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0)),
                          UniqueFd()});
  }
  return programs;
}

}  // namespace stackray
