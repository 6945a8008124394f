/* A library with the symbols that Perl exports and nothing else behind them. VERSION: its version
 * as a text. THREADS: a build with threads. */
const char *own_version(void)
{
	return VERSION;
}
const char *older_version(void)
{
	return "v5.10.0 is a word of a message";
}
#ifdef THREADS
int PL_thr_key;
#else
void *PL_curstackinfo, *PL_curcop, *PL_op, *PL_stack_sp;
#endif
__attribute__((noinline)) int Perl_runops_standard(int n)
{
	return n * 3 + 1;
}
__attribute__((noinline)) int Perl_runops_debug(int n)
{
	return n * 5 + 2;
}
__attribute__((noinline)) int Perl_pp_entertry(int n)
{
	return n * 7 + 3;
}
__attribute__((noinline)) int perl_run(int n)
{
	return Perl_runops_standard(n) + 11;
}
