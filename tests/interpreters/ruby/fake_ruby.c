/* A library that looks like Ruby MAJOR.MINOR to the loader: the exported names, code that finds the
 * same things in the same ways, and an evaluation loop without a name of Ruby's. */
extern int rb_st_foreach(void *table, int (*each)(void), unsigned long argument);

const int ruby_api_version[3] = { MAJOR, MINOR, 0 };

struct thread {
	long pad[2];
	unsigned long self;
};
struct context {
	long pad[6];
	struct thread *thread;
};
#if MAJOR < 3
struct context *ruby_current_execution_context_ptr;
#define CURRENT ruby_current_execution_context_ptr
#else
static __thread struct context *current_context;
#define CURRENT current_context
void set_context(struct context *context)
{
	current_context = context;
}
#endif
unsigned long rb_thread_current(void)
{
	return CURRENT->thread->self;
}

struct space {
	long pad[2];
	struct {
		unsigned int mode : 2, immediate : 1, stopped : 1, whole : 1, during : 1;
	} flags;
};
struct machine {
	char pad[0x450];
	struct space *space;
};
struct machine *ruby_current_vm_ptr;
int rb_during_gc(void)
{
	return ruby_current_vm_ptr->space->flags.during;
}

static struct {
	unsigned int last;
	void *by_text, *by_number;
} symbols;
void set_symbols(void *table)
{
	symbols.by_text = symbols.by_number = table;
}
static int each_symbol(void)
{
	return 0;
}
int rb_sym_all_symbols(void)
{
	return rb_st_foreach(symbols.by_text, each_symbol, 7) + 1;
}

#define TEN(x, d) x(d##0) x(d##1) x(d##2) x(d##3) x(d##4) x(d##5) x(d##6) x(d##7) x(d##8) x(d##9)
#define ALL(x)                                                                                     \
	TEN(x, 10) TEN(x, 11) TEN(x, 12) TEN(x, 13) TEN(x, 14) TEN(x, 15) TEN(x, 16) TEN(x, 17)    \
	TEN(x, 18) TEN(x, 19) TEN(x, 20) TEN(x, 21) TEN(x, 22) TEN(x, 23) TEN(x, 24) TEN(x, 25)    \
	TEN(x, 26) TEN(x, 27) TEN(x, 28) TEN(x, 29)
#define ADDRESS(n) &&instruction_##n,
#define CODE(n)                                                                                    \
	instruction_##n : __asm__ volatile("nop /* %0 */" : : "i"(n));                                 \
	goto *table[*pc++];

__attribute__((noinline)) static const void *const *loop_without_a_name(const unsigned char *pc)
{
	static const void *const table[] = { ALL(ADDRESS) };

	if (!pc)
		return table;
	goto *table[*pc++];
	ALL(CODE)
	return 0;
}

const void *const *addresses_of_instructions(void)
{
	return loop_without_a_name(0);
}

__attribute__((noinline)) unsigned long enter_the_loop(const unsigned char *pc, volatile unsigned long *spare)
{
	unsigned long i, sum = 0;

	for (i = 0; i < 8; i++)
		sum += spare[i] * (i + 3) ^ spare[i + 1];
	sum += (unsigned long)loop_without_a_name(pc + sum);
	for (i = 0; i < 8; i++)
		spare[i] = sum >> i;
	return sum;
}
