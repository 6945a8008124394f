/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The memory that one sample is made in. One struct serves the unwinder in BPF and on the host.
 *
 * BPF's stack has 512 bytes; so the record grows here, in place: kernel frames first, user words
 * behind them, then ranges and the stack slice. One ring write sends `record` and `body` as they
 * lie. */
#ifndef STACKRAY_BPF_SCRATCH_H
#define STACKRAY_BPF_SCRATCH_H

#include "bpf/branch_hints.h"
#include "bpf/shared/jit_rows.h"
#include "bpf/shared/records.h"
#include "bpf/shared/runtime.h"
#include "bpf/shared/unwind_table.h"

/* One read serves many frames. Of a compiler's stack, which is cold, 2 KiB measured best: a sample
 * costs 5 % less than with 512 bytes, and as much as with 4 KiB. On the host recordings hold all
 * that was read, so there it is less. */
#ifdef __bpf__
#define WINDOW_BYTES 2048
#else
#define WINDOW_BYTES 512
#endif

#define BODY_WORDS                                                                                 \
	(SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_WORDS +                                        \
	 SAMPLE_MAX_RANGES * sizeof(struct code_range) / 8 +                                       \
	 MAX_PROBED_RETURNS * sizeof(struct probed_return) / 8 + ASKED_WORDS +                     \
	 RAW_STACK_MAX_BYTES / 8 + CONTEXT_WORDS)
#define ASKED_WORDS (sizeof(struct asked_walk) / 8)

/* What is known of a range's tables; index as in `ranges`. */
enum range_state {
	RANGE_HAS_TABLE = 0,
	RANGE_NO_TABLE = 1,   /* the file has no unwind rules: frame pointers */
	RANGE_NOT_LOADED = 2, /* nobody has looked at this file yet */
};
struct range_table {
	u32 directory, first_page, page_count;
	u32 state; /* enum range_state */
};

/* Mappings of earlier samples (bpf/range_cache.h): of one address space on one CPU. */
#define RANGES_PER_SET 16
#define RANGE_SETS_PER_CPU 13
#define VMA_COPY_BYTES 192
struct cached_range {
	struct code_range range;
	struct range_table table;
	u64 vma, file, inode; /* kernel addresses, never followed without a check */
	u64 page;             /* vm_pgoff */
	u32 mm_seq;           /* the address space's count of changes when the VMA last said this */
	u32 reserved[3];
};
static_assert(sizeof(struct cached_range) == 128, "two cache lines");
struct range_set {
	u64 mm; /* 0: empty */
	u64 file_generation;
	struct process_key owner;
	u32 next;
	u32 used; /* bit i: the last sample was in entry i (bpf/prefetch.h) */
	/* Apart from the rest, so that a search reads four cache lines. */
	u64 start[RANGES_PER_SET];
	u32 pages[RANGES_PER_SET]; /* of 4 KiB; 0: unused */
	u64 padding[3];
	struct cached_range ranges[RANGES_PER_SET];
};
/* All executable mappings of the address space whose were listed last on this CPU
 * (bpf/range_list.h). */
#define RANGES_PER_LIST 64
struct range_list {
	u64 mm; /* 0: empty */
	u64 executable_pages; /* mm_struct.exec_vm then */
	u64 mappings;         /* mm_struct.map_count then */
	u64 file_generation;
	struct process_key owner;
	u64 padding;
	u32 count; /* RANGES_PER_LIST + 1: there are more */
	u32 has_writable_code;
	struct cached_range ranges[RANGES_PER_LIST];
};

/* Unwind codes found before (bpf/code_cache.h). */
#define CODE_BUCKETS_PER_CPU 232
#define CODES_PER_BUCKET 4
struct cached_code {
	u64 at_and_code; /* file offset << 16 | code; 0: empty */
	u32 directory;   /* of the file */
	u32 generation;  /* control.file_generation, its low half */
};
struct code_bucket {
	struct cached_code codes[CODES_PER_BUCKET]; /* the newest first */
};
static_assert(sizeof(struct code_bucket) == 64, "one cache line");

