/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What a frame of HotSpot says in its second word beside what enum hotspot_frame has. */
#ifndef STACKRAY_BPF_SHARED_HOTSPOT_MARKS_H
#define STACKRAY_BPF_SHARED_HOTSPOT_MARKS_H

#include "bpf/shared/types.h"

/* Of HOTSPOT_CALL_STUB: no stub, but the place of frames of a virtual thread that lie in the heap
 * (StubRoutines::cont_returnBarrier): they come back to the stack one by one, as it is left. */
#define HOTSPOT_FROZEN_FRAMES (1ULL << 32)
/* Likewise: the interpreted frame that a compiled one becomes, before it has a method. */
#define HOTSPOT_DEOPTIMISED_FRAME (2ULL << 32)

#endif
