/* SPDX-License-Identifier: GPL-2.0 */
/* Where a tick finds the interrupted user registers, by machine. Both headers define
 *   struct tick_context      the interrupted registers
 *   struct event_context     the context of a perf-event program, which begins with them
 *   tick_mode()              which mode was interrupted; is_user_mode() of it
 *   tick_registers()         s->regs := the tick's own, in user mode; END_NONE or END_COMPAT_TASK
 *   registers_at()           where a task's user registers lie while it is in the kernel; NULL: not
 *   known
 *   read_saved_registers()   a task's registers := what lies there, by way of a tick_context
 *   saved_registers()        s->regs := what lies there; END_NONE or a reason
 *   describe_addresses()     what registers have to know of the address space
 *   thread_pointer_of()      of the running task, for runtimes
 *   KERNEL_PAGE_SHIFT        in bpf/page_size.h */
#ifndef STACKRAY_BPF_REGISTERS_H
#define STACKRAY_BPF_REGISTERS_H

#include "bpf/scratch.h"
#include "bpf/task.h"

#ifdef STACKRAY_ARM64
#include "bpf/registers_arm64.h"
#else
#include "bpf/registers_x86_64.h"
#endif

#endif
