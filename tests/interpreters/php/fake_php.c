/* A library with the symbols that PHP exports and nothing else behind them. VERSION: its version as
 * a text. THREAD_SAFE: 1 for 7.4 and later, 2 for 7.3. */
const char *version_header(void)
{
	return "X-Powered-By: PHP/" VERSION;
}
void *zend_ce_generator;
#if THREAD_SAFE == 1
unsigned long executor_globals_offset;
#elif THREAD_SAFE == 2
int executor_globals_id;
#else
char executor_globals[4096];
#endif
#ifdef THREAD_SAFE
#include <pthread.h>
static pthread_key_t tls_key; /* As in TSRM.c. */
void make_key(void)
{
	pthread_key_create(&tls_key, 0);
}
void *tsrm_get_ls_cache(void)
{
	return pthread_getspecific(tls_key);
}
#endif
__attribute__((noinline)) int step(volatile long *red_zone)
{
	return (int)++*red_zone;
}
/* Like the real one: a frame of some size, and nearly all code behind its prologue. */
__attribute__((noinline)) int execute_ex(int n)
{
	volatile long red_zone[12] = { n };
	int a = n, b = n + 1, c = n + 2;

	while (step(red_zone) < n) {
		a += step(red_zone + 1) ^ b;
		b += step(red_zone + 2) ^ c;
		c += step(red_zone + 3) ^ a;
		red_zone[a & 7] += b;
	}
	return a + b + c;
}
