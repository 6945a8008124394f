// Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end, a later Ctrl-C ends at once with
// 130.
#ifndef STACKRAY_AGENT_STOP_SIGNAL_H_
#define STACKRAY_AGENT_STOP_SIGNAL_H_

namespace stackray {

// kReloads: of a daemon. kStops: the terminal is gone; not where nohup made us ignore it.
enum class HangUp { kReloads, kStops };

// Installs the handlers. Call once, before any thread is made.
void WatchStopSignals(HangUp hang_up);
// Writing to a pipe without a reader is an error from then on, and no signal.
void IgnoreBrokenPipes();
// In a child, before exec: the signals do what they did before the calls above.
void RestoreSignals();

// From now on a stop that nobody takes within `seconds` ends the process all the same, with 1;
// 0: no longer. Whoever takes it may need time: then this is called again, and counts from there.
void EndUnlessTaken(unsigned seconds);

bool StopRequested();
bool ReloadPending();  // SIGHUP came since the last TakeReload().
void TakeReload();

// The signals that asked for an end.
struct StopSignals {
  int count = 0;
  int last = 0;  // Its number; 0: none came.
  bool from_kernel =
      false;  // The last one was made by the terminal, so our whole process group got it.
};
StopSignals SeenStopSignals();
// How many Ctrl-C are an orderly end before one ends at once: 1 when nobody says otherwise.
void AllowInterrupts(int count);

}  // namespace stackray

#endif  // STACKRAY_AGENT_STOP_SIGNAL_H_
