/* What collector_run.cc and target_entry.c say to each other. target_entry.c is a program of its
 * own, in C and linked statically; the bytes of both come from one build, so their structs agree.
 */
#ifndef STACKRAY_AGENT_PRIVILEGES_TARGET_ENTRY_H_
#define STACKRAY_AGENT_PRIVILEGES_TARGET_ENTRY_H_

#include <stdint.h>

/* The descriptors that the program is started with. It closes all others. The order comes through
 * standard input, whose other end is closed, so the command reads the end of a file there.
 */
enum TargetEntryFd {
  ENTRY_FD_ORDER = 0,
  ENTRY_FD_OUTPUT = 1,
  ENTRY_FD_ERRORS = 2,
  ENTRY_FD_REPORT = 3,
  ENTRY_FD_ROOT = 4,            /* The target's root directory. */
  ENTRY_FD_FIRST_NAMESPACE = 5, /* Then the others, in the order in which they are entered. */
};

enum { ENTRY_MOST_GROUPS = 64, ENTRY_MOST_NAMESPACES = 7 };

struct TargetEntryOrder {
  uint32_t uid, gid, group_count, namespace_count;
  uint32_t groups[ENTRY_MOST_GROUPS];
};

enum TargetEntryEvent {
  ENTRY_NOT_STARTED = 1, /* `value` is errno. */
  ENTRY_STARTED = 2,
  ENTRY_ENDED = 3,     /* `value` is the status of waitpid(). */
  ENTRY_NO_CGROUP = 4, /* Not started: the target's cgroup cannot be entered; `value` is errno. */
};

struct TargetEntryReport {
  uint32_t event;
  int32_t value;
};

#endif /* STACKRAY_AGENT_PRIVILEGES_TARGET_ENTRY_H_ */
