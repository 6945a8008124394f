/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Leaves a frame of the toy runtime. Compiles for BPF and for the host (bpf/env.h). */
#ifndef STACKRAY_TESTS_TOY_RUNTIME_TOY_STEP_H
#define STACKRAY_TESTS_TOY_RUNTIME_TOY_STEP_H

#include "bpf/hotspot_blob.h"
#include "bpf/native_frame.h"
#include "tests/toy_runtime/toy.h"

static __always_inline int step_toy(struct scratch* s) {
  const struct toy_process* p = &s->stack.process.toy;
  u64 place = s->regs.pc - p->code_begin, at = s->regs.r[UNWIND_SP], slot, pc = 0;
  u32 sizes[2] = {0, 0};
  int end;

  if (place >= p->code_bytes) return END_UNSUPPORTED_RULE;
#if defined(TOY_IS_REFUSED) && defined(__bpf__)
  /* No verifier lets a program read what is no pointer of its own. */
  if (*(volatile u64*)s->regs.pc == 0) return END_BAD_TABLE;
#endif
  slot = place >> TOY_SLOT_SHIFT;
  place -= slot << TOY_SLOT_SHIFT;
  if (env_read_runtime(s, sizes, sizeof(sizes), p->functions + slot * sizeof(struct toy_function)))
    return END_READ_FAULT;
  end = name_stack_frame(s, slot, TOY_MAGIC);
  if (end) return end;
  if (place >= TOY_SUB_BYTES && place != sizes[1]) at += sizes[0];
  if (read_word(s, at, &pc)) return END_READ_FAULT;
  enter_caller(s, pc, at + 8, s->regs.r[UNWIND_FP]);
  return END_NONE;
}

#endif
