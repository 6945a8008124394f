// Priority over what is measured: threads that must keep up with the kernel, however busy the host
// is.
#ifndef STACKRAY_AGENT_SAMPLING_THREAD_PRIORITY_H_
#define STACKRAY_AGENT_SAMPLING_THREAD_PRIORITY_H_

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

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_THREAD_PRIORITY_H_
