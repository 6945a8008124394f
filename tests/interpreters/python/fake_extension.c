/* A library that uses CPython's symbols, as extension modules do, and holds none. */
extern char _PyRuntime[];
extern int _PyEval_EvalFrameDefault(int);
int use_them(void)
{
	return _PyRuntime[0] + _PyEval_EvalFrameDefault(1);
}
