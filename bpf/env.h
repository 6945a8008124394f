/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the unwinder and the readers of runtimes' frames need from their surroundings. They compile
 * for BPF and for the host.
 *
 * BPF's implementation is bpf/env_bpf.h, with the functions that it declares. The host's is in the
 * file that includes the unwinder, in front of that include: symbolizer/unwind/host_walk.cc, and
 * tests that run a part of it on recordings. Each provides what its headers ask for:
 *
 * Memory and tables
 *   int env_read(struct scratch *s, void *to, u32 bytes, u64 from)   0 or an error; the target's
 *   memory
 *   int env_read_runtime(struct scratch *s, void *to, u32 bytes, u64 from)   env_read() of what a
 *   runtime of kind STACK keeps: its code, and what describes it
 *   CODE_IS_READABLE   0: env_read() may know the stack alone
 *   u8 *env_chunk(struct scratch *s, u32 index)   the chunk's CHUNK_MAP_BYTES bytes, or NULL
 *   void env_count(u32 counter)   enum counter
 * Native frames
 *   int env_find_range(struct scratch *s, u64 pc)   sets s->current_range; END_NONE or a reason
 *   int env_find_code(struct scratch *s, u64 file_offset)   find_code_inline(), as a call of its
 *   own
 *   int env_find_jit_table(struct scratch *s, u64 file_offset)   find_jit_table_inline(), as a call
 *   of its own; 0 where nobody knows of rows of JIT code
 *   int env_find_jit_process(struct scratch *s)   s->jit.process := what user space knows of the
 *   process's JIT code; 0: nothing
 *   int env_describe_jit_table(struct scratch *s)   s->jit.table := what the row store has for
 *   s->jit.key; 0: nothing
 *   int env_step_rarely(struct scratch *s, u64 file_offset)   step_rarely(), as a call of its own
 *   int env_find_go_stack(struct scratch *s)   find_go_stack(), as a call of its own
 *   int env_leave_probe(struct scratch *s, int end)   where s->regs.pc is in the page of the
 *                                                     kernel's return probes: makes the pc what it
 *                                                     would be without the probe, and finds its
 *                                                     range; else `end`
 * Native frames of x86-64
 *   int env_scan_word(struct scratch *s, u64 at)   scan_word_inline(), as a call of its own
 *   int env_frame_record_kind(struct scratch *s)   frame_record_kind(), as a call of its own
 *     A driver whose code is readable asks needs_scan() behind step_native().
 *   u32 env_bytes_of_new_frame(struct scratch *s)   bytes_of_new_frame(), as a call of its own
 *   int env_leave_made_code(struct scratch *s)   leave_made_frame() or step_of_stack_runtime(),
 *                                                where a runtime has made the code;
 *                                                END_UNSUPPORTED_RULE: the code is no runtime's
 *   int env_step_hotspot(struct scratch *s, u32 step)   the step's function, as a call of its own
 *   int env_step_v8(struct scratch *s, u32 step)   likewise
 *   int env_find_sender(struct scratch *s, u32 between)   find_hotspot_sender(), likewise
 *   int env_leave_pushed(struct scratch *s, u64 at, u32 words)   leave_pushed(), as a call of
 *   its own
 * Frames of runtimes
 *   int env_is_new_code(struct scratch *s, u64 code, u32 check)   was this code not seen before?
 *   Now it is
 *   void env_send_code(struct scratch *s)   sends s->code_record, or keeps it
 *   void env_send_ruby_names(struct scratch *s)   send_ruby_names(), as a call of its own
 *   u64 env_running_lua_call(struct scratch *s, u64 state)   running_lua_call(), as a call of its
 *   own
 * What a thread works on
 *   int env_next_label(struct scratch *s)   next_label(), as a call of its own */
#ifndef STACKRAY_BPF_ENV_H
#define STACKRAY_BPF_ENV_H

#ifdef __bpf__
#include "bpf/env_bpf.h"
#endif

#endif
