/* A library that looks like a HotSpot JVM: its tables, a code heap with an interpreter, a compiled
 * method with an inlined one, and a stub, and the structures that name them.
 * JDK: 17 or 25, whose shapes the tables have. BROKEN: a table that does not end. EARLY: the
 * constructors have not run yet. */
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;

#define EXCLUDED (JDK >= 20) /* of UNSIGNED5 */
#define NUMBER(n) ((n) + EXCLUDED)

int JNI_CreateJavaVM(void)
{
	return 0;
}

struct symbol {
	u32 hash;
	u16 length;
	u8 body[58];
};
#define SYMBOL(name, text) struct symbol name = { 7, sizeof(text) - 1, text }
/* On pages of their own, so that they are read one after the other. */
#define ON_OWN_PAGE __attribute__((aligned(4096)))
ON_OWN_PAGE SYMBOL(class_symbol, "demo/Shapes");
ON_OWN_PAGE SYMBOL(outer_symbol, "outer");
SYMBOL(inner_symbol, "inner");
ON_OWN_PAGE SYMBOL(signature_symbol, "(I)V");
ON_OWN_PAGE SYMBOL(file_symbol, "Shapes.java");

struct klass {
	u64 other[3];
	struct symbol *name;
	struct pool *pool;
};
extern struct klass holder;

struct pool {
	u64 other;
	struct klass *holder;
	u16 length, source_file;
	void *entries[8];
} pool = { 0, &holder, 8, 4, { 0, &outer_symbol, (char *)&inner_symbol + 1, &signature_symbol,
                               &file_symbol } };
struct klass holder = { { 1, 2, 3 }, &class_symbol, &pool };

struct const_method {
	u64 fingerprint;
	struct pool *pool;
	u32 words, flags;
	u16 code_size, name, signature, number;
	u8 code[8];
	u8 lines[8];
};
struct const_method outer_const = {
	1, &pool, sizeof(struct const_method) / 8, 1, 8, 1, 3, 0, { 0 },
	{ 0xff, NUMBER(0), NUMBER(20), 5 << 3 | 2, 0 }, /* line 10, from bytecode 5 on 12 */
};
struct const_method inner_const = {
	2, &pool, sizeof(struct const_method) / 8, 1, 8, 2, 3, 1, { 0 },
	{ 0xff, NUMBER(0), NUMBER(40), 2 << 3 | 1, 0 }, /* line 20, from bytecode 2 on 21 */
};

struct method {
	u64 table;
	struct const_method *constant;
} outer_method = { 0, &outer_const }, inner_method = { 0, &inner_const };

struct pc_desc {
	int place, scope, object, flags;
};

/* A block's header, a code blob, and the fields of a compiled method, in one; offsets count from
 * `name`. */
struct blob {
	u64 length;
	u8 used, pad[7];
	const char *name;
	int size, frame_size;
	void *code_begin_pointer, *scopes_pointer, *deopt_pointer;
	int code_begin, deopt, original_pc, compile_id;
	struct method *method;
	int complete, scopes_pcs, pcs_end, scopes_data, immutable_bytes, relocation, metadata_at;
	void *immutable, *mutable;
	u8 kind, pad_to_debug[71];
	/* Debug information, from the nmethod's begin at a fixed distance. */
	struct pc_desc descs[4];
	u8 scopes[16];
	struct method *metadata[2];
	u8 code[256];
};
#define BLOB_OFFSET(field) (offsetof(struct blob, field) - offsetof(struct blob, name))
#define AT(field) ((int)BLOB_OFFSET(field))

#define SEGMENT_SHIFT 7
#define HEAP_BYTES 8192
struct heap_memory {
	struct blob interpreter; /* segment 0 on */
	u8 pad_0[1024 - sizeof(struct blob)];
	struct blob compiled;
	u8 pad_1[1024 - sizeof(struct blob)];
	struct blob stub;
	u8 pad_2[1024 - sizeof(struct blob)];
	struct blob freed;
	u8 rest[HEAP_BYTES - 3072 - sizeof(struct blob)];
};
_Static_assert(sizeof(struct blob) <= 1024, "a blob has 8 segments");