/* The codes of a CPU's last walks, in their order (bpf/code_trace.h). */
#define TRACES_PER_CPU 4
#define TRACE_FRAMES 128
struct traced_code {
	u64 at_and_code; /* file offset << 16 | code */
	u32 directory;   /* of the file */
	u32 sp;          /* the frame's rsp, its low half */
};
struct code_trace {
	u32 generation; /* control.file_generation at the last walk's start, its low half */
	u32 last;       /* which of the two is the last walk's; the other one is written next */
	u32 count[2];
	u64 padding[6];
	struct traced_code frames[2][TRACE_FRAMES];
};

/* What a CPU remembers from sample to sample, by kind. Each is one value of a map of its own, and
 * small enough (32 KiB with the map's head) for the kernel to take it from the memory that it maps
 * by large pages: larger maps lie in pages of 4 KiB, of which each costs a sample an entry of the
 * TLB. */
#define CACHE_LINE_BYTES 64
#define CPU_MEMORY_BYTES (32768 - 704)
struct cpu_ranges {
	struct range_set sets[RANGE_SETS_PER_CPU];
};
struct cpu_codes {
	struct code_bucket buckets[CODE_BUCKETS_PER_CPU];
	struct code_trace traces[TRACES_PER_CPU];
};
/* With room for one more line: the value of a map begins within one. */
#define CPU_RANGES_BYTES ((u32)sizeof(struct cpu_ranges) + CACHE_LINE_BYTES)
#define CPU_CODES_BYTES ((u32)sizeof(struct cpu_codes) + CACHE_LINE_BYTES)
static_assert(CPU_RANGES_BYTES <= CPU_MEMORY_BYTES && CPU_CODES_BYTES <= CPU_MEMORY_BYTES, "in large pages");

/* A runtime that a sample has met. */
#define MAX_RUNTIMES 4 /* of one stack; a power of two */
struct met_runtime {
	u16 runtime; /* its entry in runtime_files */
	u16 range;   /* a range of its file */
	u32 reserved;
	u64 sp;      /* of the frame that met it */
};

