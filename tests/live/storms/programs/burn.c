// Burns BURN_MS milliseconds of CPU and ends: what a storm is made of. In C, so that it is its
// libc's start-up and these functions, nothing else.
#include <stdint.h>
#include <time.h>

volatile uint64_t sink = 1;

__attribute__((noinline)) uint64_t burn_leaf(uint64_t x)
{
	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005ULL + (x >> 33);
	return x;
}

__attribute__((noinline)) int has_time_left(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec == 0 && used.tv_nsec < BURN_MS * 1000000L;
}

__attribute__((noinline)) void burn(void)
{
	while (has_time_left())
		sink = burn_leaf(sink) + 1;
}

int main(void)
{
	burn();
	return 0;
}
