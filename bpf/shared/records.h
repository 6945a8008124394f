/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The records that BPF writes into its rings and user space decodes.
 *
 * Every record starts with struct record_header. Records are variable-length: `size_bytes` counts
 * the whole record, and every array's length is in the fixed part. The reader (kernel/raw_sample.h)
 * trusts none of it. All times are CLOCK_BOOTTIME nanoseconds. All process and thread ids are those
 * that the agent's /proc has; what it has none for keeps the host's, with PID_OUTSIDE
 * (bpf/pid_namespace.h). */
#ifndef STACKRAY_BPF_SHARED_RECORDS_H
#define STACKRAY_BPF_SHARED_RECORDS_H

#include "bpf/shared/arch.h"
#include "bpf/shared/end_reason.h"
#include "bpf/shared/thread_context.h"
#include "bpf/shared/types.h"

#define RECORD_LAYOUT_VERSION 1

#define COMMAND_BYTES 16          /* the kernel's TASK_COMM_LEN */
#define SAMPLE_MAX_NATIVE_FRAMES 2080 /* where no runtime has frames among them */
/* 900 frames of a runtime (2 words each), each with 3 native ones */
#define SAMPLE_MAX_USER_WORDS 5120
#define SAMPLE_MAX_KERNEL_FRAMES 127
/* mappings one stack may touch; also the cap of a miss's extra ranges */
#define SAMPLE_MAX_RANGES 192
#define RAW_STACK_MAX_BYTES 65536
#define MAX_PROBED_RETURNS 64     /* of a thread: the kernel's own bound (MAX_URETPROBE_DEPTH) */

/* in a pid: the agent is in a pid namespace, and this process outside of it */
#define PID_OUTSIDE 0x80000000u

enum record_type {
	RECORD_SAMPLE = 1,
	RECORD_EXEC = 2,
	RECORD_FORK = 3, /* a new process (not a new thread) */
	RECORD_EXIT = 4, /* the last thread of a process is gone */
	RECORD_MISS = 5, /* only in the ring "misses": a table page or file is wanted */
	RECORD_EXISTING = 6, /* only from the task iterator: a process that is there */
	RECORD_MOVED = 7,    /* a process is in another cgroup */
	RECORD_CODE = 8,     /* before the sample that met it: what names a runtime's code */
	RECORD_STACK = 9,    /* before the sample whose stack slice it goes on behind, from the same CPU */
	RECORD_WAIT_END = 10, /* behind the sample of ORIGIN_OFF_CPU whose wait it ends */
	RECORD_WAITED = 11, /* only from the list of waiting threads: how long a thread has waited */
};

struct record_header {
	u16 layout; /* RECORD_LAYOUT_VERSION */
	u16 type;   /* enum record_type */
	u32 size_bytes;
	u64 time_ns;
};
static_assert(sizeof(struct record_header) == 16, "decoder reads 16 bytes first");

/* Who: equal in all three means the same program image of the same process. */
struct process_key {
	u32 pid;          /* the kernel calls it tgid */
	u32 exec_id;      /* task_struct.self_exec_id of the leader: +1 at every exec */
	u64 start_time_ns; /* the leader's start_boottime */
};
static_assert(sizeof(struct process_key) == 16, "no hidden padding");

enum range_kind {
	RANGE_FILE = 1, /* backed by a file; key, size and mtime are set */
	RANGE_VDSO = 2, /* the kernel's vDSO page */
	RANGE_ANON = 3, /* executable memory of no file (a JIT); offsets are addresses */
};

/* Which file, as the kernel sees it: on overlayfs the backing inode. */
struct file_key {
	u64 inode;
	u32 device; /* super_block.s_dev: major << 20 | minor */
	u32 generation;
};
static_assert(sizeof(struct file_key) == 16, "also the key of the BPF hash \"files\"");

#define STACK_RUNTIME 0x8000u

/* One mapping a sample's frames lie in, read from the VMA while sampling. A frame names its range
 * by index, so a record can be understood after the mapping, the process and the file are gone. */
struct code_range {
	/* zero unless RANGE_FILE; of RANGE_ANON: the file whose text it is presumed to be, with no verdict
	 * yet */
	struct file_key file;
	u64 file_size_bytes;    /* guard against a reused inode number; zero like the file */
	s64 file_mtime_s;       /* the same, seconds since 1970 */
	u64 start, end;         /* user addresses */
	u64 file_offset;        /* of `start`; for RANGE_VDSO 0; for RANGE_ANON equal to start */
	u32 file_mtime_ns;      /* nanoseconds part of the time above */
	u8 kind;                /* enum range_kind */
	u8 reserved;            /* zero */
	/* the file holds an interpreter: its entry in "runtime_files"; 0: none. With STACK_RUNTIME: of
	 * kind STACK, whose code the file, or the memory, holds. */
	u16 runtime;
};
static_assert(sizeof(struct code_range) == 64, "no hidden padding");

