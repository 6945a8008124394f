#include "agent/sampling/small_heap.h"

#include <malloc.h>

namespace stackray {
namespace {

constexpr int kMostArenas = 2;
constexpr int kLargeBlockBytes = 128 * 1024;

}  // namespace

void KeepHeapSmall() {
  mallopt(M_ARENA_MAX, kMostArenas);
  mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
}

}  // namespace stackray
