#include "agent/stop_signal.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace stackray {
namespace {

constexpr int kExitInterrupted = 130, kExitLate = 1;
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

std::atomic<int> g_interrupts{0}, g_allowed_interrupts{1};
std::atomic<int> g_stops{0}, g_last{0};
std::atomic<unsigned> g_longest_s{0};
std::atomic<bool> g_from_kernel{false}, g_reload{false}, g_hang_up_reloads{false};
std::array<struct sigaction, kSignals.size()> g_before;
std::array<bool, kSignals.size()> g_changed;

void OnSignal(int number, siginfo_t* info, void*) {
  if (number == SIGHUP && g_hang_up_reloads) {
    g_reload = true;
    return;
  }
  if (number == SIGINT && ++g_interrupts > g_allowed_interrupts) _exit(kExitInterrupted);
  g_from_kernel = info->si_code == SI_KERNEL;
  g_last = number;
  if (g_stops++ == 0 && g_longest_s != 0) alarm(g_longest_s);
}

void OnAlarm(int) {
  constexpr char kText[] = "stackray: the end took too long, so it comes at once\n";
  (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
  _exit(kExitLate);
}

// Keeps what was there before.
void Change(int number, const struct sigaction& action) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] != number) continue;
    struct sigaction before = {};
    if (sigaction(number, &action, &before) != 0 || g_changed[i]) continue;
    g_before[i] = before;
    g_changed[i] = true;
  }
}

bool IsIgnored(int number) {
  struct sigaction now = {};
  return sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void WatchStopSignals(HangUp hang_up) {
  g_hang_up_reloads = hang_up == HangUp::kReloads;
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO;
  Change(SIGINT, action);
  Change(SIGTERM, action);
  if (hang_up == HangUp::kReloads || !IsIgnored(SIGHUP)) Change(SIGHUP, action);
}

void IgnoreBrokenPipes() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  Change(SIGPIPE, action);
}

void RestoreSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i)
    if (g_changed[i]) sigaction(kSignals[i], &g_before[i], nullptr);
}

void EndUnlessTaken(unsigned seconds) {
  struct sigaction action = {};
  action.sa_handler = OnAlarm;
  sigaction(SIGALRM, &action, nullptr);
  g_longest_s = seconds;
  if (g_stops != 0) alarm(seconds);
}

bool StopRequested() { return g_stops != 0; }
bool ReloadPending() { return g_reload; }
void TakeReload() { g_reload = false; }

StopSignals SeenStopSignals() {
  return {.count = g_stops, .last = g_last, .from_kernel = g_from_kernel};
}

void AllowInterrupts(int count) { g_allowed_interrupts = count; }

}  // namespace stackray