__attribute__((aligned(4096))) struct heap_memory code_heap = {
	.interpreter = { .used = 1, .name = "Interpreter", .kind = 2, .size = 900 },
	.compiled = {
		.used = 1,
		.name = "nmethod",
		.kind = 1,
		.size = 900,
		.frame_size = 6,
		.code_begin_pointer = code_heap.compiled.code,
		.scopes_pointer = code_heap.compiled.scopes,
		.deopt_pointer = code_heap.compiled.code + 0xf0,
		.code_begin = AT(code),
		.deopt = AT(code) + 0xf0,
		.original_pc = 16,
		.compile_id = 77,
		.method = &outer_method,
		.complete = 12,
		/* JDK 17 counts from the nmethod, 25 from a block of memory of its own. */
		.scopes_pcs = JDK == 17 ? AT(descs) : 0,
		.pcs_end = AT(scopes),
		.scopes_data = AT(scopes) - AT(descs),
		.immutable_bytes = AT(metadata) - AT(descs),
		.metadata_at = AT(metadata),
		.relocation = 8,
		.immutable = code_heap.compiled.descs,
		.mutable = (u8 *)code_heap.compiled.metadata - 8,
		.scopes = { 0,
			    NUMBER(0), NUMBER(1), NUMBER(6), /* at 1: outer, bytecode 5 */
			    NUMBER(1), NUMBER(2), NUMBER(3), /* at 4: inner, bytecode 2, in the one at 1 */
			    NUMBER(9), NUMBER(2), NUMBER(3) }, /* at 7: its sender lies behind it */
		.descs = { { -1, 0 }, { 0x20, 1 }, { 0x30, 4 }, { 0x101, 7 } },
		.metadata = { &outer_method, &inner_method },
		.code = { [0x00] = 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, /* mov %eax, -n(%rsp) */
			  [0x07] = 0x55,                                     /* push %rbp */
			  [0x08] = 0x48, 0x83, 0xec, 0x20,                   /* sub $32, %rsp */
			  [0x0c] = 0x90,
			  [0x40] = 0x48, 0x83, 0xc4, 0x20,                   /* add $32, %rsp */
			  [0x44] = 0x5d,                                     /* pop %rbp */
			  [0x45] = 0x49, 0x3b, 0xa7, 0x50, 0x04, 0, 0,       /* cmp n(%r15), %rsp */
			  [0x4c] = 0x0f, 0x87, 0, 1, 0, 0,                   /* ja */
			  [0x52] = 0xc3,
			  [0x80] = 0x90, 0x48, 0x83, 0xc4, 0x10, 0xe9,       /* a barrier's stub */
			  [0xa0] = 0x5e, 0x41, 0x5f, 0x90 },                 /* pop %rsi, pop %r15 */
	},
	.stub = { .used = 1, .name = "vtable chunks", .kind = 4, .size = 900 },
	.freed = { .used = 0, .name = "nmethod", .kind = 1, .size = 900 },
};

