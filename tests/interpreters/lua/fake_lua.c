/* A library with the symbols that Lua exports, and an evaluation loop whose instructions' addresses
 * are in a table. VERSION: its version as a text. */
const char lua_ident[] = "$LuaVersion: Lua " VERSION "  Copyright (C) nobody $";

int lua_newstate(int n)
{
	return n + 3;
}

#define TEN(x, d) x(d##0) x(d##1) x(d##2) x(d##3) x(d##4) x(d##5) x(d##6) x(d##7) x(d##8) x(d##9)
#define ALL(x)                                                                                     \
	TEN(x, 10) TEN(x, 11) TEN(x, 12) TEN(x, 13) TEN(x, 14) TEN(x, 15) TEN(x, 16) TEN(x, 17)    \
	TEN(x, 18)
#define ADDRESS(n) &&instruction_##n,
#define CODE(n)                                                                                    \
	instruction_##n : __asm__ volatile("nop /* %0 */" : : "i"(n));                                 \
	goto *table[*pc++];

__attribute__((noinline)) static int LOOP(const unsigned char *pc)
{
	static const void *const table[] = { ALL(ADDRESS) };

	goto *table[*pc++];
	ALL(CODE)
	return 0;
}

int lua_callk(const unsigned char *pc)
{
	return LOOP(pc) + 1;
}