/* An interpreter's frames of one sample (bpf/runtime_walk.h, bpf/python.h). */
#define STAGED_WORDS 2304 /* 1,152 frames of one run */
#define RUNTIME_FRAME_BYTES 128 /* what is read of a frame, and of its code */
#define RUNTIME_CODE_BYTES 256
#define FRAME_PIECE_BYTES 1016 /* of a stack of frames that is read at once */
/* What was read of a code object in this sample (bpf/runtime_memory.h). */
#define CODE_COPIES_BITS 4
#define CODE_COPIES (1 << CODE_COPIES_BITS)
struct code_copy {
	u64 code;        /* its address; 0: none */
	u64 sample_ns;   /* of which sample: its time */
	u64 instruction; /* PHP: whose line is known; 0: none */
	u32 line, reserved;
	u8 bytes[RUNTIME_CODE_BYTES];
};
struct php_walk {
	/* the leaf's, from the registers of the loop; 0: it was not in the loop */
	u64 live_frame, live_instruction;
	/* of those between a running generator and the one that was asked */
	u64 generator, first_generator;
	u32 delegations;                  /* how many of them; 0: none at hand */
	u32 left;                         /* not staged yet */
	u32 first_word;                   /* of theirs */
	u32 is_counting;
	u32 is_other_stack;               /* the frame's native frames are not on the sampled stack */
};
struct perl_walk {
	u64 next_stack;           /* the context stack below the one that is walked; 0: none */
	u64 cop;                  /* the statement that the next frame is at */
	u64 window;               /* address of the contexts in runtime_walk.frames */
	u64 last_cop, last_file;  /* what the next four are of */
	u64 file;                 /* as in a frame's words */
	u32 file_check, line;
	u64 last_sub, last_owner; /* recursion */
	u32 window_bytes;
	/* enum run_place of the run whose outermost sub was staged; 0: none yet */
	u32 run_place;
};
#ifdef STACKRAY_ARM64
#define LUA_LIVE_REGISTERS 10
#else
#define LUA_LIVE_REGISTERS 5
#endif
struct lua_walk {
	u64 at;         /* the next word of the C stack that is looked at for a state */
	u64 global;     /* what all states of the interpreter share; 0: none was found yet */
	/* the leaf's registers that are kept over calls; 0: not known, or used */
	u64 live[LUA_LIVE_REGISTERS];
	u32 words_left; /* of the search at hand */
	u32 wanted;     /* enum lua_wanted */
	u32 searches;   /* steps of all of them */
};
struct runtime_walk {
	struct runtime_layout layout;
	u64 base;           /* where byte 0 of the file's text mapping would be */
	u64 thread_pointer; /* fs, tpidr_el0 */
	/* arm64: where the values of pthread keys were found for a thread before, that far below its
	 * pointer */
	u64 values_below;
	u64 thread_state;   /* what the runtime knows of the thread: CPython's PyThreadState */
	u64 frame;          /* to be staged next; 0: none */
	u64 owner;          /* whose frames these are: 3.11's _PyCFrame */
	u64 entry;          /* the marker on the C stack of the staged run; NO_ENTRY: not known, or none */
	u32 is_staging;     /* the run at hand is not complete */
	u32 is_cut;         /* a frame could not be read */
	u32 has_markers;    /* its runs end with markers on the C stack */
	u32 more_states;    /* Python: enum python_more */
	u64 first_state;    /* Python: the innermost of the thread's states */
	u32 word_count;
	u32 code_records;   /* BPF only: RECORD_CODEs that this sample has sent */
	struct php_walk php;
	struct perl_walk perl;
	struct lua_walk lua;
	/* Ruby: what the frame before has; its neighbour often has the same. */
	u64 last_object, method, method_check;
	u64 last_iseq, iseq_begin, iseq_check;
	u64 sent_iseq; /* whose names are to be sent; 0: a C function's */
	/* Ruby: pieces of the VM stack, whose two ends hold control frames and environments. */
	u64 stack_begin;
	u64 frames_at, environments_at; /* addresses of the pieces */
	u32 frames_bytes, environments_bytes; /* 0: none was read */
	u64 lone_frame;                 /* Python, PHP: the last frame that was read by itself */
	/* Perl: contexts; Python and PHP: frames, up to FRAME_PIECE_BYTES. What is behind that is never
	 *       read, only copied. */
	u8 frames[FRAME_PIECE_BYTES + 8 + RUNTIME_FRAME_BYTES];
	u8 environments[RUBY_WINDOW_BYTES];
	u8 frame_bytes[RUNTIME_FRAME_BYTES];
	u8 code_bytes[RUNTIME_CODE_BYTES];
	struct code_copy code_copies[CODE_COPIES]; /* Python, PHP */
	u64 words[STAGED_WORDS];
};

/* What the sampled thread works on (bpf/thread_context.h). */
struct context_walk {
	struct process_key process;
	struct process_contexts of_process; /* its row */
	u64 thread_pointer;
	u64 variable;     /* where the thread has its variable */
	u64 words[4];     /* of what is looked at */
	u64 entries;      /* address of the labels' descriptions; the next one */
	u32 count;        /* of labels that are left */
	u32 is_map;       /* Go's hash */
	u32 wants_labels; /* not ids alone */
	u32 met_targets;  /* bits of the labels that somebody wants, bpf/label_filter.h */
	u32 captures_of_target[MAX_LABEL_TARGETS];
	struct label_target label; /* keys of look-ups */
	struct label_name name;
	u64 bucket[34];   /* of it: 8 bytes of tops, 8 keys, 8 values (addresses and lengths) */
	u64 table, buckets; /* Node's hash: its address, its number of buckets */
	u32 part_bytes;   /* of what follows that the record takes along; 0: nothing */
	struct context_part part; /* and right behind it: */
	u8 labels[CONTEXT_LABEL_BYTES + CONTEXT_KEY_BYTES + CONTEXT_VALUE_BYTES + 1];
};

/* Where code that the process's runtime has made is called from; asked for once a sample, and only
 * for memory of no file. */
