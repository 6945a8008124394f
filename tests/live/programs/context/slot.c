/* Defines the thread-local variable that readers look for. With -DPAD_BYTES the library's block is
 * too large for what the loader keeps free, so that it gets one of its own. */
#include "slot.h"

#include <stddef.h>

#ifdef PAD_BYTES
__thread char pad_before[PAD_BYTES];
#endif

__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void *volatile *context_slot(void)
{
#ifdef PAD_BYTES
	pad_before[0] = 1;
#endif
	return (void *volatile *)&otel_thread_ctx_v1;
}
