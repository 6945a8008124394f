/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's structs, as far as we read them. CO-RE relocates every access to the running kernel,
 * so only names and types matter here, not offsets. Field names: Linux 5.10 to 6.18; `___` flavours
 * are the other spellings, with the release that brought them. */
#ifndef STACKRAY_BPF_KERNEL_TYPES_H
#define STACKRAY_BPF_KERNEL_TYPES_H

#include "bpf/shared/types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned long i_ino;
	u32 i_generation;
	s64 i_size;
	s64 i_mtime_sec; /* 6.11 */
	u32 i_mtime_nsec;
	struct super_block *i_sb;
};
struct inode___6_6 { /* 6.6 … 6.10 */
	struct timespec64 __i_mtime;
};
struct inode___6_1 {
	struct timespec64 i_mtime;
};

struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name; /* inside an anonymous union since 6.15 */
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mount { /* fs/mount.h: what a vfsmount lies in */
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path; /* inside an anonymous union since 6.17 */
};

struct maple_tree {
	void *ma_root;
};

struct rb_node {
	struct rb_node *rb_right, *rb_left;
};
struct rb_root {
	struct rb_node *rb_node;
};
typedef struct {
	s64 counter;
} atomic_long_t;
struct rw_semaphore {
	atomic_long_t count;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct xol_area { /* kernel/events/uprobes.c: the page [uprobes] */
	unsigned long vaddr;
};
struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct maple_tree mm_mt; /* 6.1 */
	unsigned long task_size;
	mm_context_t context;
	struct file *exe_file;
	unsigned long exec_vm;
	unsigned long start_code, end_code;
	struct uprobes_state uprobes_state; /* with CONFIG_UPROBES */
	int map_count;
};
typedef struct seqcount {
	unsigned int sequence;
} seqcount_t;
struct mm_struct___5_10 { /* 5.10 … 6.0 */
	struct vm_area_struct *mmap;
	struct rb_root mm_rb;
	struct rw_semaphore mmap_lock;
};
struct mm_struct___6_4 { /* 6.4 … 6.12 */
	int mm_lock_seq;
};
struct mm_struct___6_13 { /* and 6.12.107 of Debian */
	seqcount_t mm_lock_seq;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags; /* inside an anonymous union since 6.3 */
	unsigned long vm_pgoff;
	struct file *vm_file;
};
struct vm_area_struct___5_10 { /* 5.10 … 6.0 */
	struct vm_area_struct *vm_next;
	struct rb_node vm_rb;
};
typedef struct {
	int counter;
} atomic_t;
typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;
struct vm_area_struct___6_4 {
	int vm_lock_seq; /* only with CONFIG_PER_VMA_LOCK */
	_Bool detached;   /* the same, until 6.14 */
};
struct vm_area_struct___6_15 {
	refcount_t vm_refcnt; /* 0: detached */
};

struct kernfs_node {
	u64 id;
	const char *name;
	struct kernfs_node *__parent; /* 6.15 */
};
struct kernfs_node___6_14 {
	struct kernfs_node *parent;
};

struct cgroup_root {
	int hierarchy_id; /* 0: cgroup v2 */
};

struct cgroup {
	struct cgroup_root *root;
	struct kernfs_node *kn;
	int level;
	struct cgroup *ancestors[0]; /* 6.1 */
};
struct cgroup___5_10 { /* 5.10 … 6.0 */
	u64 ancestor_ids[0];
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

typedef struct {
	unsigned int val;
} kuid_t;
struct cred {
	kuid_t euid;
};

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
};

struct task_struct {
	unsigned int flags;
	void *stack;
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	u64 start_boottime;
	u64 self_exec_id;
	unsigned in_execve : 1;
	char comm[16];
	const struct cred *cred;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct uprobe_task *utask; /* with CONFIG_UPROBES */
	struct thread_struct thread;
	unsigned int __state; /* 5.14 */
	int on_cpu; /* its registers are on a CPU: it runs, or is just leaving or coming */
	int wake_cpu; /* the CPU that it ran on last */
};
struct task_struct___5_13 {
	volatile long state;
};

struct kernel_clone_args {
	int user_worker : 1; /* 6.4 */
	int io_thread : 1;   /* 5.12 */
};

/* a thread's entry about a function that a probe waits for the return of */
struct return_instance {
	unsigned long stack;          /* the stack pointer at the function's entry */
	unsigned long orig_ret_vaddr; /* where it returns to */
	struct return_instance *next; /* further out */
};
struct uprobe_task {
	struct return_instance *return_instances; /* the innermost */
	void *active_uprobe; /* whose instruction's copy runs */
	unsigned long xol_vaddr; /* of that copy */
	unsigned long vaddr; /* of the instruction; inside an anonymous union */
};

struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[0]; /* level + 1 of them, the host's first */
};

struct signal_struct {
	atomic_t live; /* threads that have not exited yet */
};

struct pt_regs { /* arm64 */
	int syscallno; /* -1: no system call */
};

struct bpf_array {
	char value[0]; /* the values of an array map */
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id; /* of one reading */
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct linux_binprm;

#pragma clang attribute pop

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */
#define PF_IO_WORKER 0x00000010   /* since 5.12 of threads that are no PF_KTHREAD */
#define PF_USER_WORKER 0x00004000 /* since 6.4; another flag had the bit before 5.18 */
#define TASK_DEAD 0x80 /* include/linux/sched.h: the thread's last switch */
#define TASK_WAKING 0x200 /* a CPU is looked for, where it is to run */
#define TASK_NEW 0x800    /* it has not run yet */
#define VM_WRITE 0x00000002   /* include/linux/mm.h */
#define VM_EXEC 0x00000004

#endif
