#include "kernel/deadly_signals.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace stackray {
namespace {

constexpr std::string_view kPrograms[] = {"on_deadly_signal"};
constexpr std::string_view kWhat = "to take last stacks";

}  // namespace

absl::StatusOr<std::unique_ptr<DeadlySignals>> DeadlySignals::Load(const sampler_bpf& sampler) {
  absl::StatusOr<std::vector<LaterProgram>> programs =
      LoadLater(sampler, {.what = kWhat, .programs = kPrograms});
  if (!programs.ok()) return programs.status();
  std::unique_ptr<DeadlySignals> loaded(new DeadlySignals());
  loaded->programs_ = *std::move(programs);
  for (LaterProgram& program : loaded->programs_) {
    program.link.reset(bpf_raw_tracepoint_open(nullptr, program.program.get()));
    if (!program.link.valid())
      return RefusedLater(kWhat, absl::StrCat("attach ", program.name), errno);
  }
  return loaded;
}

std::vector<std::pair<std::string, int>> DeadlySignals::programs() const {
  std::vector<std::pair<std::string, int>> programs;
  programs.reserve(programs_.size());
  for (const LaterProgram& program : programs_)
    programs.emplace_back(program.name, program.program.get());
  return programs;
}

}  // namespace stackray
