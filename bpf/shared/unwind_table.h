/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Unwind rows as BPF reads them: 16 KiB of a file's text are one page, one page is one blob.
 *
 * Why this shape: 3 bytes a row (u8 key, u16 code) and an index entry per 256 bytes of text turn a
 * look-up into two cache lines and a compare of 8 keys at once. docs/unwinding.md has the
 * measurements.
 *
 * A row is a key and a code: from text byte `block * 256 + key` of the page on, `code` holds. A
 * block is 256 bytes of text, so a page has 64.
 *
 * Blob (little endian, 8-byte aligned, `size_bytes` a multiple of 16):
 *
 *   at 0             struct page_header     start[b]: how many rows the blocks before b have
 *   at 144           block 0                u8 key[k], ascending strictly, then u16 code[k]
 *                    block 1                likewise
 *                    …
 *                    block 63
 *                    padding to 8
 *   at rules_offset  struct unwind_rule[rule_count]
 *
 * Block b has k = start[b + 1] - start[b] rows and begins at 144 + 3 * start[b]. A block without
 * rows takes no bytes. Codes may be unaligned.
 *
 * A page with rows A at text byte 0x010, B at 0x0f0 and C at 0x220 has start[] = 0, 2, 2, 3, 3, …
 *
 *   at 144   10 f0 AA AA BB BB    block 0: two keys, two codes
 *   at 150   20 CC CC             block 2: one key, one code; block 1 takes no bytes
 *
 * The code of a text byte is that of the last row at or before it:
 *   1. In its block: the code of the last key ≤ the byte's low 8 bits. 0x0f8 has B.
 *   2. No such key: the last code of an earlier block, the two bytes before this block's. 0x150 and
 *      0x210 have B.
 *   3. No earlier row in the page (start[b] is 0): page_header.sentinel. 0x005 has it. */
#ifndef STACKRAY_BPF_SHARED_UNWIND_TABLE_H
#define STACKRAY_BPF_SHARED_UNWIND_TABLE_H

#include "bpf/shared/records.h"
#include "bpf/shared/types.h"

#define PAGE_TEXT_SHIFT 14
#define PAGE_TEXT_BYTES (1u << PAGE_TEXT_SHIFT)
#define BLOCK_TEXT_SHIFT 8
#define PAGE_BLOCKS (PAGE_TEXT_BYTES >> BLOCK_TEXT_SHIFT) /* 64 */
#define ROW_BYTES 3

struct page_header {
	u16 start[PAGE_BLOCKS + 1]; /* rows before block b; start[64] = all rows of the page */
	u16 sentinel;               /* code in force at the page's first byte */
	u16 rule_count;
	u16 reserved;               /* zero */
	u32 rules_offset;           /* from the blob's start; multiple of 8 */
	u32 size_bytes;             /* of the whole blob */
};
static_assert(sizeof(struct page_header) == 144, "rows start at 144");

/* Code: bits 13-15 base. On x86-64:
 *   base 0 (CFA from rsp), 1 (CFA from rbp): bits 0-8 CFA offset / 8; bits 9-12 n: rbp is saved at
 *     CFA - 8n, n = 0 means that rbp is unchanged. The return address is at CFA - 8.
 *   base 2: bits 0-12 index into the blob's rules.
 *   base 3: a frame of more than 4 KiB: CFA from rsp, bits 0-12 CFA offset / 8; rbp is saved at CFA
 *     - 16, where it is pushed first.
 *   base 4: as base 3, with rbp unchanged.
 *   base 7: bits 0-12 enum special_code. Others are invalid (END_BAD_TABLE).
 * On arm64, where a frame is a multiple of 16 bytes and x29 and x30 are saved side by side, as a
 *   frame record: base 0 (CFA from sp), 1 (CFA from x29): bits 0-8 CFA offset / 16; bits 9-12 where
 *     the record is: 0 nowhere (x29 is unchanged, the return address is in x30), 1 at the CFA's
 *     base, n at CFA - 16 (n - 1).
 *   base 3: CFA from sp, x29 is unchanged, x30 alone is saved: bits 0-8 CFA offset / 16; bits 9-12
 *     n: at CFA - 8 (n + 1).
 *   base 4, of Go's frames: CFA from sp, the return address is at sp: bits 0-8 CFA offset / 16; bit
 *     9: x29 is saved at sp - 8 (else it is unchanged).
 *   base 2 and 7: as on x86-64. */
