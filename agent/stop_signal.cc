#include "agent/stop_signal.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace stackray {
namespace {

constexpr int kExitInterrupted = 130;
std::atomic<int> g_interrupts{0};
std::atomic<bool> g_stop{false}, g_reload{false};

void OnSignal(int number) {
  if (number == SIGHUP) {
    g_reload = true;
    return;
  }
  if (number == SIGINT && ++g_interrupts > 1) _exit(kExitInterrupted);
  g_stop = true;
}

}  // namespace

void WatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

bool StopRequested() { return g_stop; }
bool ReloadPending() { return g_reload; }
void TakeReload() { g_reload = false; }

}  // namespace stackray
