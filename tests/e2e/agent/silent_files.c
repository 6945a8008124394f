/* A process whose files or memory never answer: they are on a FUSE file system that this program
 * serves, and whose server stops to answer reads once the process runs.
 *
 *   silent_files HOW SECONDS FOLDER PROGRAM
 *
 * HOW: program  the process runs PROGRAM from an overlay over the file system
 *      context  it publishes a process context whose payload lies in a mapping of a file there
 *      names    its perf map is on an overlay over the file system
 * FOLDER: an empty one of its own. PROGRAM: a static program that burns CPU.
 * In a mount namespace of its own; as the user that it is started as, but for `context`, where the
 * file system is mounted as root, as fusermount3 does for a user. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOT_NODE = 1, FILE_NODE = 2, BUFFER_BYTES = 256 << 10 };

struct shared {
	volatile int silent;          /* Reads are not answered any more, */
	volatile uint64_t silent_from; /* from this byte of the file on. */
};

static struct shared *shared;
static char *content;
static size_t content_bytes;
static const char *file_name = "f";

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void write_text(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void answer(int fd, uint64_t unique, int error, const void *data, size_t bytes)
{
	static char out[BUFFER_BYTES + sizeof(struct fuse_out_header)];
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes), .error = error, .unique = unique
	};

	memcpy(out, &head, sizeof(head));
	if (bytes > 0)
		memcpy(out + sizeof(head), data, bytes);
	if (write(fd, out, head.len) < 0)
		return; /* Who asked has gone. */
}

static struct fuse_attr attributes_of(uint64_t node)
{
	struct fuse_attr attr = { .ino = node, .nlink = 1, .blksize = 4096 };

	attr.mode = node == ROOT_NODE ? S_IFDIR | 0755 : S_IFREG | 0755;
	attr.size = node == ROOT_NODE ? 0 : content_bytes;
	attr.mtime = attr.ctime = attr.atime = (uint64_t)time(NULL) + 1;
	return attr;
}

static void answer_lookup(int fd, uint64_t unique, const char *name)
{
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .entry_valid = 3600, .attr_valid = 3600 };

	if (strcmp(name, file_name) != 0) {
		answer(fd, unique, -ENOENT, NULL, 0);
		return;
	}
	entry.attr = attributes_of(FILE_NODE);
	answer(fd, unique, 0, &entry, sizeof(entry));
}

static void answer_read(int fd, uint64_t unique, const struct fuse_read_in *read)
{
	size_t bytes = read->offset >= content_bytes ? 0 : content_bytes - read->offset;

	if (shared->silent && read->offset + read->size > shared->silent_from)
		return;
	answer(fd, unique, 0, content + read->offset, bytes < read->size ? bytes : read->size);
}

static void serve(int fd)
{
	static char in[BUFFER_BYTES];
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096,
					    .max_background = 8, .congestion_threshold = 6 };
	const struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_KEEP_CACHE };

	for (;;) {
		const ssize_t got = read(fd, in, sizeof(in));
		struct fuse_in_header head;
		const char *rest = in + sizeof(head);

		if (got < (ssize_t)sizeof(head)) {
			if (got < 0 && (errno == EINTR || errno == ENOENT))
				continue;
			_exit(0);
		}
		memcpy(&head, in, sizeof(head));
		if (head.opcode == FUSE_INIT) {
			answer(fd, head.unique, 0, &init, sizeof(init));
		} else if (head.opcode == FUSE_LOOKUP) {
			answer_lookup(fd, head.unique, rest);
		} else if (head.opcode == FUSE_GETATTR) {
			struct fuse_attr_out out = { .attr_valid = 3600 };

			out.attr = attributes_of(head.nodeid);
			answer(fd, head.unique, 0, &out, sizeof(out));
		} else if (head.opcode == FUSE_OPEN || head.opcode == FUSE_OPENDIR) {
			answer(fd, head.unique, 0, &opened, sizeof(opened));
		} else if (head.opcode == FUSE_READ) {
			answer_read(fd, head.unique, (const struct fuse_read_in *)rest);
		} else if (head.opcode == FUSE_STATFS) {
			const struct fuse_statfs_out out = {
				.st = { .bsize = 4096, .frsize = 4096, .namelen = 255, .blocks = 1000 }
			};

			answer(fd, head.unique, 0, &out, sizeof(out));
		} else if (head.opcode == FUSE_GETXATTR || head.opcode == FUSE_LISTXATTR) {
			answer(fd, head.unique, -ENODATA, NULL, 0);
		} else if (head.opcode == FUSE_RELEASE || head.opcode == FUSE_RELEASEDIR ||
			   head.opcode == FUSE_FLUSH) {
			answer(fd, head.unique, 0, NULL, 0);
		} else if (head.opcode != FUSE_FORGET && head.opcode != FUSE_BATCH_FORGET &&
			   head.opcode != FUSE_INTERRUPT) {
			answer(fd, head.unique, -ENOSYS, NULL, 0);
		}
	}
}