#define CODE_BASE_SHIFT 13
#define CODE_BASE_RSP 0
#define CODE_BASE_RBP 1
#define CODE_BASE_RULE 2
#define CODE_BASE_LARGE 3
#define CODE_BASE_LARGE_SAME_RBP 4
#define CODE_BASE_SPECIAL 7
#define CODE_CFA_MASK 0x1ff
#define CODE_RBP_SHIFT 9
#define CODE_RBP_MASK 0xf
#define ARM64_BASE_SP 0
#define ARM64_BASE_FP 1
#define ARM64_BASE_LR_ALONE 3
#define ARM64_BASE_GO 4
#define ARM64_CFA_UNIT 16
#define ARM64_SAVED_SHIFT 9
#define ARM64_SAVED_MASK 0xf
#define ARM64_SAVED_NOWHERE 0
#define ARM64_SAVED_AT_BASE 1
#define CODE_INDEX_MASK 0x1fff
#define CODE_LARGE_CFA_MASK 0x1fff
#define PAGE_MAX_RULES 8192

enum special_code {
	SPECIAL_NONE = 0,   /* no rules for this byte: frame pointers may work */
	SPECIAL_END = 1,    /* return address undefined: the outermost frame */
	/* Linux rt_sigreturn trampoline: the kernel's frame lies at the stack pointer */
	SPECIAL_SIGNAL = 2,
	SPECIAL_PLT = 3,    /* CFA = rsp + 8 + (((pc & 15) >= 11) << 3), as linkers write for .plt */
	SPECIAL_UNSUPPORTED = 4, /* rules exist and cannot be expressed here: END_UNSUPPORTED_RULE */
	/* The byte before a function's first one, where no call ends: nobody called from there, so a stack
	 * that returns to it was made by hand. */
	SPECIAL_START = 5,
	/* The return address of a frame that is a runtime's (of kind STACK) though the code is in its
	 * file. Where no runtime takes it: a frame pointer. */
	SPECIAL_RUNTIME = 6,
};
#define CODE_SPECIAL(s) ((u16)((CODE_BASE_SPECIAL << CODE_BASE_SHIFT) | (s)))

/* The rules that do not fit 16 bits (about one row in 800). Register numbers are DWARF's. On arm64
 * rbp stands for x29, a return address still in x30 is VALUE_REGISTER 30, and rbx stands for x30,
 * as the caller has it (Go's alone): VALUE_REGISTER is that of the register rbx_offset. */
enum cfa_kind {
	CFA_REGISTER = 0, /* r[cfa_register] + cfa_offset */
	CFA_DEREF = 1,    /* *(r[cfa_register] + cfa_offset + 8 * the register of cfa_index) + cfa_add */
	CFA_OTHER_STACK = 2, /* as CFA_REGISTER, on another stack: it need not lie above this frame */
	/* Go's changes of stacks (bpf/go_stack.h), on arm64 the first of them alone: the other stack's
	 * pointer + cfa_offset. */
	/* g.m->curg->sched.sp. cfa_add: of curg in m. g's place: enum go_thread_kind */
	CFA_GO_GOROUTINE = 3,
	/* g.m->g0->sched.sp, or what the last such frame has saved there. g's place: enum
	 * go_thread_kind */
	CFA_GO_CALLBACK = 4,
	/* *(rsp + rbx_offset)'s stack.hi - *(rsp + cfa_add); the latter alone where the former is 0 */
	CFA_GO_CALL = 5,
	/* r12, which the called C code keeps; the goroutine's stack has to hold it. cfa_add, g's place: as
	 * kind 3 */
	CFA_GO_KEPT = 6,
};
/* Where a thread's g is, of kinds 3, 4 and 6: cfa_register. */
enum go_thread_kind {
	GO_THREAD_FIXED = 0, /* at the thread pointer + rbx_offset */
	/* at the thread pointer + *(where the mapped file's byte rbx_offset would be) */
	GO_THREAD_SLOT = 1,
	GO_THREAD_REGISTER = 2, /* in x28 (arm64) */
};
enum value_kind {
	VALUE_SAME = 0,     /* unchanged */
	VALUE_AT_CFA = 1,   /* *(CFA + offset) */
	VALUE_REGISTER = 2, /* r[reg] */
	VALUE_AT_REGISTER = 3, /* *(r[reg] + offset) */
	VALUE_UNDEFINED = 4, /* for the return address: the outermost frame */
	VALUE_AT_GO = 5,     /* *(CFA_GO_GOROUTINE's goroutine + offset) */
};
/* Of a return address that is a function's first byte: the call that ends the function before it.
 * Where the callee's frame is not in what that call leads to, the address was put on the stack by
 * hand, and the stack ends. x86-64. docs/unwinding.md has the order of the tests. */
