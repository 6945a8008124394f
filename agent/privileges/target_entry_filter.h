/* What no command of a collector may ask of the kernel. */
#ifndef STACKRAY_AGENT_PRIVILEGES_TARGET_ENTRY_FILTER_H_
#define STACKRAY_AGENT_PRIVILEGES_TARGET_ENTRY_FILTER_H_

/* A container's own filter and its profile of AppArmor or SELinux do not bind a process that enters
 * it from outside. This filter closes the largest parts of the kernel that such filters close:
 * namespaces (one for users gives all capabilities within it), mounts, BPF, keys, io_uring. They
 * fail with EPERM, and calls of another ABI than this program's with ENOSYS. Needs no_new_privs,
 * and holds for all that the caller forks and executes. 0, or -1 and errno.
 */
int FilterSystemCalls(void);

#endif /* STACKRAY_AGENT_PRIVILEGES_TARGET_ENTRY_FILTER_H_ */
