/* Preloaded into stackray by refused_kernels_test.py: uname() as on the kernel that OTHER_RELEASE
 * and OTHER_BUILD name. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *names)
{
	const char *release = getenv("OTHER_RELEASE"), *build = getenv("OTHER_BUILD");

	if (syscall(SYS_uname, names) != 0)
		return -1;
	if (release)
		snprintf(names->release, sizeof(names->release), "%s", release);
	if (build)
		snprintf(names->version, sizeof(names->version), "%s", build);
	return 0;
}