enum last_call_kind {
	LAST_CALL_NONE = 0,
	LAST_CALL_DIRECT = 1,  /* to the return address + cfa_add, a function of rbx_offset bytes */
	/* to what the word at the return address + cfa_add says (a stub's, or the call's own) */
	LAST_CALL_POINTER = 2,
};
struct unwind_rule {
	u8 cfa_kind;     /* enum cfa_kind */
	u8 cfa_register;
	u8 rbp_kind;     /* enum value_kind */
	u8 rbp_register;
	u8 ra_kind;      /* enum value_kind, not VALUE_SAME */
	u8 ra_register;
	u8 signal_frame; /* 1: the caller's pc is exact ('S' augmentation) */
	/* VALUE_SAME (unknown above this frame), VALUE_REGISTER (unchanged) or VALUE_AT_CFA */
	u8 rbx_kind;
	s32 cfa_offset;
	s32 cfa_add;
	s32 rbp_offset;
	s32 ra_offset;
	s32 rbx_offset;
	u8 guessed;      /* 1: from instructions, no compiler says so (SAMPLE_GUESSED) */
	/* of CFA_DEREF: a register's number + 1 (OpenSSL's bn_mul_mont has rsp saved above a number of
	 * words), 0: none */
	u8 cfa_index;
	/* x86-64: rbx_kind and rbx_offset are of r12, which Go's race detector is called with */
	u8 keeps_r12;
	u8 last_call;    /* enum last_call_kind */
};
static_assert(sizeof(struct unwind_rule) == 32, "no hidden padding");

/* Where blobs live. Chunks are 1 MiB (plus 8 bytes, so that 8-byte loads may start at the last
 * byte). A blob or directory never reaches into a chunk's last 256 bytes.
 * Handle: bits 16-23 chunk index, bits 0-15 offset / 16 within it. 0: none, as chunk 0 starts with
 * 32 reserved bytes.
 * Directory entry: a page's handle, and in the top byte what BPF says of it. BPF stores that byte
 * alone, so it never undoes what user space writes into the handle, and needs no
 * compare-and-exchange: Linux 5.10 has none. A mark that comes too late says something of no page,
 * or of the next one; both are harmless. */
#define CHUNK_BYTES (1u << 20)
#define CHUNK_MAP_BYTES (CHUNK_BYTES + 8)
#define MAX_CHUNKS 256
#define HANDLE_CHUNK_SHIFT 16
#define HANDLE_CHUNK_MASK 0xff
#define HANDLE_OFFSET_MASK 0xffff
#define HANDLE_UNIT 16
#define HANDLE_MASK 0xffffffu
#define ENTRY_ABSENT 0u
#define ENTRY_USED 0x80000000u      /* since the last sweep */
#define ENTRY_REQUESTED 0x40000000u /* a walk wants the page and has said so */
#define ENTRY_MARKS_BYTE 3
#define ENTRY_MARKS_SHIFT 24
static_assert(MAX_CHUNKS - 1 <= HANDLE_CHUNK_MASK, "a handle has room for every chunk");

/* Value of the BPF hash "files", by struct file_key. Written by user space only. The directory is a
 * u32 for each page, inside one chunk. Entry i is page first_page + i, by file offset >>
 * PAGE_TEXT_SHIFT. */
struct file_entry {
	u64 file_size_bytes; /* guard: differs from the VMA's file → unknown file */
	s64 file_mtime_s;
	u32 file_mtime_ns;
	u32 directory;       /* handle of the directory's first entry; 0 = the file has no tables */
	u32 first_page;
	u32 page_count;      /* 0: no unwind tables in this file, use frame pointers */
	u32 runtime;         /* the interpreter in this file (bpf/shared/runtime.h); 0: none */
	u32 reserved;        /* zero */
};
static_assert(sizeof(struct file_entry) == 40, "no hidden padding");

/* The key under which the vDSO's tables are kept. */
#define VDSO_INODE (~0ULL)

#endif
