/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* A runtime of kind STACK that is as small as one can be: its program (toy_program.c) makes one
 * function a slot of 64 bytes, each with a frame of a size of its own, and a table says which. */
#ifndef STACKRAY_TESTS_TOY_RUNTIME_TOY_H
#define STACKRAY_TESTS_TOY_RUNTIME_TOY_H

#include "bpf/shared/types.h"

#define TOY_MAGIC 0x796f7420656e6966ULL
#define TOY_SLOT_SHIFT 6
#define TOY_SUB_BYTES 7 /* of the instruction that makes the frame */
#define TOY_NAME_BYTES 24

/* What the program exports as `toy_vm`, and what BPF is told of a process. */
struct toy_process {
  u64 magic;
  u64 code_begin, code_bytes;
  u64 functions; /* address of an array of struct toy_function */
};

struct toy_function {
  u32 frame_bytes;
  u32 return_at; /* place of its `ret` in the slot */
  char name[TOY_NAME_BYTES];
};

#endif
