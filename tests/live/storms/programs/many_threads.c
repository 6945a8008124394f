// many_threads COUNT: COUNT threads with names of their own, each awake for some 10 µs of every 200
// ms, until it is killed. Says so when all are there.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

volatile uint64_t sink = 1;

__attribute__((noinline)) void burn(void)
{
	for (int i = 0; i < 10000; i++)
		sink = sink * 6364136223846793005ULL + (sink >> 33);
}

static void *thread_main(void *unused)
{
	const struct timespec pause = {.tv_nsec = 200000000};

	for (;;) {
		burn();
		nanosleep(&pause, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (long i = 0; i < count; i++) {
		char name[32]; /* the kernel takes 15 characters */
		pthread_t thread;

		if (pthread_create(&thread, &attributes, thread_main, NULL) != 0)
			return 1;
		snprintf(name, sizeof(name), "worker %ld", i);
		pthread_setname_np(thread, name);
	}
	puts("ready");
	fflush(stdout);
	thread_main(NULL);
}
