// start_rate RATE STOP_FILE PROGRAM...: starts PROGRAM… in turn, RATE a second, until STOP_FILE is
// there. Prints how many. At most 64 live at a time; it waits for all of them.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 64 };
extern char **environ;

int main(int argc, char **argv)
{
	long interval_ns, started = 0, living = 0;
	struct timespec next;

	if (argc < 4 || atol(argv[1]) <= 0)
		return 2;
	interval_ns = 1000000000L / atol(argv[1]);
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (access(argv[2], F_OK) != 0) {
		char *program[] = {argv[3 + started % (argc - 3)], NULL};
		pid_t pid;

		if (posix_spawn(&pid, program[0], NULL, NULL, program, environ) != 0)
			return 1;
		started++;
		living++;
		while (living > 0 && waitpid(-1, NULL, living < MOST_AT_ONCE ? WNOHANG : 0) > 0)
			living--;
		next.tv_nsec += interval_ns;
		next.tv_sec += next.tv_nsec / 1000000000L;
		next.tv_nsec %= 1000000000L;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("%ld\n", started);
	return 0;
}
