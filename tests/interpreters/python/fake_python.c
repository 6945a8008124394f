/* A library with the symbols that CPython exports and nothing else behind them. VERSION: PY_VERSION_HEX; without
 * one it looks like a version before 3.11, 3.MINOR. */
#ifdef VERSION
const unsigned long Py_Version = VERSION;
#endif
#if MINOR >= 7 || defined(VERSION)
__attribute__((section(".PyRuntime"))) char _PyRuntime[4096] = {1};
#else
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
