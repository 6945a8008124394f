/* SPDX-License-Identifier: GPL-2.0 */
/* The global functions that are called across headers. The verifier looks at each of them once, for
 * any arguments; they take numbers only, because 5.10 knows no others, and so the scratch by its
 * slot. */
#ifndef STACKRAY_BPF_CALLS_H
#define STACKRAY_BPF_CALLS_H

#include "bpf/shared/types.h"

int find_mapping(u32 slot, u64 address);              /* bpf/mapping.h */
int rb_find(u32 slot, u64 address);                   /* bpf/mapping_rb.h */
int describe_moved(u32 slot, u64 neighbour);          /* bpf/moved_text.h */
int attach_probed_returns(u32 slot, u32 at);          /* bpf/return_probe.h */
int step_frame(u32 slot);                             /* bpf/walk.h */
int attach_raw_stack(u32 slot);                       /* bpf/raw_stack.h */
int send_code_record(u32 slot);                       /* bpf/code_record.h */
int begin_python(u32 slot);                           /* bpf/python_thread.h */
int next_python_state(u32 slot);
int begin_ruby(u32 slot);                             /* bpf/ruby_thread.h */
int recall_runtime(u32 slot);                         /* bpf/runtime_walk.h */
int ship_runtime_frames(u32 slot);

#endif