/* Key and value of the BPF hash "moved_texts": executable memory of no file that was compared with
 * the file whose text it was presumed to be. Written by user space only. */
#define MAX_MOVED_TEXTS 512
struct moved_key {
	struct process_key process;
	u64 start; /* of the mapping */
};
struct moved_text {
	u64 end;         /* of the mapping: another one at this place has no verdict */
	u64 file_offset; /* of its start */
	u32 is_of_file;  /* 0: it holds something else */
	u32 reserved;
};
static_assert(sizeof(struct moved_key) == 24 && sizeof(struct moved_text) == 24, "no hidden padding");

/* User frames are a run of 64-bit words, leaf first. The first word of a frame:
 *   bits 60-63 enum frame_kind · 48-59 index into the record's ranges · 0-47 offset.
 * offset = pc - range.start + range.file_offset. Runtimes' frames take more words:
 *   FRAME_RUNTIME: bits 0-47 address of the code (CPython: the code object), bits 48-59 as the
 *     runtime likes; a second word: bits 0-31 the instruction (CPython: its signed byte offset),
 *     bits 32-63 a check of the code's content at that moment (CPython: python_code_check()), which
 *     tells it from what follows at its address.
 *   FRAME_OF_STACK: a frame that a runtime (of kind STACK, bpf/shared/runtimes.h) has on the C
 *     stack itself; two words. Bits 48-59 index of its range, which names the runtime; the rest as
 *     the runtime likes. */
enum frame_kind {
	FRAME_RETURN = 0, /* offset is a return address: the call is in the byte before it */
	FRAME_EXACT = 1,  /* offset is where the code was interrupted (leaf, below a signal frame) */
	FRAME_NO_RANGE = 2, /* bits 0-47 are a bare pc that lies in no known mapping */
	FRAME_RUNTIME = 3,
	/* No frame: closes a run that has no place yet; offset: enum run_place, or a marker; range: one of
	 * the runtime's file. */
	FRAME_RUN_END = 4,
	FRAME_OF_STACK = 5,
	/* flag of 0 and 1: the native frame that runs the frames before it, of its range's runtime */
	FRAME_OF_RUNTIME = 8,
};
/* Offset of FRAME_RUN_END: to whom the frames before it belong. Anything else is the address of a
 * marker on the C stack that the native walk did not reach. */
enum run_place {
	RUN_OF_MANY_LOOPS = 0, /* each frame has a native frame of the runtime's loop */
	RUN_OF_ONE_LOOP = 1,   /* all have one and the same */
	RUN_OF_MAIN_LOOP = 2,  /* the same, and it is the main program's; nothing, if that does not run */
	RUN_OF_CALLBACK = 3,   /* the same; nothing, while the C code that calls it is between two calls */
	/* one and the same: their own, or that of the next run, whichever there are enough of */
	RUN_OF_NEXT_LOOP = 4,
	/* no loop of the runtime runs them: functions that were compiled to native code */
	RUN_OF_NO_LOOP = 5,
	RUN_PLACES = 6,
};
#define FRAME_KIND_SHIFT 60
#define FRAME_RANGE_SHIFT 48
#define FRAME_RANGE_MASK 0xfffULL
#define FRAME_OFFSET_MASK ((1ULL << FRAME_RANGE_SHIFT) - 1)

enum sample_flags {
	SAMPLE_IN_KERNEL = 1, /* the tick hit kernel mode */
	SAMPLE_HAS_RAW = 2,   /* `resume` and raw stack bytes are there: user space finishes the walk */
	SAMPLE_KERNEL_CUT = 4, /* the kernel stack was longer than SAMPLE_MAX_KERNEL_FRAMES */
	/* at least one frame was found by frame pointers or instructions where no rules exist */
	SAMPLE_GUESSED = 8,
	SAMPLE_UNSURE_MAPPING = 16, /* a mapping was being changed at that moment */
	/* with SAMPLE_HAS_RAW: writable code that is new may be missing among the ranges */
	SAMPLE_OLDER_RANGES = 32,
	/* ORIGIN_OFF_CPU: the thread could have run on: it was preempted, or gave its turn away */
	SAMPLE_PREEMPTED = 64,
	/* the highest; with SAMPLE_HAS_RAW: a struct asked_walk is there, because BPF does not know
	 * whether the process has a runtime of kind STACK */
	SAMPLE_ASKS = 128,
	/* From here on in sample_record.more_flags, shifted down by SAMPLE_MORE_SHIFT. */
	SAMPLE_HAS_CONTEXT = 256, /* a struct context_part is behind all other parts */
	/* with SAMPLE_GUESSED: nothing says that the frame above a guess is its caller, so the stack does
	 * not count as complete */
	SAMPLE_DOUBTED = 512,
};
#define SAMPLE_MORE_SHIFT 8

