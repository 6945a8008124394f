#include "agent/record/program_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "agent/say.h"
#include "agent/stop_signal.h"

namespace stackray {
namespace {

constexpr uint64_t kGraceNs = 1'000'000'000;  // For CMD to end after its signal.
constexpr useconds_t kDeliveryUs = 20'000;    // kill(-PGID) signals one process after the other.
constexpr useconds_t kPollUs = 50'000;
constexpr int kOrderlyInterrupts = 2;  // CMD's, and the one that leaves it.
constexpr int kExitSignal = 128;

}  // namespace

ProgramWatch::ProgramWatch(ChildProgram& child, std::string name)
    : child_(child), name_(std::move(name)), witness_(GroupWitness::Fork()) {
  AllowInterrupts(kOrderlyInterrupts);
}

// Once, for the first signal: of a second one CMD has its own copy, or is left to itself.
void ProgramWatch::HandOn() {
  const StopSignals seen = SeenStopSignals();
  if (seen.count == seen_signals_) return;
  const bool is_first = std::exchange(seen_signals_, seen.count) == 0;
  if (!is_first) return;
  usleep(kDeliveryUs);
  const bool in_our_group = getpgid(child_.pid()) == getpgrp();
  const bool has_it =
      in_our_group && (seen.from_kernel || (witness_ != nullptr && witness_->Got(seen.last)));
  if (!has_it) kill(child_.pid(), seen.last);
}

bool ProgramWatch::IsLeft() const {
  const StopSignals seen = SeenStopSignals();
  return seen.count > 1 || (seen.count == 1 && seen.last == SIGHUP);
}

bool ProgramWatch::RecordingIsOver(uint64_t now_ns) {
  if (child_.Poll()) return true;
  HandOn();
  if (seen_signals_ == 0) return false;
  if (first_signal_ns_ == 0) first_signal_ns_ = now_ns;
  return seen_signals_ > 1 || now_ns - first_signal_ns_ >= kGraceNs;
}

int ProgramWatch::WaitForEnd() {
  std::optional<int> code = child_.Poll();
  if (!code && !IsLeft())
    Say(
        fmt::format("stackray: the recording is over, and {} (pid {}) still runs: waiting for its "
                    "end. Ctrl-C goes to it, a second one leaves it.",
                    name_, child_.pid()));
  for (; !code; code = child_.Poll()) {
    HandOn();
    if (IsLeft()) {
      Say(fmt::format("stackray: {} (pid {}) still runs", name_, child_.pid()));
      return kExitSignal + SeenStopSignals().last;
    }
    usleep(kPollUs);
  }
  return *code;
}

}  // namespace stackray
