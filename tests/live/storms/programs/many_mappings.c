// many_mappings COUNT: maps its own file COUNT times, every second piece executable so that no two
// merge, and then burns CPU until it is killed. Says so when all are there.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

volatile uint64_t sink = 1;

__attribute__((noinline)) void burn(void)
{
	for (int i = 0; i < 60000; i++)
		sink = sink * 6364136223846793005ULL + (sink >> 33);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (long i = 0; i < count; i++)
		if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		burn();
}
