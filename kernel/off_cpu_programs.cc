#include "kernel/off_cpu_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/waits.h"
// Behind the structs that it names.
#include "bpf/sampler.skel.h"
#include "kernel/bpf_maps.h"
#include "kernel/task_records.h"

namespace stackray {
namespace {

constexpr std::string_view kList = "list_waiting_threads";
constexpr std::string_view kPrograms[] = {"on_switch", "on_wakeup", "on_wakeup_new", kList};
constexpr std::string_view kWhat = "to follow waits";

}  // namespace

absl::StatusOr<std::unique_ptr<OffCpuPrograms>> OffCpuPrograms::Load(const sampler_bpf& sampler,
                                                                     uint32_t max_threads) {
  std::unique_ptr<OffCpuPrograms> loaded(new OffCpuPrograms());
  absl::StatusOr<std::vector<LaterProgram>> programs = LoadLater(
      sampler, {.what = kWhat,
                .programs = kPrograms,
                .prepare =
                    [max_threads](sampler_bpf& skeleton) {
                      bpf_map__set_autocreate(skeleton.maps.waiting_threads, true);
                      bpf_map__set_autocreate(skeleton.maps.listed_threads, true);
                      bpf_map__set_max_entries(skeleton.maps.waiting_threads, max_threads);
                    },
                .loaded =
                    [&loaded](sampler_bpf& skeleton) {
                      loaded->threads_.reset(
                          fcntl(bpf_map__fd(skeleton.maps.waiting_threads), F_DUPFD_CLOEXEC, 0));
                      loaded->map_bytes_ = MapBytes(loaded->threads_.get());
                    }});
  if (!programs.ok()) return programs.status();
  loaded->programs_ = *std::move(programs);
  return loaded;
}

absl::Status OffCpuPrograms::Attach() {
  for (LaterProgram& program : programs_) {
    if (program.link.valid()) continue;
    program.link.reset(program.name == kList
                           ? bpf_link_create(program.program.get(), 0, BPF_TRACE_ITER, nullptr)
                           : bpf_raw_tracepoint_open(nullptr, program.program.get()));
    if (!program.link.valid())
      return RefusedLater(kWhat, absl::StrCat("attach ", program.name), errno);
  }
  return absl::OkStatus();
}

absl::Status OffCpuPrograms::ListWaiting(const TakeRecord& take) const {
  const auto list = std::ranges::find(programs_, kList, &LaterProgram::name);
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

bool OffCpuPrograms::Follows(uint32_t tid) const {
  waiting_thread thread = {};
  return bpf_map_lookup_elem(threads_.get(), &tid, &thread) == 0;
}

std::vector<std::pair<std::string, int>> OffCpuPrograms::programs() const {
  std::vector<std::pair<std::string, int>> programs;
  for (const LaterProgram& program : programs_)
    programs.emplace_back(program.name, program.program.get());
  return programs;
}

}  // namespace stackray
