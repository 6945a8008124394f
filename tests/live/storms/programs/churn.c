// churn TINY FOLDER EXECUTABLES RUNS: makes EXECUTABLES copies of TINY in FOLDER, each with a build
// id of its own, runs each RUNS times and removes it. Prints how many processes ended well.
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, MOST_RUNS = 64 };
static const char note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
static char program[MOST_BYTES];
extern char **environ;

static long read_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long size = fd < 0 ? -1 : read(fd, program, sizeof(program));

	close(fd);
	return size;
}

static int write_program(const char *path, long size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	int written = fd >= 0 && write(fd, program, size) == size;

	close(fd);
	return written;
}

int main(int argc, char **argv)
{
	long executables, runs, size, good = 0;
	char *id;

	if (argc != 5)
		return 2;
	executables = atol(argv[3]);
	runs = atol(argv[4]);
	size = read_program(argv[1]);
	id = size > 0 ? memmem(program, size, note, sizeof(note)) : NULL;
	if (!id || runs > MOST_RUNS)
		return 2;
	id += sizeof(note);
	for (uint32_t i = 0; i < executables; i++) {
		char path[4096], *arguments[] = {path, NULL};
		pid_t started[MOST_RUNS];
		int status, pid = getpid();

		memcpy(id, &i, sizeof(i));
		memcpy(id + sizeof(i), &pid, sizeof(pid));
		snprintf(path, sizeof(path), "%s/p%d-%u", argv[2], pid, i);
		if (!write_program(path, size))
			return 1;
		for (long run = 0; run < runs; run++)
			if (posix_spawn(&started[run], path, NULL, NULL, arguments, environ) != 0)
				return 1;
		for (long run = 0; run < runs; run++)
			if (waitpid(started[run], &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
				good++;
		unlink(path);
	}
	printf("%ld\n", good);
	return 0;
}
