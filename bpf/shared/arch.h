/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The machine that this is built for: its registers as the unwinder sees them.
 *
 * A BPF program is built for a kernel's machine (__TARGET_ARCH_...), user space for its own. Both
 * headers define
 *   UNWIND_REGISTERS, UNWIND_SP, UNWIND_FP   register numbers, DWARF's
 *   struct unwind_registers                  one frame's registers; travels in sample records
 *   RED_ZONE_BYTES                           below the stack pointer, which a frame may still use
 *   RETURN_SLOT_BYTES                        the stack pointer behind a return, less that before
 *   the call's push
 *   code_address()                           a return address as it was saved → where it leads */
#ifndef STACKRAY_BPF_SHARED_ARCH_H
#define STACKRAY_BPF_SHARED_ARCH_H

#if defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))
#define STACKRAY_ARM64 1
#include "bpf/shared/arch_arm64.h"
#else
#include "bpf/shared/arch_x86_64.h"
#endif

#endif
