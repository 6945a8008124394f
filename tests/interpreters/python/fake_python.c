/* A library with the symbols that CPython exports and nothing else behind them. VERSION:
 * PY_VERSION_HEX; without one it looks like a version before 3.11, 3.MINOR. DEBUG_OFFSETS: it
 * describes itself, as from 3.13 on; then FREE_THREADED is 0 or 1. ACCESSORS: the functions that
 * answer the current thread state and the first interpreter. TAIL_CALLS: one function an
 * instruction, and an entry into JIT code. */
#ifdef VERSION
const unsigned long Py_Version = VERSION;
#endif
#if defined(DEBUG_OFFSETS)
__attribute__((section(".PyRuntime"))) struct {
	char cookie[8];
	unsigned long version, free_threaded, offsets[200];
} _PyRuntime = { "xdebugpy", VERSION, FREE_THREADED, { 8, 16, 24, 32, 40, 48, 56, 64, 72, 80 } };
#elif MINOR >= 7 || defined(VERSION)
__attribute__((section(".PyRuntime"))) char _PyRuntime[4096] = {1};
#elif !defined(ACCESSORS)
char *_PyThreadState_Current;
#endif
#if MINOR >= 8
void PyCode_NewWithPosOnlyArgs(void) {}
#endif
#if MINOR >= 9
void PyThreadState_GetFrame(void) {}
#endif
#if MINOR >= 10
void PyIter_Send(void) {}
#endif
#if MINOR >= 6 || defined(VERSION)
__attribute__((noinline)) int _PyEval_EvalFrameDefault(int n)
{
	return n * 3 + 1;
}
#else
void PyString_FromString(void) {}
#endif
int PyEval_EvalFrameEx(int n)
{
	return n;
}
__thread void *_Py_tss_tstate;
void *PyThreadState_GetUnchecked(void)
{
	return _Py_tss_tstate;
}
#ifdef ACCESSORS
#if MINOR >= 7
void *_PyThreadState_UncheckedGet(void)
{
	return *(void **)(_PyRuntime + 568);
}
#else
static void *current, *interpreters;
void set_variables(void *all)
{
	current = interpreters = all;
}
void *_PyThreadState_UncheckedGet(void)
{
	return current;
}
void *PyInterpreterState_Head(void)
{
	return interpreters;
}
#endif
#endif
#ifdef TAIL_CALLS
__attribute__((noinline, used)) static int _TAIL_CALL_NOP(int n)
{
	return n + 5;
}
__attribute__((noinline, used)) static int _TAIL_CALL_RESUME(int n)
{
	return n + 6;
}
int _PyJIT_Entry(int n)
{
	return n + 7;
}
#endif
