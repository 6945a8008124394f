/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Why a user stack ended. One value per sample travels in its record; BPF counts each of them.
 *
 * Which of them make a stack complete says profile/stack_end.h. Where a stack is not complete, the
 * batch shows a marker frame in the place of the missing part. Append only: the numbers are in
 * recorded fixtures. */
#ifndef STACKRAY_BPF_SHARED_END_REASON_H
#define STACKRAY_BPF_SHARED_END_REASON_H

enum end_reason {
	END_NONE = 0,              /* still walking; never in a finished record */
	/* Terminal. */
	END_UNDEFINED_RA = 1,      /* unwind rule: the return address is undefined (_start, clone) */
	END_NULL_RA = 2,           /* a return address of 0: where a thread's first frame was set up */
	/* JIT code, entered by a frame record in which the frame pointer is 0: the ABI's mark of an
	 * outermost frame. */
	END_NULL_RECORD = 4,
	/* A guess that looks like the end. */
	/* Code without rules, and a frame pointer of 0: the outermost frame, or code that keeps none. */
	END_NULL_FP = 3,
	/* one of the terminal ones, behind a frame of which nobody knows whether it has called its
	 * callee (SAMPLE_DOUBTED); user space says so */
	END_DOUBTED = 5,
	/* No user stack to begin with. */
	/* no user stack: a kernel thread, or one that the kernel made inside a process */
	END_KERNEL_THREAD = 8,
	END_NO_ADDRESS_SPACE = 9,  /* the task is past exit_mm(), or between two images in exec */
	END_COMPAT_TASK = 10,      /* 32-bit code on a 64-bit kernel: not unwound */
	/* a process outside of the agent's pid namespace: its files cannot be opened, so their tables are
	 * not loaded */
	END_OUTSIDE_NAMESPACE = 11,
	/* Cut. */
	END_READ_FAULT = 16,       /* the stack could not be read at the frame */
	END_NO_MAPPING = 17,       /* a return address that lies in no mapping */
	END_NOT_EXECUTABLE = 18,   /* a return address in a mapping without execute permission */
	/* the file's tables were never loaded; raw stack attached if budget was left */
	END_UNKNOWN_FILE = 19,
	/* the table page is not loaded; raw stack attached if budget was left */
	END_MISSING_PAGE = 20,
	END_NO_PROGRESS = 21,      /* the next frame would not lie above this one */
	END_BAD_FP = 22,           /* frame pointer below the stack pointer or unaligned */
	/* a rule that needs a register which is not tracked, or an expression */
	END_UNSUPPORTED_RULE = 23,
	END_TOO_DEEP = 24,         /* more than SAMPLE_MAX_NATIVE_FRAMES, or SAMPLE_MAX_USER_WORDS */
	/* More than SAMPLE_MAX_RANGES mappings in one stack, or in a process that was gone when the walk
	 * was finished. */
	END_TOO_MANY_RANGES = 25,
	END_BUSY = 26,             /* a mapping or a table changed under the walk, three times */
	END_BAD_TABLE = 27,        /* a table's bytes contradict themselves; always our bug */
	END_GUESSED_NULL_RA = 28,  /* a return address of 0 that a guess led to, not a rule */
	END_TOO_SLOW = 29,         /* the walk of a waiting thread took as long as it may */
	/* the driver looks for a return address in s->scan; never in a finished record */
	END_SCANS_STACK = 30,
	END_ENTERED_RUNTIME = 31,  /* bpf/runtime_walk.h goes on; never in a finished record */
	END_REASON_COUNT = 32,
};

#endif
