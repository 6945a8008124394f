/* A library with the symbols that PHP exports and nothing else behind them. VERSION: its version as a text. THREAD_SAFE: 1 for
 * 7.4 and later, 2 for 7.3. */
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
__thread void *_tsrm_ls_cache;
void *tsrm_get_ls_cache(void)
{
	return _tsrm_ls_cache;
}
#endif
__attribute__((noinline)) int execute_ex(int n)
{
	return n * 3 + 1;
}
