// The process's heap, told to give back what was large.
#ifndef STACKRAY_AGENT_SAMPLING_SMALL_HEAP_H_
#define STACKRAY_AGENT_SAMPLING_SMALL_HEAP_H_

namespace stackray {

// Before the process's first thread. Each thread that allocates would get an arena of its own and
// keep what it freed; and blocks of 128 KiB and more would be kept as soon as one of their size was
// freed (mallopt(3): the threshold grows by itself until it is set). The threads share the locks of
// two arenas, so none of them may have a priority at which it is not run for seconds.
void KeepHeapSmall();

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SMALL_HEAP_H_