enum made_code_state {
	MADE_CODE_KNOWN = 1,
	/* BPF only: but whether there is a runtime of kind STACK; `asked` says where that was met */
	MADE_CODE_ASKS = 2,
};
struct made_code {
	u64 base; /* of the runtime's file, as runtime_walk.base */
	struct made_code_callers callers;
	u32 is_known, is_there; /* is_known: 0, or enum made_code_state */
	u32 has_stack_runtime; /* stack_walk.process is the process's */
	u32 reserved;
	struct asked_walk asked;
};

/* Where an earlier walk of this CPU found the code blob of a pc; `mark`: which one it was. */
#define HOTSPOT_PLACE_BITS 7
struct hotspot_place {
	u64 pc;
	u64 process_ns; /* when the process began: of others the pc means something else */
	u64 block;
	u64 mark;
};

/* Rows of JIT code (bpf/jit_rows.h), in one sample. */
struct jit_walk {
	struct jit_process process;
	struct range_table table;   /* of the region that the frame is in */
	struct file_key key;        /* of that region */
	u64 offset;                 /* of the frame, in there */
	u64 words[JIT_LIST_WORDS];  /* what the list says now */
	u32 state, reserved;        /* enum jit_state; 0: nobody has looked yet */
};

/* A runtime of kind STACK (bpf/hotspot.h), in one sample. */
#define HOTSPOT_BLOB_ROOM 512 /* a power of two, for the verifier */
struct stack_walk {
	struct stack_process process;
	u64 block;           /* of the code blob that the frame's pc is in */
	u64 blob_block;      /* whose bytes `blob` has, */
	u64 blob_ns;         /* as the sample of that time has read them */
	u64 method;          /* the last interpreted frame's, as the sample of method_ns has read it */
	u64 method_ns;
	u64 const_method, sizes;
	u64 stub_code;       /* of the frame at hand, where HotSpot's stub has rows (bpf/hotspot_stub.h) */
	u64 method_names[2]; /* where HotSpot has the names of compiled methods' blobs; 0: not met yet */
	u64 words[10];       /* of the frame */
	u64 code[13];        /* around its pc, or from there on */
	u8 blob[HOTSPOT_BLOB_ROOM];
	struct hotspot_place places[1 << HOTSPOT_PLACE_BITS];
};

/* State of loops whose step is a function of its own: such a function takes numbers only. */
struct thread_search {
	u64 list;  /* where the next of its list is: an interpreter of Python, a thread of Ruby */
	u64 state; /* looked at, or found */
	u64 found;
};
struct range_listing {
	u64 next; /* first address that has not been looked at; before 6.1 the VMA */
	u64 before; /* the VMA that was looked at last, or 0 */
	u32 index; /* of the CPU's range_list */
	u32 complete; /* all were looked at */
};
struct raw_copy {
	u64 begin; /* address of the slice's first byte */
	u32 at, wanted, done; /* at: word of the body that the slice begins at; the others bytes */
	u32 end;              /* of the last piece that could be read */
	u64 above, stack_end; /* what bpf/stack_pieces.h sends: from here to there */
};

/* A search for the return address of code without rules (bpf/native_x86_64.h). The walk goes on
 * with the first word that can be one; when that leads nowhere the search goes on behind it. */
struct stack_scan {
	u64 next, limit; /* addresses of the words that are left */
	u64 first;       /* of the first one that was tried */
	u64 sp, rbp;     /* of the code without rules */
	u32 word_count;  /* of the record, its frame included */
	u32 extra_words;
	u32 is_open;     /* there is something left to try */
	u32 has_record;  /* rbp leads to a frame record, which may be its caller's */
	u32 tries, reserved;
};

