#include "kernel/off_cpu_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/waits.h"
// Behind the structs that it names.
#include "bpf/sampler.skel.h"
#include "kernel/bpf_maps.h"
#include "kernel/libbpf_log.h"
#include "kernel/task_records.h"

namespace stackray {
namespace {

constexpr std::string_view kList = "list_waiting_threads";
constexpr std::string_view kPrograms[] = {"on_switch", "on_wakeup", "on_wakeup_new", kList};
constexpr size_t kLogTail = 2000;

bool IsOffCpu(const bpf_program* program) {
  return std::ranges::find(kPrograms, bpf_program__name(program)) != std::end(kPrograms);
}

struct DestroySkeleton {
  void operator()(sampler_bpf* skeleton) const { sampler_bpf__destroy(skeleton); }
};

absl::Status Refused(const std::string& what, int error, const std::string& log = "") {
  std::string text =
      absl::StrCat("the kernel refused to follow waits: ", what, ": ", strerror(error));
  if (!log.empty())
    absl::StrAppend(&text, "\n", log.substr(log.size() - std::min(log.size(), kLogTail)));
  return absl::FailedPreconditionError(text);
}

// Every map but these programs' own is the first object's.
absl::Status ShareMaps(const sampler_bpf& from, sampler_bpf* to) {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, to->obj) {
    if (map == to->maps.waiting_threads || map == to->maps.listed_threads) continue;
    const bpf_map* const shared = bpf_object__find_map_by_name(from.obj, bpf_map__name(map));
    if (shared == nullptr || bpf_map__reuse_fd(map, bpf_map__fd(shared)) != 0)
      return Refused(absl::StrCat("map ", bpf_map__name(map)), errno);
  }
  return absl::OkStatus();
}

UniqueFd Duplicate(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

void OffCpuPrograms::LeaveOut(sampler_bpf* sampler) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, sampler->obj) {
    if (IsOffCpu(program)) bpf_program__set_autoload(program, false);
  }
  bpf_map__set_autocreate(sampler->maps.waiting_threads, false);
  bpf_map__set_autocreate(sampler->maps.listed_threads, false);
}

absl::StatusOr<std::unique_ptr<OffCpuPrograms>> OffCpuPrograms::Load(const sampler_bpf& sampler,
                                                                     uint32_t max_threads) {
  const LibbpfLog log;
  const std::unique_ptr<sampler_bpf, DestroySkeleton> skeleton(sampler_bpf__open());
  if (skeleton == nullptr) return Refused("open", errno, log.text());
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj)
      bpf_program__set_autoload(program, IsOffCpu(program));
  bpf_map__set_max_entries(skeleton->maps.waiting_threads, max_threads);
  if (absl::Status status = ShareMaps(sampler, skeleton.get()); !status.ok()) return status;
  if (const int error = sampler_bpf__load(skeleton.get()); error != 0)
    return Refused("load", -error, log.text());
  std::unique_ptr<OffCpuPrograms> loaded(new OffCpuPrograms());
  // The descriptors outlive the object, whose parsed form would only take memory.
  loaded->threads_ = Duplicate(bpf_map__fd(skeleton->maps.waiting_threads));
  loaded->map_bytes_ = MapBytes(loaded->threads_.get());
  bpf_object__for_each_program(program, skeleton->obj) {
    if (IsOffCpu(program))
      loaded->programs_.push_back(
          {bpf_program__name(program), Duplicate(bpf_program__fd(program)), UniqueFd()});
  }
  return loaded;
}

absl::Status OffCpuPrograms::Attach() {
  for (Program& program : programs_) {
    if (program.link.valid()) continue;
    program.link.reset(program.name == kList
                           ? bpf_link_create(program.program.get(), 0, BPF_TRACE_ITER, nullptr)
                           : bpf_raw_tracepoint_open(nullptr, program.program.get()));
    if (!program.link.valid()) return Refused(absl::StrCat("attach ", program.name), errno);
  }
  return absl::OkStatus();
}

absl::Status OffCpuPrograms::ListWaiting(const TakeRecord& take) const {
  const auto list = std::ranges::find(programs_, kList, &Program::name);
  if (list == programs_.end()) return absl::InternalError("no list of waiting threads");
  return ReadTaskRecords(list->link.get(), take);
}

std::optional<uint64_t> OffCpuPrograms::WaitsSince(uint32_t tid) const {
  waiting_thread thread = {};
  if (bpf_map_lookup_elem(threads_.get(), &tid, &thread) != 0 || thread.is_taken == 0 ||
      thread.out_ns == 0)
    return std::nullopt;
  return thread.out_ns;
}

std::vector<std::pair<std::string, int>> OffCpuPrograms::programs() const {
  std::vector<std::pair<std::string, int>> programs;
  for (const Program& program : programs_)
    programs.emplace_back(program.name, program.program.get());
  return programs;
}

}  // namespace stackray
