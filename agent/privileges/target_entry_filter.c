#define _GNU_SOURCE
#include "agent/privileges/target_entry_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
enum { LAST_OWN_CALL = 0x3fffffff }; /* Above: the x32 ABI, under the same architecture. */
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
enum { LAST_OWN_CALL = 0x7fffffff };
#endif

enum {
  NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
               CLONE_NEWPID | CLONE_NEWNET
};

static const int kRefused[] = {
    SYS_unshare,        SYS_setns,           SYS_mount,
    SYS_umount2,        SYS_pivot_root,      SYS_open_tree,
    SYS_move_mount,     SYS_fsopen,          SYS_fsconfig,
    SYS_fsmount,        SYS_fspick,          SYS_bpf,
    SYS_keyctl,         SYS_add_key,         SYS_request_key,
    SYS_io_uring_setup, SYS_io_uring_enter,  SYS_io_uring_register,
    SYS_userfaultfd,    SYS_perf_event_open, SYS_open_by_handle_at,
};
enum { REFUSED = sizeof(kRefused) / sizeof(kRefused[0]), MOST_INSTRUCTIONS = 16 + 2 * REFUSED };

struct Program {
  struct sock_filter code[MOST_INSTRUCTIONS];
  unsigned short length;
};

static void Add(struct Program* program, uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
  program->code[program->length++] = (struct sock_filter){code, yes, no, value};
}

static void Load(struct Program* program, size_t offset) {
  Add(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void Answer(struct Program* program, int error) {
  const uint32_t answer = error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error;
  Add(program, BPF_RET | BPF_K, answer, 0, 0);
}

int FilterSystemCalls(void) {
  struct Program program = {.length = 0};
  const uint16_t equal = BPF_JMP | BPF_JEQ | BPF_K;
  Load(&program, offsetof(struct seccomp_data, arch));
  Add(&program, equal, OWN_ARCHITECTURE, 1, 0);
  Answer(&program, ENOSYS);
  Load(&program, offsetof(struct seccomp_data, nr));
  Add(&program, BPF_JMP | BPF_JGT | BPF_K, LAST_OWN_CALL, 0, 1);
  Answer(&program, ENOSYS);
  for (int i = 0; i < REFUSED; ++i) {
    Add(&program, equal, (uint32_t)kRefused[i], 0, 1);
    Answer(&program, EPERM);
  }
  /* Its flags lie in memory, where a filter cannot look; C libraries then ask clone(). */
  Add(&program, equal, SYS_clone3, 0, 1);
  Answer(&program, ENOSYS);
  Add(&program, equal, SYS_clone, 0, 3);
  Load(&program, offsetof(struct seccomp_data, args[0]));
  Add(&program, BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1);
  Answer(&program, EPERM);
  Answer(&program, 0);
  const struct sock_fprog filter = {program.length, program.code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}