struct scratch {
	/* Walk state. */
	struct unwind_registers regs; /* of the frame that is looked at next */
	u64 window_base;              /* user address of window[0]; ~0 = nothing read */
	u64 task_mm;                  /* BPF only: the sampled task's mm_struct */
	/* BPF only: its count of changes; odd: unknown, or it is being changed */
	u32 mm_seq;
	u32 trace_last;               /* BPF only: which half the last walk wrote */
	/* BPF only: the last walk's next frame that may match, and its end */
	u32 trace_next, trace_end;
	u32 trace_count;              /* BPF only: frames written by this walk */
	/* BPF only: control.file_generation at the walk's start, its low half */
	u32 store_generation;
	/* BPF only: one walk in 256 looks everything up, so that used pages say so */
	u32 marks_pages;
	u64 host;                     /* of the host's walk: the address of its environment */
	u32 range_count;
	u32 current_range;            /* the frame's; range_count when unknown */
	u32 word_count;               /* words in body: kernel frames and user words */
	u32 first_user_word;
	u32 max_words;                /* of the user part */
	/* the one that is walked: its entry in runtime_files; 0: none was met */
	u32 runtime;
	u32 extra_words;              /* words of the user part beyond one a frame */
	u32 runtime_entered;          /* END_ENTERED_RUNTIME: one was met that the driver has not seen */
	u8 runtime_count;             /* that were met */
	u8 runtime_begun;             /* the first one's frames are being walked */
	/* whose frames are being walked; how many have all theirs in the record */
	u8 runtime_at, runtime_shipped;
	u8 step_taken;                /* BPF only: the frame that met a runtime was left already */
	/* the first one is walked along with the native frames */
	struct met_runtime runtimes[MAX_RUNTIMES];
	/* BPF only: the entry of the kernel's list that was used last (bpf/return_probe.h) */
	u64 return_instance;
	struct probed_return probed;  /* BPF only: of that entry */
	u32 is_thread_start;          /* BPF only: the leaf is a new thread's, which nobody has called */
	u32 wake_reader;              /* BPF only: a code object that was not seen before */
	u32 context_bytes;            /* BPF only: of the record's context, its last part */
	u32 end;                      /* enum end_reason; END_NONE while walking */
	u32 flags;                    /* enum sample_flags */
	/* word_count when a frame was left by a frame record whose frame pointer is 0; 0: none was */
	u32 null_record_words;
	u32 guessed_words;            /* word_count when a frame was last left by a guess; 0: none was */
	u32 code;                     /* of the look-up */
	u32 keys_below, keys_left;    /* inside the look-up */
	u32 miss;                     /* 1: this walk was the first to want a page: tell user space */
	u64 miss_offset;              /* file offset that was looked up */
	struct unwind_rule rule;      /* of the look-up, when the code names one */
	u64 go_sp, go_g;              /* bpf/go_stack.h: the other stack's pointer; the goroutine */
	struct stack_scan scan;       /* BPF only */
	u64 go_callback_sp;           /* where the last callback from C left that stack; 0: none was met */
	/* Result of a mapping walk (bpf/mapping.h). */
	u64 vma;                      /* struct vm_area_struct *, or 0: a hole */
	u64 vma_next;                 /* first address behind it */
	u64 leaf_end;                 /* first address behind the leaf of the tree that it was found in */
	u64 node[32];                 /* one maple node */
	struct code_range found;      /* details of the last VMA that was read */
	u32 found_executable, found_unsure;
	struct range_table found_table; /* what the row store has for it */
	u64 file_generation;          /* of the row store, when found_table was looked up */
	/* BPF only: CLOCK_MONOTONIC, when a walk that is bounded in time ends; 0: it is not bounded */
	u64 deadline_ns;
	u32 busy;                     /* BPF only: this slot is in use */
	u32 used_ranges;              /* BPF only: bit i: this sample is in entry i of its range set */
	u64 prefetched_mm;            /* BPF only: bpf/prefetch.h */
	struct thread_search search;  /* BPF only: bpf/python_thread.h, ruby_thread.h */
	struct range_listing listing; /* BPF only: bpf/raw_stack.h */
	struct raw_copy raw;          /* BPF only: the same */
	u8 window[WINDOW_BYTES];
	struct range_table tables[SAMPLE_MAX_RANGES];
	struct code_range ranges[SAMPLE_MAX_RANGES];
	struct made_code made_code;
	struct jit_walk jit;
	struct stack_walk stack;
	struct context_walk context; /* BPF only, but for the tests */
	struct runtime_walk run;
	struct code_record code_record; /* and right behind it: */
	u8 code_memory[8 * CODE_PIECE_MAX_BYTES];
	/* The record. */
	struct sample_record record;
	u64 body[BODY_WORDS];
};

#endif