/* What made a sample; the numbers are those of SampleOrigin (profile/sample_types.h). */
enum sample_origin {
	ORIGIN_CPU_CLOCK = 0,   /* a tick of the sampling clock */
	ORIGIN_OFF_CPU = 1,     /* a thread left its CPU: the wait that began then */
	ORIGIN_PAGE_FAULTS = 2, /* the page-fault counter has counted one period */
	ORIGIN_COUNT = 3,
};
/* Which perf event a tick came from: the low four bits of its opening sample_period, the only mark
 * that every kernel shows to the program. */
#define EVENT_SLOT_MASK 15
#define EVENT_SLOT_CPU_CLOCK 0 /* of capture 0 */
#define EVENT_SLOT_PAGE_FAULTS 1
#define FIRST_EVENT_SLOT_OF_CAPTURES 2 /* to 15: CPU clocks, each of a rate of its own */
/* An off-CPU stack was taken with probability 2^-weight_shift. */
#define MAX_WEIGHT_SHIFT 16

struct sample_record {
	struct record_header header;
	struct process_key process;
	u32 tid;
	u16 cpu;
	u16 captures;                  /* which want it: bit n for capture n */
	u64 cgroup_id;                 /* cgroup v2 id of the thread */
	char leader_command[COMMAND_BYTES]; /* the thread group leader's comm, NUL-terminated or full */
	char thread_command[COMMAND_BYTES];
	u8 end;                        /* enum end_reason of the user stack */
	u8 flags;                      /* enum sample_flags */
	u16 range_count;
	u16 kernel_count;
	u16 user_words;
	/* stack bytes from resume.r[UNWIND_SP] - RED_ZONE_BYTES upwards; with SAMPLE_ASKS from the asked
	 * walk's */
	u32 raw_bytes;
	u8 origin;                     /* enum sample_origin */
	u8 weight_shift;               /* ORIGIN_OFF_CPU: at most MAX_WEIGHT_SHIFT */
	u8 probed_count;               /* only with SAMPLE_HAS_RAW */
	u8 more_flags;                 /* enum sample_flags, from bit SAMPLE_MORE_SHIFT on */
	struct unwind_registers resume; /* where the walk stopped; valid with SAMPLE_HAS_RAW */
	/* then: u64 kernel[kernel_count] (leaf first), u64 user[user_words] (leaf first),
	 * struct code_range[range_count], struct probed_return[probed_count] (innermost first),
	 * with SAMPLE_ASKS struct asked_walk, u8 raw[raw_bytes] (a multiple of 8), with
	 * SAMPLE_HAS_CONTEXT struct context_part and its labels. */
};
static_assert(MAX_PROBED_RETURNS <= 255, "probed_count is a byte");
/* The walk came to memory of no file and went on as if no runtime of kind STACK had made it. Where
 * one has, user space takes the walk up from here again. The raw bytes begin at this frame. */
struct asked_walk {
	struct unwind_registers regs; /* of that frame */
	u32 user_words;               /* up to that frame's word, which is one of them */
	u32 reserved;
};
static_assert(sizeof(struct asked_walk) % 8 == 0, "the raw bytes behind it are aligned");
/* A return address that a return probe has replaced on the stack by the kernel's trampoline. */
struct probed_return {
	/* where it was: on x86-64 its place, on arm64 the stack pointer at the function's entry */
	u64 at;
	u64 address; /* what it was */
};
static_assert(sizeof(struct sample_record) == 16 + 16 + 16 + 32 + 16 + sizeof(struct unwind_registers), "no hidden padding");

/* RECORD_WAIT_END: the thread whose stack was taken at `out_ns` runs again since header.time_ns.
 * `tid` and `out_ns` name the sample (its header's time). A wait of a thread that was not preempted
 * has two parts: blocked until `woken_ns`, then in the run queue. */
