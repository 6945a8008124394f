/* Preloaded into a Ruby: on SIGUSR2 the thread that gets it appends its own backtrace, as Ruby
 * itself tells it, to the file that the environment variable STACKRAY_BACKTRACES names.
 *
 * The handler copies the process (a bare clone: no handlers of fork's, no locks taken), and the
 * copy asks Ruby (rb_make_backtrace, which is what Kernel#caller calls). So whatever asking does,
 * the program goes on untouched. A copy that gets stuck, because the thread held malloc's lock,
 * ends by its alarm. While the collector is at work nothing can be asked, and the answer is that.
 *
 * Lines: "= TID", then "PATH:LINE:in `LABEL'" innermost first, or "collecting", then ".". No header
 * of Ruby's is needed, and no function of a newer C library than 2.2.5, so that one build serves
 * every root. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef unsigned long VALUE;
#pragma weak rb_make_backtrace
#pragma weak rb_ary_entry
#pragma weak rb_string_value_cstr
#pragma weak rb_during_gc
#pragma weak rb_gc_disable
VALUE rb_make_backtrace(void);
VALUE rb_ary_entry(VALUE array, long at);
char *rb_string_value_cstr(volatile VALUE *string);
int rb_during_gc(void);
VALUE rb_gc_disable(void);

enum { QNIL_TO_3_1 = 8, QNIL = 4, MOST_FRAMES = 2000, MOST_SECONDS = 2, TEXT_BYTES = 1 << 18 };

static int file = -1;
static char text[TEXT_BYTES];
static size_t used;

static void put(const char *part)
{
	while (*part && used < sizeof(text))
		text[used++] = *part++;
}

static void put_number(long number)
{
	char digits[24];
	int at = sizeof(digits) - 1;

	digits[at] = 0;
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	put(digits + at);
}

static void answer(long thread)
{
	long i;

	put("= ");
	put_number(thread);
	put("\n");
	if (rb_during_gc()) {
		put("collecting\n");
	} else {
		VALUE frames;

		rb_gc_disable();
		frames = rb_make_backtrace();
		for (i = 0; i < MOST_FRAMES; i++) {
			volatile VALUE line = rb_ary_entry(frames, i);

			if (line == QNIL || line == QNIL_TO_3_1)
				break;
			put(rb_string_value_cstr(&line));
			put("\n");
		}
	}
	put(".\n");
	if (write(file, text, used) < 0)
		_exit(1);
}

static void on_signal(int number)
{
	long thread = syscall(SYS_gettid);

	(void)number;
	if (syscall(SYS_clone, 0, 0, 0, 0, 0) != 0)
		return;
	signal(SIGALRM, SIG_DFL);
	alarm(MOST_SECONDS);
	answer(thread);
	_exit(0);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("STACKRAY_BACKTRACES");
	struct sigaction action;

	if (!path || !rb_make_backtrace)
		return;
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &action, 0);
}