static void enter_user_namespace(void)
{
	const unsigned uid = getuid(), gid = getgid();
	char map[32];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		die("unshare");
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
}

static void mount_fuse(const char *where)
{
	const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	if (fd < 0)
		die("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("silent", where, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		die("mount fuse");
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
	}
	close(fd);
}

/* The last lower folder is empty: an overlay without an upper one wants two. */
static void mount_overlay(const char *lower, const char *empty, const char *where)
{
	char options[1024];

	snprintf(options, sizeof(options), "lowerdir=%s:%s", lower, empty);
	if (mount("silent", where, "overlay", 0, options) != 0)
		die("mount overlay");
}

static void read_content(const char *path)
{
	const int fd = open(path, O_RDONLY);
	struct stat facts;

	if (fd < 0 || fstat(fd, &facts) != 0)
		die(path);
	content_bytes = (size_t)facts.st_size;
	content = malloc(content_bytes + 1);
	if (read(fd, content, content_bytes) != (ssize_t)content_bytes)
		die(path);
	close(fd);
}

static void burn(int seconds)
{
	static volatile unsigned long sum;
	const time_t end = time(NULL) + seconds;

	while (time(NULL) < end)
		for (int i = 0; i < 10000000; ++i)
			sum += (unsigned long)i;
}

/* OpenTelemetry's process context, version 2: the header says where the payload is. */
static void publish_context(void *payload)
{
	const int fd = memfd_create("OTEL_CTX", 0);
	char *page;

	if (fd < 0 || ftruncate(fd, 4096) != 0)
		die("memfd");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*(uint32_t *)(page + 8) = 2;
	*(uint32_t *)(page + 12) = 64;
	*(uint64_t *)(page + 16) = 12345678;
	*(uint64_t *)(page + 24) = (uint64_t)payload;
	memcpy(page, "OTEL_CTX", 8);
}

static void run_context(const char *file, int seconds)
{
	const int fd = open(file, O_RDONLY);
	void *const page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (fd < 0 || page == MAP_FAILED)
		die(file);
	publish_context(page);
	burn(seconds);
}

/* Code of no file, so that somebody looks for its name in the perf map. */
static void run_unnamed_code(int seconds)
{
	/* mov $2000000000,%ecx; 1: dec %ecx; jnz 1b; ret */
	static const unsigned char code[] = { 0xb9, 0x00, 0x94, 0x35, 0x77, 0xff,
					      0xc9, 0x75, 0xfc, 0xc3 };
	const time_t end = time(NULL) + seconds;
	void *const memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(memory, code, sizeof(code));
	while (time(NULL) < end)
		((void (*)(void))memory)();
}

int main(int argc, char **argv)
{
	char folder[4][600];
	static const char *const names[] = { "fuse", "empty", "overlay", "fuse/f" };
	int seconds;
	pid_t child;

	if (argc != 5)
		return 2;
	seconds = atoi(argv[2]);
	for (int i = 0; i < 4; ++i)
		snprintf(folder[i], sizeof(folder[i]), "%s/%s", argv[3], names[i]);
	for (int i = 0; i < 3; ++i)
		mkdir(folder[i], 0755);
	read_content(argv[4]);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (strcmp(argv[1], "context") != 0)
		enter_user_namespace();
	else if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		die("unshare");
	child = -1;
	if (strcmp(argv[1], "names") == 0) {
		int ready[2];
		char name[32];

		if (pipe(ready) != 0)
			die("pipe");
		child = fork();
		if (child == 0) {
			char byte;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (read(ready[0], &byte, 1) != 1)
				_exit(1);
			prctl(PR_SET_NAME, "silent-names");
			run_unnamed_code(seconds);
			_exit(0);
		}
		snprintf(name, sizeof(name), "perf-%d.map", child);
		file_name = strdup(name);
		mount_fuse(folder[0]);
		mount_overlay(folder[0], folder[1], "/tmp");
		shared->silent = 1;
		if (write(ready[1], "x", 1) != 1)
			die("pipe");
	} else {
		mount_fuse(folder[0]);
		if (strcmp(argv[1], "program") == 0) {
			mount_overlay(folder[0], folder[1], folder[2]);
			/* Symbols and section headers are there, which the program itself does without. */
			shared->silent_from = content_bytes - (64 << 10);
		}
		child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (strcmp(argv[1], "program") == 0) {
				char program[700];

				snprintf(program, sizeof(program), "%s/f", folder[2]);
				execl(program, "silent-program", argv[2], NULL);
				die("exec");
			}
			prctl(PR_SET_NAME, "silent-context");
			shared->silent = 1;
			run_context(folder[3], seconds);
			_exit(0);
		}
		shared->silent = 1;
	}
	printf("%d\n", child);
	fflush(stdout);
	waitpid(child, NULL, 0);
	return 0;
}
