// Ctrl-C and SIGTERM: the first asks for an orderly end, the second Ctrl-C ends at once with 130.
#ifndef STACKRAY_AGENT_STOP_SIGNAL_H_
#define STACKRAY_AGENT_STOP_SIGNAL_H_

namespace stackray {

// Installs the handlers; SIGPIPE is ignored from then on. Call once, before any thread is made.
void WatchStopSignals();
bool StopRequested();
bool ReloadPending();  // SIGHUP came since the last TakeReload().
void TakeReload();

}  // namespace stackray

#endif  // STACKRAY_AGENT_STOP_SIGNAL_H_
