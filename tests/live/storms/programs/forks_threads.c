// forks_threads STOP_FILE: until STOP_FILE is there, forks a child that burns 3 ms without an exec,
// and starts a thread that lives for 1 ms of CPU. Prints how many of both.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile uint64_t sink = 1;

__attribute__((noinline)) void burn(long nanoseconds)
{
	struct timespec used;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	end = used.tv_sec * 1000000000L + used.tv_nsec + nanoseconds;
	do {
		for (int i = 0; i < 20000; i++)
			sink = sink * 6364136223846793005ULL + (sink >> 33);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000000000L + used.tv_nsec < end);
}

__attribute__((noinline)) void *thread_main(void *unused)
{
	burn(1000000);
	return unused;
}

__attribute__((noinline)) int child_main(void)
{
	burn(3000000);
	return 0;
}

int main(int argc, char **argv)
{
	long forks = 0, threads = 0;

	while (argc > 1 && access(argv[1], F_OK) != 0) {
		pthread_t thread;
		pid_t pid = fork();

		if (pid == 0)
			_exit(child_main());
		forks += pid > 0;
		if (pthread_create(&thread, NULL, thread_main, NULL) == 0) {
			threads++;
			pthread_join(thread, NULL);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	printf("%ld forks, %ld threads\n", forks, threads);
	return 0;
}
