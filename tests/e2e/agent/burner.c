/* Burns CPU in a function of its own. 600 KiB of constants make the program's end a page that
 * nobody needs in order to run it. */
#include <stdlib.h>
#include <time.h>

static const char padding[600 << 10] __attribute__((used)) = { 1 };
volatile unsigned long burner_sum;

__attribute__((noinline)) void burner_work(void)
{
	for (int i = 0; i < 1000000; ++i)
		burner_sum += (unsigned long)i;
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);

	while (time(NULL) < end)
		burner_work();
	return (int)padding[1];
}
