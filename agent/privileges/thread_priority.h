// Priority over what is measured: threads that must keep up with the kernel, however busy the host
// is.
#ifndef STACKRAY_AGENT_PRIVILEGES_THREAD_PRIORITY_H_
#define STACKRAY_AGENT_PRIVILEGES_THREAD_PRIORITY_H_

namespace stackray {

// Nice -10: about nine times the share of an ordinary thread, so a waiting one runs within
// milliseconds, and one that works for long still leaves others theirs. A real-time class would
// not.
inline constexpr int kPreferredNice = -10;

// The calling thread gets kPreferredNice, unless it has more already; the helper process gives it
// where the agent has given up CAP_SYS_NICE. False where this is not allowed (no CAP_SYS_NICE and
// no RLIMIT_NICE): it goes on as it is.
bool PreferThisThread();

// Likewise, and threads and processes that it begins are ordinary ones (SCHED_RESET_ON_FORK). For
// the loop that takes the samples, before the sandbox: its samples wait in a ring of some seconds,
// and an ordinary thread waits for a CPU as long on a host with load 15.
bool PreferThisThreadAlone();

// Where kernel.sched_autogroup_enabled is 1, nice counts within a session (setsid(2)) alone, and
// between sessions the nice value of /proc/PID/autogroup (sched(7)).
enum class SessionPriority {
  kByThread,   // Nice counts by itself: no such groups here, or switched off.
  kPreferred,  // This process leads its session, which has kPreferredNice now.
  kShared,     // The session is another's, whose priority is not ours to change.
  kRefused,    // No CAP_SYS_NICE and no RLIMIT_NICE.
};

// Once, before the sandbox. What this process starts in its session has the same priority over
// other sessions.
SessionPriority PreferThisSession();

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_THREAD_PRIORITY_H_
