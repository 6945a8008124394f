/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Every runtime, a line each, the newest last: constants, layouts, walks and frame types are made
 * from this table.
 *
 *   number   of enum runtime_kind; frames of FrameType have it + 2. Never changed.
 *   NAME     RUNTIME_NAME; in C++ kName is given apart
 *   name     struct name_layout, and two functions of bpf/runtime_walk.h: enter_ and stage_, each
 *            with the name behind it
 *   Camel    FrameType::kCamel
 *   type     profile.frame.type (OpenTelemetry's semantic conventions)
 *
 * CHAIN: the runtime keeps its frames in a list beside the C stack; BPF finds the list by the
 * thread, and puts runs of its frames between native ones. Its layout is one of struct
 * runtime_layout.
 * STACK: the runtime has its frames on the C stack itself, from code in memory of no file, or from
 * code of its file that SPECIAL_RUNTIME (bpf/shared/unwind_table.h) hands to it. User
 * space says which processes have one (the runtime's struct …_process); BPF leaves frame after
 * frame as it comes to them. */
#ifndef STACKRAY_BPF_SHARED_RUNTIMES_H
#define STACKRAY_BPF_SHARED_RUNTIMES_H

#include "bpf/shared/types.h"

#define FOR_EACH_CHAIN_RUNTIME(LINE)           \
	LINE(1, PYTHON, python, Python, "cpython") \
	LINE(2, RUBY, ruby, Ruby, "ruby")          \
	LINE(3, PHP, php, Php, "php")              \
	LINE(4, PERL, perl, Perl, "perl")          \
	LINE(5, LUA, lua, Lua, "lua")

#define FOR_EACH_STACK_RUNTIME(LINE)              \
	LINE(6, HOTSPOT, hotspot, HotSpot, "jvm") \
	LINE(7, V8, v8, V8, "v8js")

#define FOR_EACH_RUNTIME(LINE) FOR_EACH_CHAIN_RUNTIME(LINE) FOR_EACH_STACK_RUNTIME(LINE)

#define RUNTIME_ENUMERATOR(number, NAME, ...) RUNTIME_##NAME = number,
enum runtime_kind {
	RUNTIME_NONE = 0, /* also: recognised, but this version's frames are not known */
	FOR_EACH_RUNTIME(RUNTIME_ENUMERATOR)
	RUNTIME_KINDS /* one more than the newest */
};

/* One that is newer and not last would be no runtime to arrays and loops of RUNTIME_KINDS. */
#define RUNTIME_COUNTED(...) +1
static_assert(FOR_EACH_RUNTIME(RUNTIME_COUNTED) + 1 == RUNTIME_KINDS, "the newest is last");

#endif