struct wait_end_record {
	struct record_header header;
	struct process_key process;
	u32 tid;
	u32 cpu;
	u64 out_ns;
	u64 woken_ns; /* 0: no wakeup was seen */
	/* all waits of the thread that began like this one, up to its end; 0: unknown */
	u64 waited_ns;
	u64 since_ns; /* that sum begins */
};
static_assert(sizeof(struct wait_end_record) == 72, "no hidden padding");

/* RECORD_WAITED: what a thread's waits were in sum. `out_ns` names the wait that is open, if one is
 * and its stack was taken: it is not in the sums. */
struct waited_record {
	struct record_header header;
	struct process_key process;
	u32 tid;
	u32 is_preempted; /* how the open wait began */
	u64 out_ns;       /* 0: none */
	u64 waited_ns[2]; /* of those that began blocked, preempted */
	u64 since_ns;     /* these sums begin; no two threads of a number have the same */
};
static_assert(sizeof(struct waited_record) == 72, "no hidden padding");

/* The names behind a process record: "a/b/c" as "c\0b\0a\0", because they are read from the file
 * upwards. A component is at most NAME_MAX bytes. */
#define EVENT_NAME_BYTES 4096
#define EVENT_COMPONENT_BYTES 256

enum process_flags {
	PROCESS_KERNEL_THREAD = 1,
	PROCESS_NAMES_CUT = 2,   /* a name was too long or unreadable: it lacks its outer part */
	PROCESS_SAME_CGROUP = 4, /* RECORD_FORK: in its parent's cgroup; no names follow */
};

/* RECORD_EXEC, RECORD_FORK, RECORD_EXIT, RECORD_EXISTING, RECORD_MOVED. A fork carries no
 * executable (it has its parent's), a move carries cgroups only, and an exit no names at all. */
struct process_record {
	struct record_header header;
	struct process_key process;
	struct process_key parent;    /* RECORD_FORK: the process that called fork; zero otherwise */
	struct file_key executable;   /* what /proc/PID/exe is; on overlayfs the overlay's own inode */
	char leader_command[COMMAND_BYTES];
	u16 path_bytes;               /* the executable's path, from the root of its mount namespace */
	u16 cgroup_bytes;             /* its cgroup v2 */
	u16 cgroup_v1_bytes;          /* the deepest of its v1 controllers' */
	u16 flags;                    /* enum process_flags */
	/* then: the names, in this order, and zeros up to a multiple of 8 */
};
static_assert(sizeof(struct process_record) == 88, "no hidden padding");

/* RECORD_MISS: the walk wanted a table page of `range`'s file that is not loaded. */
struct miss_record {
	struct record_header header;
	struct process_key process;
	u64 offset; /* file offset of the instruction that was looked up */
	struct code_range range;
};
static_assert(sizeof(struct miss_record) == 104, "no hidden padding");

/* RECORD_CODE: the memory that a runtime's code is named from, as it was when the code was sampled
 * for the first time. The object may be freed and its memory be another's by the time user space
 * looks. */
#define CODE_MAX_PIECES 24
#define CODE_PIECE_MAX_BYTES 1024
struct code_piece {
	u64 address; /* user address of its first byte */
	u32 bytes;   /* 0: could not be read. In the record it takes the next multiple of 8. */
	u32 reserved;
};
struct code_record {
	struct record_header header;
	struct process_key process;
	u64 code;   /* what identifies it: as in the frame's first word (RuntimeData::PlaceOf()) */
	u64 check;  /* as in its second */
	u32 piece_count;
	u32 reserved;
	struct code_piece pieces[CODE_MAX_PIECES];
	/* then: the pieces' bytes, in their order */
};
static_assert(sizeof(struct code_record) == 440, "no hidden padding");

/* RECORD_STACK: a piece of the stack above the stack slice of the sample with this time and thread,
 * which comes next from this CPU. Pieces follow one another without a gap, upwards. Pages that
 * could not be read are zeros. */
/* a constant, because room in the ring is reserved so: at most 32 KiB go to waste */
#define STACK_PIECE_BYTES 32768
#define STACK_MAX_PIECES 40
/* more is no stack, or one too deep */
#define STACK_MAX_BYTES (RAW_STACK_MAX_BYTES + STACK_MAX_PIECES * STACK_PIECE_BYTES)
struct stack_record {
	struct record_header header;
	struct process_key process;
	u32 tid;
	u32 cpu;
	u64 address;   /* of byte 0: a page's start */
	u32 bytes_used; /* the rest lies behind the stack's mapping; a multiple of 8 */
	u32 reserved;
	u8 bytes[STACK_PIECE_BYTES];
};
static_assert(sizeof(struct stack_record) == 56 + STACK_PIECE_BYTES, "no hidden padding");

#endif
