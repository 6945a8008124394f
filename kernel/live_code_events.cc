#include "kernel/live_code_events.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernel/ksymbol_rings.h"
#include "kernel/module_events.h"
#include "kernel/unique_fd.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr int kMaxPrograms = 1 << 16;
constexpr uint32_t kMaxFunctions = 1024;  // Of one program; the verifier allows 256.

class PerfAndUevents : public CodeEvents {
 public:
  PerfAndUevents(KsymbolRings rings, std::optional<ModuleEvents> modules)
      : rings_(std::move(rings)), modules_(std::move(modules)) {}

  uint64_t NowNs() override { return BootTimeNs(); }

  bool Drain(const std::function<void(const CodeEvent&)>& take) override {
    const auto keep = [this](CodeEvent event) { waiting_.push_back(std::move(event)); };
    bool intact = rings_.Drain(keep);
    if (modules_) intact = modules_->Drain(NowNs(), keep) && intact;
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const CodeEvent& a, const CodeEvent& b) { return a.time_ns < b.time_ns; });
    for (const CodeEvent& event : waiting_) take(event);
    waiting_.clear();
    return intact;
  }

  // A CPU that refuses is tried again.
  void FollowCpus(std::span<const int> online) override { (void)rings_.FollowCpus(online); }

  std::map<uint64_t, uint32_t> ProgramSizes() override { return ReadProgramSizes(); }

 private:
  KsymbolRings rings_;
  std::optional<ModuleEvents> modules_;
  std::vector<CodeEvent> waiting_;
};

void AddFunctions(int program, std::map<uint64_t, uint32_t>* sizes) {
  std::vector<uint64_t> starts(kMaxFunctions);
  std::vector<uint32_t> lengths(kMaxFunctions);
  bpf_prog_info info = {};
  info.nr_jited_ksyms = info.nr_jited_func_lens = kMaxFunctions;
  info.jited_ksyms = reinterpret_cast<uint64_t>(starts.data());
  info.jited_func_lens = reinterpret_cast<uint64_t>(lengths.data());
  uint32_t info_bytes = sizeof(info);
  if (bpf_obj_get_info_by_fd(program, &info, &info_bytes) != 0) return;
  const uint32_t count = std::min({info.nr_jited_ksyms, info.nr_jited_func_lens, kMaxFunctions});
  for (uint32_t i = 0; i < count; ++i)
    if (starts[i] != 0 && lengths[i] != 0) (*sizes)[starts[i]] = lengths[i];
}

}  // namespace

std::map<uint64_t, uint32_t> ReadProgramSizes() {
  std::map<uint64_t, uint32_t> sizes;
  uint32_t id = 0;
  for (int i = 0; i < kMaxPrograms && bpf_prog_get_next_id(id, &id) == 0; ++i) {
    const UniqueFd program(bpf_prog_get_fd_by_id(id));
    if (program.valid()) AddFunctions(program.get(), &sizes);
  }
  return sizes;
}

LiveCodeEvents OpenLiveCodeEvents() {
  LiveCodeEvents live;
  absl::StatusOr<KsymbolRings> rings = KsymbolRings::Open();
  if (!rings.ok()) {
    live.warnings.emplace_back(rings.status().message());
    return live;
  }
  std::optional<ModuleEvents> modules;
  if (absl::StatusOr<ModuleEvents> opened = ModuleEvents::Open(); opened.ok()) {
    modules = *std::move(opened);
  } else {
    live.warnings.emplace_back(opened.status().message());
  }
  live.events = std::make_unique<PerfAndUevents>(*std::move(rings), std::move(modules));
  return live;
}

}  // namespace stackray