u8 segment_map[HEAP_BYTES >> SEGMENT_SHIFT] = {
	0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

struct space {
	void *low_boundary, *high_boundary, *low;
};
struct code_heap {
	struct space memory, map;
	int shift;
} the_heap = {
	{ &code_heap, (u8 *)&code_heap + HEAP_BYTES, &code_heap },
	{ segment_map, segment_map + sizeof(segment_map), segment_map },
	SEGMENT_SHIFT,
};
struct code_heap *heap_list[1] = { &the_heap };
struct list {
	int length;
	void *data;
} heaps = { 1, heap_list };
struct list *heaps_variable = &heaps;

struct queue {
	void *buffer;
	int bytes;
} queue = { code_heap.interpreter.code, 128 };
struct queue *interpreter_variable = &queue;
void *call_return_variable = code_heap.stub.code + 0x10;
int major_version = JDK;

struct struct_entry {
	const char *type, *field, *text;
	int is_static;
	u64 offset;
	void *address;
};
#define FIELD(type, field, text, offset) { type, field, text, 0, offset, 0 },
#define STATIC(type, field, variable) { type, field, "address", 1, 0, variable },
struct struct_entry structs[] = {
	STATIC("CodeCache", "_heaps", &heaps_variable)
	STATIC("AbstractInterpreter", "_code", &interpreter_variable)
	STATIC("StubRoutines", "_call_stub_return_address", &call_return_variable)
	STATIC("Abstract_VM_Version", "_vm_major_version", &major_version)
	FIELD("GrowableArrayBase", "_len", "int", offsetof(struct list, length))
	FIELD("GrowableArray<int>", "_data", "int*", offsetof(struct list, data))
	FIELD("CodeHeap", "_memory", "VirtualSpace", offsetof(struct code_heap, memory))
	FIELD("CodeHeap", "_segmap", "VirtualSpace", offsetof(struct code_heap, map))
	FIELD("CodeHeap", "_log2_segment_size", "int", offsetof(struct code_heap, shift))
	FIELD("VirtualSpace", "_low_boundary", "char*", offsetof(struct space, low_boundary))
	FIELD("VirtualSpace", "_high_boundary", "char*", offsetof(struct space, high_boundary))
	FIELD("VirtualSpace", "_low", "char*", offsetof(struct space, low))
	FIELD("HeapBlock::Header", "_used", "bool", offsetof(struct blob, used))
	FIELD("CodeBlob", "_name", "const char*", AT(name))
	FIELD("CodeBlob", "_size", "int", AT(size))
	FIELD("CodeBlob", "_frame_size", "int", AT(frame_size))
	FIELD("nmethod", "_compile_id", "int", AT(compile_id))
	FIELD("nmethod", "_orig_pc_offset", "int", AT(original_pc))
	FIELD("nmethod", "_scopes_pcs_offset", "int", AT(scopes_pcs))
#if JDK == 17
	FIELD("CodeBlob", "_frame_complete_offset", "int", AT(complete))
	FIELD("CodeBlob", "_code_begin", "address", AT(code_begin_pointer))
	FIELD("CompiledMethod", "_method", "Method*", AT(method))
	FIELD("CompiledMethod", "_scopes_data_begin", "address", AT(scopes_pointer))
	FIELD("CompiledMethod", "_deopt_handler_begin", "address", AT(deopt_pointer))
	FIELD("nmethod", "_metadata_offset", "int", AT(metadata_at))
	FIELD("nmethod", "_dependencies_offset", "int", AT(pcs_end))
	FIELD("ConstMethod", "_flags", "u2", offsetof(struct const_method, flags))
#else
	FIELD("CodeBlob", "_kind", "CodeBlobKind", AT(kind))
	FIELD("CodeBlob", "_frame_complete_offset", "int16_t", AT(complete))
	FIELD("CodeBlob", "_code_offset", "int", AT(code_begin))
	FIELD("CodeBlob", "_mutable_data", "address", AT(mutable))
	FIELD("CodeBlob", "_relocation_size", "int", AT(relocation))
	FIELD("nmethod", "_method", "Method*", AT(method))
	FIELD("nmethod", "_deopt_handler_offset", "int", AT(deopt))
	FIELD("nmethod", "_immutable_data", "address", AT(immutable))
	FIELD("nmethod", "_immutable_data_size", "int", AT(immutable_bytes))
	FIELD("nmethod", "_scopes_data_offset", "int", AT(scopes_data))
	FIELD("ConstMethod", "_flags._flags", "u4", offsetof(struct const_method, flags))
#endif
	FIELD("StubQueue", "_stub_buffer", "address", offsetof(struct queue, buffer))
	FIELD("StubQueue", "_buffer_limit", "int", offsetof(struct queue, bytes))
	/* 17: as in JDK 8 and 11, where the size comes first. */
	FIELD("InterpreterCodelet", "_description", "const char*", JDK == 17 ? 8 : 0)
	FIELD("Method", "_constMethod", "ConstMethod*", offsetof(struct method, constant))
	FIELD("ConstMethod", "_constants", "ConstantPool*", offsetof(struct const_method, pool))
	FIELD("ConstMethod", "_constMethod_size", "int", offsetof(struct const_method, words))
	FIELD("ConstMethod", "_code_size", "u2", offsetof(struct const_method, code_size))
	FIELD("ConstMethod", "_name_index", "u2", offsetof(struct const_method, name))
	FIELD("ConstMethod", "_signature_index", "u2", offsetof(struct const_method, signature))
	FIELD("ConstantPool", "_pool_holder", "InstanceKlass*", offsetof(struct pool, holder))
	FIELD("ConstantPool", "_source_file_name_index", "u2", offsetof(struct pool, source_file))
	FIELD("Klass", "_name", "Symbol*", offsetof(struct klass, name))
	FIELD("InstanceKlass", "_constants", "ConstantPool*", offsetof(struct klass, pool))
	FIELD("Symbol", "_hash_and_refcount", "unsigned int", offsetof(struct symbol, hash))
	FIELD("Symbol", "_length", "u2", offsetof(struct symbol, length))
	FIELD("Symbol", "_body[0]", "u1", offsetof(struct symbol, body))
	{ 0 },
};
#ifdef BROKEN
struct struct_entry endless[5000] = { [0 ... 4999] = { "CodeBlob", "_size", "int" } };
#endif

struct type_entry {
	const char *name, *super;
	int flags[4];
	u64 size;
} types[] = {
	{ "ConstMethod", 0, { 0 }, offsetof(struct const_method, code) },
	{ "ConstantPool", 0, { 0 }, offsetof(struct pool, entries) },
	{ "HeapBlock", 0, { 0 }, offsetof(struct blob, name) },
	{ 0 },
};
struct int_entry {
	const char *name;
	int value;
} ints[] = { { "CodeBlobKind::Nmethod", 1 }, { 0 } };

#ifdef BROKEN
struct struct_entry *gHotSpotVMStructs = endless;
#else
struct struct_entry *gHotSpotVMStructs = structs;
#endif
struct type_entry *gHotSpotVMTypes = types;
struct int_entry *gHotSpotVMIntConstants = ints;
#ifdef EARLY
#define STRIDE(type) 0
#else
#define STRIDE(type) sizeof(type)
#endif
u64 gHotSpotVMStructEntryArrayStride = STRIDE(struct struct_entry);
u64 gHotSpotVMTypeEntryArrayStride = STRIDE(struct type_entry);
u64 gHotSpotVMIntConstantEntryArrayStride = STRIDE(struct int_entry);
